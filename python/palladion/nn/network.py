"""Integer networks in numpy: the same semantics as the Rust crate ``network``, many images at once.

A network alternates linear groups, which accumulate exactly, with tables, which are activation and
requantisation in one. The last layer has no table: its accumulators are the logits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError

FORMAT: Final = "palladion-int-network/1"

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Conv:
    """Two-dimensional convolution: weights of shape (kernels, channels, rows, columns)."""

    weights: Ints
    bias: Ints
    stride: int
    padding: int
    input: tuple[int, int]

    def accumulate(self, x: Ints) -> Ints:
        """Accumulators of shape (images, outputs) for inputs of shape (images, inputs)."""
        kernels, channels, rows, columns = self.weights.shape
        images = x.reshape(-1, channels, *self.input)
        border = (self.padding, self.padding)
        padded = np.pad(images, ((0, 0), (0, 0), border, border))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), axis=(2, 3))
        windows = windows[:, :, :: self.stride, :: self.stride]
        out = (windows.shape[2], windows.shape[3])
        taps = windows.transpose(0, 2, 3, 1, 4, 5).reshape(len(x), out[0] * out[1], -1)
        acc = exact_product(taps, self.weights.reshape(kernels, -1).T) + self.bias
        return acc.transpose(0, 2, 1).reshape(len(x), -1)

    def to_dict(self) -> dict[str, Any]:
        """The layer as it stands in a file."""
        kernels, channels, rows, columns = self.weights.shape
        return {
            "channels": channels,
            "kernels": kernels,
            "kernel": [rows, columns],
            "stride": self.stride,
            "padding": self.padding,
            "input": list(self.input),
            "weights": self.weights.ravel().tolist(),
            "bias": self.bias.tolist(),
        }


@dataclass(frozen=True)
class Dense:
    """Matrix times vector: weights of shape (outputs, inputs)."""

    weights: Ints
    bias: Ints

    def accumulate(self, x: Ints) -> Ints:
        """Accumulators of shape (images, outputs) for inputs of shape (images, inputs)."""
        return exact_product(x, self.weights.T) + self.bias

    def to_dict(self) -> dict[str, Any]:
        """The layer as it stands in a file."""
        outputs, inputs = self.weights.shape
        return {
            "inputs": inputs,
            "outputs": outputs,
            "weights": self.weights.ravel().tolist(),
            "bias": self.bias.tolist(),
        }


@dataclass(frozen=True)
class Layer:
    """A linear group, its calibrated bound ``B`` and its table of ``2B + 1`` values."""

    name: str
    linear: Conv | Dense
    bound: int
    lut: Ints | None

    def apply(self, accumulators: Ints) -> Ints:
        """The table's values; beyond its ends, the values at its ends."""
        if self.lut is None:
            return accumulators
        return self.lut[np.clip(accumulators, -self.bound, self.bound) + self.bound]

    def overflows(self, accumulators: Ints) -> int:
        """How many accumulators lie outside ``-B..B``, where an encrypted table is garbage."""
        return int(np.count_nonzero(np.abs(accumulators) > self.bound))


@dataclass(frozen=True)
class Trace:
    """The integers of an evaluation: per layer, arrays of shape (images, values)."""

    accumulators: list[Ints]
    outputs: list[Ints]

    @property
    def logits(self) -> Ints:
        """The last layer's accumulators."""
        return self.outputs[-1]

    @property
    def predicted(self) -> Ints:
        """Class of each image: the first largest logit."""
        classes: Ints = self.logits.argmax(axis=1)
        return classes


@dataclass(frozen=True)
class IntNetwork:
    """A network of exact integers."""

    name: str
    shape: tuple[int, int, int]
    max: int
    scale: float
    layers: tuple[Layer, ...]

    def evaluate(
        self, images: Ints, sigma: float = 0.0, rng: np.random.Generator | None = None
    ) -> Trace:
        """Evaluate images of shape (images, inputs), with values in ``0..max``.

        With ``sigma``, a rounded Gaussian drawn from ``rng`` is added to every accumulator that
        enters a table, as the rounding of an encrypted run does.

        Raises
        ------
        NetworkError
            If the images have another size or range.
        """
        inputs = int(np.prod(self.shape))
        if images.ndim != 2 or images.shape[1] != inputs:
            found = "x".join(map(str, images.shape))
            raise NetworkError(f"images of shape {found}, expected {inputs} numbers per image")
        if images.size and (images.min() < 0 or images.max() > self.max):
            found = f"{images.min()} to {images.max()}"
            raise NetworkError(f"images with values {found}, expected 0 to {self.max}")
        rng = rng or np.random.default_rng()
        accumulators, outputs = [], []
        values = images.astype(np.int64)
        for layer in self.layers:
            found_here = layer.linear.accumulate(values)
            if sigma and layer.lut is not None:
                found_here += np.rint(rng.normal(0, sigma, found_here.shape)).astype(np.int64)
            values = layer.apply(found_here)
            accumulators.append(found_here)
            outputs.append(values)
        return Trace(accumulators, outputs)

    def to_json(self) -> str:
        """The network as JSON, which the Rust core reads."""
        layers = [
            {
                "name": layer.name,
                "linear": {type(layer.linear).__name__.lower(): layer.linear.to_dict()},
                "bound": layer.bound,
                "lut": None if layer.lut is None else {"values": layer.lut.tolist()},
            }
            for layer in self.layers
        ]
        data = {
            "format": FORMAT,
            "name": self.name,
            "input": {"shape": list(self.shape), "max": self.max, "scale": self.scale},
            "layers": layers,
        }
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> IntNetwork:
        """Read what :meth:`to_json` wrote. The Rust core checks more, before it compiles.

        Raises
        ------
        NetworkError
            If the text is no integer network.
        """
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                found = data["format"]
                raise NetworkError(f"the network's format is {found!r}, expected {FORMAT!r}")
            given = data["input"]
            channels, height, width = given["shape"]
            layers = tuple(_layer(entry) for entry in data["layers"])
            return cls(
                name=str(data["name"]),
                shape=(int(channels), int(height), int(width)),
                max=int(given["max"]),
                scale=float(given["scale"]),
                layers=layers,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NetworkError(f"not an integer network: {error!r}") from error

    @classmethod
    def load(cls, path: Path) -> IntNetwork:
        """Read a network from a file."""
        try:
            return cls.from_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise NetworkError(f"cannot read the network {path}: {error}") from error


def exact_product(a: Ints, b: Ints) -> Ints:
    """Integer matrix product. In floating point where that is exact, since it is much faster."""
    largest = int(np.abs(a).max(initial=0)) * int(np.abs(b).max(initial=0)) * a.shape[-1]
    if largest < 2**53:  # every partial sum is an integer that a float64 holds exactly
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return a @ b


def _layer(entry: Mapping[str, Any]) -> Layer:
    ((kind, fields),) = entry["linear"].items()
    weights = np.array(fields["weights"], dtype=np.int64)
    bias = np.array(fields["bias"], dtype=np.int64)
    linear: Conv | Dense
    if kind == "conv":
        rows, columns = fields["kernel"]
        height, width = fields["input"]
        shape = (fields["kernels"], fields["channels"], rows, columns)
        stride, padding = int(fields["stride"]), int(fields["padding"])
        linear = Conv(weights.reshape(shape), bias, stride, padding, (int(height), int(width)))
    elif kind == "dense":
        linear = Dense(weights.reshape(fields["outputs"], fields["inputs"]), bias)
    else:
        raise NetworkError(f"layer {entry['name']}: is a {kind!r}, expected 'conv' or 'dense'")
    bound = int(entry["bound"])
    lut = None if entry["lut"] is None else np.array(entry["lut"]["values"], dtype=np.int64)
    if lut is not None and len(lut) != 2 * bound + 1:
        expected = 2 * bound + 1
        found = f"the table has {len(lut)} entries, expected {expected}"
        raise NetworkError(f"layer {entry['name']}: {found}")
    return Layer(str(entry["name"]), linear, bound, lut)
