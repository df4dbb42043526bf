"""The tools of an operator's handler: tensors, attributes, and the graph that is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import onnx

from palladion.errors import NetworkError
from palladion.nn.floats.expression import Expression, X
from palladion.nn.floats.graph import Activation, Affine, Node, Shape

Array = npt.NDArray[Any]

MAX_VALUES = 1 << 26
"""Largest number of elements of a tensor or matrix. Larger ones are refused before allocation."""


@dataclass(frozen=True)
class Constant:
    """A tensor known at import. ``steps`` is its grid element by element, if it has one."""

    array: Array
    steps: Array | None = None

    @property
    def finite(self) -> bool:
        """True if no element is NaN or infinite."""
        if self.kind != "f":
            return True
        with np.errstate(over="ignore"):
            return bool(np.isfinite(self.array.astype(np.float64)).all())

    @property
    def kind(self) -> str:
        """Numpy's letter of the element type. It is f for floating-point types that numpy lacks."""
        return "f" if self.array.dtype.kind == "V" else self.array.dtype.kind

    def moved(self, move: Callable[[Array], Array]) -> Constant:
        """The constant and its grid after a move of elements."""
        return Constant(move(self.array), None if self.steps is None else move(self.steps))


@dataclass(frozen=True)
class Value:
    """A tensor without its batch axis: element ``i`` is element ``labels[i]`` of ``node``.

    An element with label -1 is 0. ``quantised`` is the scale and zero point between QuantizeLinear
    and DequantizeLinear. ``kind`` is numpy's letter of the model's element type: f for floating
    point, i and u for integers, b for truth values.
    """

    node: int
    labels: Array
    quantised: tuple[float, int] | None = None
    kind: str = "f"

    def seen(self, labels: Array) -> Value:
        """The same values with other labels."""
        return replace(self, labels=labels)


@dataclass
class Builder:
    """The graph under construction, and the tensors seen so far."""

    opset: int
    batch: int = 1
    tensors: dict[str, Constant | Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bases: dict[int, tuple[int, Expression]] = field(default_factory=dict)
    moved: int = 0
    """Weights of nodes that only move elements, or that an image would not need."""

    def add(self, node: Node) -> Value:
        """Append a node. Its value has the node's own order."""
        if min(node.shape) < 1 or int(np.prod(node.shape)) > MAX_VALUES:
            shape = "x".join(map(str, node.shape))
            raise NetworkError(f"node {node.name}: its output would have shape {shape}")
        self.nodes.append(node)
        return Value(len(self.nodes) - 1, in_order(node.shape))

    def shape(self, value: Value) -> Shape:
        """Shape of the node behind a value."""
        return self.nodes[value.node].shape

    def expression(self, value: Value) -> tuple[int, Expression]:
        """The node and the function such that the value is that function of the node's elements."""
        return self.bases.get(value.node, (value.node, X))

    def elementwise(self, name: str, like: Value, function: Expression) -> Value:
        """``function`` of the node behind ``like``, composed with the function already applied.

        Elements with label -1 stay 0. The caller has checked that this is correct.
        """
        base, _ = self.expression(like)
        shape = self.nodes[base].shape
        affine = function.affine()
        node: Node
        if affine is not None:
            scale, shift = (np.full(shape[0], part) for part in affine)
            node = Affine(name, (base,), shape, scale, shift)
        else:
            node = Activation(name, (base,), shape, function)
        value = replace(self.add(node), labels=like.labels, kind=like.kind)
        self.bases[value.node] = (base, function)
        return value


@dataclass(frozen=True)
class Op:
    """One ONNX node, with checks whose errors name it."""

    proto: onnx.NodeProto
    builder: Builder
    attributes: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The operator."""
        return str(self.proto.op_type)

    @property
    def name(self) -> str:
        """The node's own name, or that of its first output."""
        return self.proto.name or next(iter(self.proto.output), "") or self.proto.op_type

    def refusal(self, reason: str) -> NetworkError:
        """An error that names the node."""
        return NetworkError(f"node {self.name} ({self.kind}): {reason}")

    def fail(self, reason: str) -> NoReturn:
        raise self.refusal(reason)

    def has(self, index: int) -> bool:
        """True if the input is given."""
        return index < len(self.proto.input) and self.proto.input[index] != ""

    def tensor(self, index: int) -> Constant | Value:
        if not self.has(index):
            self.fail(f"has no input {index}")
        return self.builder.tensors[self.proto.input[index]]

    def value(self, index: int = 0) -> Value:
        """An input that depends on the network's input."""
        found = self.tensor(index)
        if isinstance(found, Constant):
            self.fail(f"input {index} is a constant, supported are values that come from the input")
        if found.quantised is not None:
            self.fail("works on integers of QuantizeLinear: supported is the form with "
                      "DequantizeLinear before each operator (QDQ)")  # fmt: skip
        return found

    def operand(self, index: int) -> Constant | Value:
        """An input, constant or not."""
        found = self.tensor(index)
        return self.constant(index) if isinstance(found, Constant) else self.value(index)

    def constant(self, index: int) -> Constant:
        """An input that is known at import."""
        found = self.tensor(index)
        if isinstance(found, Value):
            self.fail(f"input {index} depends on the network's input, supported are constants")
        if not found.finite:
            self.fail(f"input {index}, {self.proto.input[index]}, holds NaN or infinite values")
        return found

    def numbers(self, index: int) -> Array:
        """A constant of finite real numbers, in double precision."""
        return np.asarray(self.constant(index).array, dtype=np.float64)

    def integers(self, index: int, attribute: str) -> list[int] | None:
        """A list of integers: an input in new opsets, an attribute in old ones."""
        if self.has(index):
            return [int(v) for v in self.constant(index).array.ravel()]
        given = self.attributes.get(attribute)
        return None if given is None else [int(v) for v in np.atleast_1d(given)]

    def has_graph(self) -> bool:
        """True if the node contains graphs, as If and Loop do."""
        return any(isinstance(value, onnx.GraphProto) for value in self.attributes.values())

    def text(self, attribute: str, default: str) -> str:
        given = self.attributes.get(attribute, default)
        return given.decode(errors="replace") if isinstance(given, bytes) else str(given)


Tensor = Constant | Value
Handler = Callable[[Op], Tensor | tuple[Tensor, ...]]
"""Returns the node's only output, or its outputs in order."""


def in_order(shape: tuple[int, ...]) -> Array:
    """Labels of a value that is in its node's own order."""
    return np.arange(int(np.prod(shape))).reshape(shape)
