"""Integer networks as data, as ``docs/int-network.md`` defines them. The Rust core evaluates them.

A network is a graph of layers. Each layer adds up linear maps of earlier layers, and optionally a
product of two layers, exactly. Its table maps the sums to the outputs: activation and
requantisation in one. The last layer has no table: its accumulators are the logits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion import _native
from palladion.errors import NetworkError
from palladion.nn.ends.boundary import Boundary, Input
from palladion.nn.ends.interface import Gives, Interface, Takes
from palladion.nn.integers.evaluation import Evaluation, LayerStatistics, Progress, Trace
from palladion.nn.integers.linear_maps import (
    Compared,
    Conv,
    Dense,
    Ints,
    Linear,
    Window,
    linear_from,
    linear_to,
)
from palladion.support import files
from palladion.support.records import Json

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
"""Predicted deviation of the noise of one sample of an encrypted run.

A table's input is a sum of samples, whose noise adds up: see :meth:`IntNetwork.sigmas`. """


@dataclass(frozen=True, eq=False)
class Lut(Compared):
    """A table by runs: ``values[i]`` holds from ``starts[i]`` up to before ``starts[i + 1]``."""

    starts: Ints
    values: Ints

    @classmethod
    def from_values(cls, values: Ints) -> Lut:
        """The table of the ``2 B + 1`` values for accumulators ``-B`` to ``B``."""
        changes = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
        return cls(changes - len(values) // 2, values[changes])

    @classmethod
    def relu(cls, bound: int, multiplier: float, maximum: int) -> Lut:
        """ReLU and requantisation: ``round(acc * multiplier)``, clamped to ``0..maximum``."""
        accumulators = np.arange(-bound, bound + 1)
        values = np.clip(np.rint(accumulators * multiplier), 0, maximum)
        return cls.from_values(values.astype(np.int64))


@dataclass(frozen=True)
class Term:
    """A linear map of source 0, the input, or of source ``k``, the output of layer ``k`` from 1."""

    source: int
    linear: Linear


@dataclass(frozen=True, eq=False)
class Layer(Compared):
    """A linear group and its table, for accumulators in ``-bound..bound``.

    ``product`` names two layers, counted from 1. The product of their outputs is added to the
    terms. ``scale`` is the real value of the integer 1 in the output.
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
        """The model's inputs and outputs. If nothing else is known, the network's own values."""
        if self.interface is not None:
            return Boundary(self.input, self.interface)
        last = self.layers[-1]
        gives = Gives(self.shapes[-1], (last.scale,), name=last.name)
        return Boundary(self.input, Interface(Takes("input", self.input.shape), gives))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the quantisation for the user. They are stored in the network's file."""
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

        ``sample`` is the deviation of one sample. The noise of an accumulator grows with the square
        root of the number of its samples. This method counts samples by a rule: terms whose windows
        move alike share a sample. ``Program.sigmas`` has the actual deviations of a compiled
        program.
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

        With ``sigma``, a rounded Gaussian is added to every accumulator that enters a table, like
        the rounding of an encrypted run. ``sigma`` is one deviation, or one for each table. The
        deviations of a run are :meth:`sigmas`, or ``Program.sigmas`` of the compiled program. The
        same seed gives the same noise on any number of threads.

        Raises
        ------
        NetworkError
            If the images have another size or range, or there is not one deviation for each table.
        StoppedError
            If ``progress``, which is called with the number of images done, returned ``False``.
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
        """Rows of integers in the form of the core."""
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
        """Check that all parts fit together.

        Raises
        ------
        NetworkError
            If a part does not fit. The message names it.
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
        """Read a network that :meth:`to_json` wrote.

        Raises
        ------
        NetworkError
            If the text is not an integer network, or contradicts itself.
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
            If the file is neither, or cannot be read.
        """
        path = Path(path)
        if path.suffix.lower() == ".onnx":
            from palladion.nn.integers.export import network_json  # imports this module

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


def _layer_to(layer: Layer) -> Json:
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


def _layer_from(entry: Json) -> Layer:
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
