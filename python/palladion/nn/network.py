"""Integer networks: what ``docs/int-network.md`` defines, as data. The Rust core evaluates them.

A network is a graph of layers. Each adds up linear maps of earlier layers, and perhaps a product
of two, exactly, and puts the sums through a table, which is activation and requantisation in one.
The last layer has no table: its accumulators are the logits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion import _native, files
from palladion.errors import NetworkError
from palladion.nn.boundary import Boundary, Input
from palladion.nn.evaluation import Evaluation, LayerStatistics, Progress, Trace
from palladion.nn.interface import Gives, Interface, Takes
from palladion.nn.linear import Compared, Conv, Dense, Ints, Linear, Window, linear_from, linear_to

__all__ = [
    "Boundary",
    "Conv",
    "Dense",
    "Input",
    "IntNetwork",
    "Ints",
    "Layer",
    "Lut",
    "Term",
    "Window",
]

FORMAT: Final = "palladion-int-network/3"

ROUNDING_SIGMA: Final = 8.45
"""Deviation of the noise of one sample of an encrypted run, by prediction.

Before a table there are sums of samples, whose noise adds up: :meth:`IntNetwork.sigmas`.
"""


@dataclass(frozen=True, eq=False)
class Lut(Compared):
    """A table by runs: ``values[i]`` from ``starts[i]`` up to before ``starts[i + 1]``."""

    starts: Ints
    values: Ints

    @classmethod
    def from_values(cls, values: Ints) -> Lut:
        """The table of the ``2 B + 1`` values for accumulators ``-B`` to ``B``."""
        changes = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
        return cls(changes - len(values) // 2, values[changes])


@dataclass(frozen=True)
class Term:
    """A linear map of source 0, the input, or ``k``, the output of layer ``k`` counted from 1."""

    source: int
    linear: Linear


@dataclass(frozen=True, eq=False)
class Layer(Compared):
    """A linear group and its table, for accumulators in ``-bound..bound``.

    ``product`` names two layers, counted from 1, whose outputs' product is added to the terms.
    ``scale`` is the real value of the integer 1 in the output.
    """

    name: str
    terms: tuple[Term, ...]
    bias: Ints
    bound: int
    lut: Lut | None
    scale: float
    product: tuple[int, int] | None = None


@dataclass(frozen=True)
class IntNetwork:
    """A network of exact integers."""

    name: str
    input: Input
    layers: tuple[Layer, ...]
    interface: Interface | None = None

    @property
    def boundary(self) -> Boundary:
        """What the model takes and gives; the network's own values where nothing else is known."""
        if self.interface is not None:
            return Boundary(self.input, self.interface)
        last = self.layers[-1]
        gives = Gives(self.shapes[-1], (last.scale,), name=last.name)
        return Boundary(self.input, Interface(Takes("input", self.input.shape), gives))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What quantisation said that a user should know; it travels in the network's file."""
        return self.boundary.interface.warnings

    def inputs(self, x: npt.ArrayLike) -> Ints:
        """As :meth:`Boundary.inputs`."""
        return self.boundary.inputs(x)

    def inputs_of_pixels(self, pixels: npt.NDArray[np.uint8]) -> Ints:
        """As :meth:`Boundary.inputs_of_pixels`."""
        return self.boundary.inputs_of_pixels(pixels)

    def outputs(self, logits: Ints) -> dict[str, npt.NDArray[Any]]:
        """As :meth:`Boundary.outputs`."""
        return self.boundary.outputs(logits)

    def classes(self, logits: Ints) -> npt.NDArray[Any] | None:
        """As :meth:`Boundary.classes`."""
        return self.boundary.classes(logits)

    def sigmas(self, sample: float = ROUNDING_SIGMA) -> tuple[float, ...]:
        """Deviation of the noise that an encrypted run adds before each table, first to last.

        ``sample`` is that of one sample. The deviation grows with the square root of the number of
        samples that an accumulator is a sum of. That number is by rule: terms whose windows move
        alike share a sample. ``Program.sigmas`` has what a compiled program really does.
        """
        return tuple(self._core.sigmas(sample))

    def evaluate(
        self,
        images: Ints,
        sigma: float | Sequence[float] | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Evaluate images of shape (images, inputs).

        With ``sigma``, a rounded Gaussian is added to every accumulator that enters a table, as
        the rounding of an encrypted run does: of that deviation, or of each table's own. Those of
        a run are :meth:`sigmas`, or ``Program.sigmas`` of the compiled program. The same seed gives
        the same noise, on any number of threads.

        Raises
        ------
        NetworkError
            If the images have another size or range, or there is not one deviation for each table.
        StoppedError
            If ``progress``, which hears how many images are done, answered ``False``.
        """
        data = self._bytes(images)
        found, largest, layers = self._core.evaluate(data, sigma, seed, progress)
        logits = np.frombuffer(found, dtype=np.int64).reshape(len(images), -1)
        classes = self.classes(logits)
        return Evaluation(
            logits=logits,
            predicted=np.frombuffer(largest, dtype=np.int64) if classes is None else classes,
            layers=tuple(LayerStatistics(**layer) for layer in layers),
        )

    def trace(self, image: Ints) -> Trace:
        """Every integer of the exact evaluation of one image.

        Raises
        ------
        NetworkError
            If the image has another size or range.
        """
        accumulators, outputs, predicted = self._core.trace(self._bytes(image[None]))
        return Trace(
            [np.frombuffer(values, dtype=np.int64) for values in accumulators],
            [np.frombuffer(values, dtype=np.int64) for values in outputs],
            predicted,
        )

    def _bytes(self, images: Ints) -> bytes:
        """Rows of integers as the core takes them."""
        if images.ndim != 2 or images.shape[1] != self.input.values:
            found = "x".join(map(str, images.shape))
            expected = f"{self.input.values} numbers per image"
            raise NetworkError(f"images of shape {found}, expected {expected}")
        low, high = self.input.min, self.input.max
        if images.size and (images.min() < low or images.max() > high):
            found = f"{images.min()} to {images.max()}"
            raise NetworkError(f"images with values {found}, expected {low} to {high}")
        return images.astype(np.int16).tobytes()

    def check(self) -> None:
        """Check that every part fits the others.

        Raises
        ------
        NetworkError
            If one does not; it is named.
        """
        _ = self._core

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Shape of each layer's output: channels, height, width."""
        return [(c, h, w) for c, h, w in self._core.shapes()]

    @cached_property
    def _core(self) -> _native.IntNetwork:
        return _native.IntNetwork.from_json(self.to_json())

    def to_json(self) -> str:
        """The network as JSON, which the Rust core reads."""
        data = {
            "format": FORMAT,
            "name": self.name,
            "input": self.input.to_data(),
            **({} if self.interface is None else {"interface": self.interface.to_data()}),
            "layers": [_layer_to(layer) for layer in self.layers],
        }
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> IntNetwork:
        """Read a network, as :meth:`to_json` writes it.

        Raises
        ------
        NetworkError
            If the text is no integer network, or one that contradicts itself.
        """
        core = _native.IntNetwork.from_json(text)  # checks everything
        data = json.loads(text)
        if data["format"] != FORMAT:
            data = json.loads(core.to_json())
        network = cls(
            name=data["name"],
            input=Input.from_data(data["input"]),
            layers=tuple(_layer_from(layer) for layer in data["layers"]),
        )
        vars(network)["_core"] = core
        if (interface := data.get("interface")) is not None:
            values, outputs = network.input.values, prod(network.shapes[-1])
            network = replace(network, interface=Interface.from_data(interface, values, outputs))
            vars(network)["_core"] = core
        return network

    @classmethod
    def load(cls, path: str | Path) -> IntNetwork:
        """Read a network from a file: JSON, or a model that :func:`nn.export.to_onnx` made.

        Raises
        ------
        NetworkError
            If it is neither, or cannot be read.
        """
        path = Path(path)
        if path.suffix.lower() == ".onnx":
            from palladion.nn.export import network_json  # reads this module

            return cls.from_json(network_json(path))
        try:
            data = path.read_bytes()
        except OSError as error:
            raise NetworkError(f"cannot read the network {path}: {error.strerror}") from error
        try:
            return cls.from_json(data.decode())
        except (NetworkError, UnicodeDecodeError) as error:
            found = files.kind(data)
            if data.lstrip()[:1] != b"{" and found is not None:
                raise NetworkError(f"{path} is {found}, expected an integer network: `palladion "
                                   "quantize` makes one of an ONNX model") from error  # fmt: skip
            raise NetworkError(f"{path}: {error}") from error


def _layer_to(layer: Layer) -> dict[str, Any]:
    lut = layer.lut
    table = lut and {"starts": lut.starts.tolist(), "values": lut.values.tolist()}
    terms = [{"source": t.source, "linear": linear_to(t.linear)} for t in layer.terms]
    return {
        "name": layer.name,
        "terms": terms,
        **({} if layer.product is None else {"product": list(layer.product)}),
        "bias": layer.bias.tolist(),
        "bound": layer.bound,
        "lut": table,
        "scale": layer.scale,
    }


def _layer_from(entry: Mapping[str, Any]) -> Layer:
    table, factors = entry.get("lut"), entry.get("product")
    return Layer(
        name=entry["name"],
        terms=tuple(Term(t["source"], linear_from(t["linear"])) for t in entry["terms"]),
        bias=np.array(entry["bias"], dtype=np.int64),
        bound=entry["bound"],
        lut=table and Lut(*(np.array(table[key], dtype=np.int64) for key in ("starts", "values"))),
        scale=entry["scale"],
        product=factors and (factors[0], factors[1]),
    )
