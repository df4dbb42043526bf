"""The float graph: the computation of a model before quantisation.

Values have shape (channels, rows, columns). A vector of F features is (F, 1, 1). Nodes are in
topological order and name their sources by index. Node 0 is the input, the last node the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError
from palladion.nn.ends.interface import Gives, Interface, Takes
from palladion.nn.floats import elementary
from palladion.nn.floats.exact_sums import add_up, multiply
from palladion.nn.floats.expression import Expression, Grid
from palladion.nn.floats.geometry import Geometry, convolve, slide

Array = npt.NDArray[Any]
Shape = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Node:
    """One value, and its computation from the values of ``sources``."""

    name: str
    sources: tuple[int, ...]
    shape: Shape

    def evaluate(self, *inputs: Array) -> Array:
        """Values of shape (N, *shape), computed from the values of the sources."""
        raise NotImplementedError

    def describe(self) -> str:
        """Attributes in a few words, for tables."""
        return ""


@dataclass(frozen=True, eq=False)
class Input(Node):
    """The network's input. A given value ``x`` stands for ``(x - mean) / std``."""

    mean: Array
    std: Array
    grid: Grid | None = None

    def evaluate(self, *inputs: Array) -> Array:
        (x,) = inputs
        y: Array = (x - self.mean[:, None, None]) / self.std[:, None, None]
        if self.grid is not None:
            y = np.clip(np.rint(y / self.grid.scale), self.grid.lo, self.grid.hi) * self.grid.scale
        return y


@dataclass(frozen=True, eq=False)
class Conv(Node):
    """Convolution. ``steps`` is the grid of each kernel's weights, if the model has one."""

    weights: Array  # (K, C / groups, *kernel)
    bias: Array  # (K,)
    geometry: Geometry
    groups: int = 1
    steps: Array | None = None  # (K,)

    def evaluate(self, *inputs: Array) -> Array:
        weights, bias = self.weights.astype(inputs[0].dtype), self.bias.astype(inputs[0].dtype)
        found = convolve(inputs[0], weights, self.geometry, self.groups)
        moved: Array = found + bias[:, None, None]
        return moved

    def describe(self) -> str:
        rows, columns = self.geometry.kernel
        words = [f"{rows}x{columns}"]
        words += [f"groups {self.groups}"] * (self.groups > 1)
        return ", ".join(words + _sliding(self.geometry) + _given(self.steps))


@dataclass(frozen=True, eq=False)
class Dense(Node):
    """Matrix product with all values of the source, in order channel, row, column."""

    weights: Array  # (K, C * H * W)
    bias: Array  # (K,)
    steps: Array | None = None  # (K,)

    def evaluate(self, *inputs: Array) -> Array:
        (x,) = inputs
        weights, bias = self.weights.astype(x.dtype), self.bias.astype(x.dtype)
        found: Array = multiply(x.reshape(len(x), -1), weights.T) + bias
        return found[:, :, None, None]

    def describe(self) -> str:
        return ", ".join([f"{self.weights.shape[1]} inputs", *_given(self.steps)])


@dataclass(frozen=True, eq=False)
class Window(Node):
    """One kernel over each channel alone. Channel ``c`` gives ``first + c``; other channels are
    0."""

    taps: Array  # (rows, columns)
    geometry: Geometry
    first: int = 0

    def evaluate(self, *inputs: Array) -> Array:
        found = slide(inputs[0], self.taps.astype(inputs[0].dtype), self.geometry)
        after = self.shape[0] - self.first - found.shape[1]
        return np.pad(found, ((0, 0), (self.first, after), (0, 0), (0, 0)))

    def describe(self) -> str:
        rows, columns = self.geometry.kernel
        placed = [f"from channel {self.first}"] if self.first else []
        return ", ".join([f"{rows}x{columns}", *_sliding(self.geometry), *placed])


@dataclass(frozen=True, eq=False)
class Affine(Node):
    """``scale * x + shift``, per channel."""

    scale: Array
    shift: Array

    def evaluate(self, *inputs: Array) -> Array:
        scale, shift = (part.astype(inputs[0].dtype) for part in (self.scale, self.shift))
        found: Array = scale[:, None, None] * inputs[0] + shift[:, None, None]
        return found


@dataclass(frozen=True, eq=False)
class Add(Node):
    """Sum of the sources, each with a sign of 1 or -1."""

    signs: tuple[int, ...]

    def evaluate(self, *inputs: Array) -> Array:
        total = np.zeros_like(inputs[0])
        for sign, x in zip(self.signs, inputs, strict=True):
            total = total + sign * x
        return total

    def describe(self) -> str:
        return " ".join("+" if sign > 0 else "-" for sign in self.signs)


@dataclass(frozen=True, eq=False)
class Activation(Node):
    """One function applied to every value."""

    function: Expression

    def evaluate(self, *inputs: Array) -> Array:
        return self.function(inputs[0]).astype(inputs[0].dtype)

    def describe(self) -> str:
        return str(self.function)


@dataclass(frozen=True, eq=False)
class MaxPool(Node):
    """Largest value in each window. Padding is never the largest."""

    geometry: Geometry

    def evaluate(self, *inputs: Array) -> Array:
        found: Array = self.geometry.windows(inputs[0], fill=-np.inf).max(axis=(4, 5))
        return found

    def describe(self) -> str:
        rows, columns = self.geometry.kernel
        return ", ".join([f"{rows}x{columns}", *_sliding(self.geometry)])


@dataclass(frozen=True, eq=False)
class Mul(Node):
    """Product of two sources. If a side of the second is 1, its values are repeated along it."""

    def evaluate(self, *inputs: Array) -> Array:
        found: Array = inputs[0] * inputs[1]
        return found


@dataclass(frozen=True, eq=False)
class Softmax(Node):
    """Softmax over the channels, or its logarithm."""

    log: bool = False

    def evaluate(self, *inputs: Array) -> Array:
        (x,) = inputs
        below = x.astype(np.float64) - x.max(axis=1, keepdims=True)
        powers = elementary.exp(below)
        total = add_up(powers, axis=1, keepdims=True)
        found: Array = below - elementary.log(total) if self.log else powers / total
        return found.astype(x.dtype)

    def describe(self) -> str:
        return "logarithm" if self.log else ""


@dataclass(frozen=True)
class Graph:
    """A float network. ``notes`` name the parts that its import left out or changed.

    ``largest`` is the largest absolute value of its output over all inputs, if known.
    """

    name: str
    nodes: tuple[Node, ...]
    notes: tuple[str, ...] = ()
    interface: Interface | None = None
    largest: float | None = None

    @property
    def input(self) -> Input:
        first = self.nodes[0]
        assert isinstance(first, Input), "node 0 is the input"
        return first

    @property
    def ends(self) -> Interface:
        """The model's inputs and outputs. If nothing else is known, the graph's own values."""
        if self.interface is not None:
            return self.interface
        last = self.nodes[-1]
        return Interface(
            Takes(self.input.name, self.input.shape), Gives(last.shape, (1.0,), name=last.name)
        )

    def arranged(self, x: Array) -> Array:
        """The model's arrays as (N, C, H, W).

        Raises
        ------
        NetworkError
            If they have another shape, or are not finite numbers.
        """
        return self.ends.takes.arranged(x).reshape(-1, *self.input.shape)

    def outputs(self, x: Array) -> dict[str, Array]:
        """The model's outputs by name, for arrays of the model. Raises as :meth:`arranged`."""
        values = self.evaluate(self.arranged(x))
        gives = self.ends.gives
        return gives.outputs(gives.ordered(values.reshape(len(values), -1)))

    def consumers(self) -> list[list[int]]:
        """For each node, the nodes that read it."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            for source in node.sources:
                found[source].append(index)
        return found

    def evaluate(self, x: Array, batch: int = 256) -> Array:
        """Outputs of shape (N, *shape) for inputs of shape (N, C, H, W), in single precision.

        Raises
        ------
        NetworkError
            If the inputs have another shape.
        """
        check_inputs(x, self.input.shape)
        parts = [self._outputs(x[i : i + batch]) for i in range(0, len(x), batch)]
        return np.concatenate(parts)

    def _outputs(self, x: Array) -> Array:
        waiting = [len(found) for found in self.consumers()]
        values: dict[int, Array] = {0: self.input.evaluate(x.astype(np.float32))}
        for index, node in enumerate(self.nodes[1:], start=1):
            values[index] = node.evaluate(*(values[source] for source in node.sources))
            for source in node.sources:
                waiting[source] -= 1
                if not waiting[source]:
                    values.pop(source, None)
        return values[len(self.nodes) - 1]


def check_inputs(x: Array, shape: Shape) -> None:
    """Refuse arrays that are not finite numbers of shape (N, *shape), with N at least 1."""
    if x.ndim != 4 or x.shape[1:] != shape or not len(x):
        expected = "x".join(["N", *map(str, shape)])
        raise NetworkError(f"inputs of shape {'x'.join(map(str, x.shape))}, expected {expected}")
    if x.dtype.kind not in "fiub" or not np.isfinite(x).all():
        raise NetworkError(f"inputs of type {x.dtype}: expected numbers, none NaN or infinite")


def _sliding(geometry: Geometry) -> list[str]:
    words = []
    if geometry.stride != (1, 1):
        words.append("stride {}x{}".format(*geometry.stride))
    if geometry.dilation != (1, 1):
        words.append("dilation {}x{}".format(*geometry.dilation))
    if any(geometry.pads):
        words.append("pads " + ",".join(map(str, geometry.pads)))
    return words


def _given(steps: Array | None) -> list[str]:
    return [] if steps is None else ["weights on a grid"]
