"""The functions that the ends of most models have, computed without ONNX.

They are those of labels, probabilities and shapes. Other operators need ONNX's reference
implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.nn.ends.small_onnx import TYPES, Node, SmallModel

Array = npt.NDArray[Any]
Function = Callable[..., Any]


def softmax(x: Array, axis: int = -1) -> Array:
    """Exponentials that add up to 1 along an axis."""
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def log_softmax(x: Array, axis: int = -1) -> Array:
    """Logarithms of :func:`softmax`."""
    below = x - x.max(axis=axis, keepdims=True)
    return np.asarray(below - np.log(np.exp(below).sum(axis=axis, keepdims=True)))


def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``, by powers that do not overflow."""
    power = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, power) / (1 + power)).astype(x.dtype)


def arg_max(x: Array, axis: int = 0, keepdims: int = 1) -> Array:
    """The first place of the largest value along an axis."""
    return np.asarray(np.argmax(x, axis=axis, keepdims=bool(keepdims)))


def reshape(x: Array, sides: Array) -> Array:
    """The same values in another shape. A side of 0 stays, and one of -1 follows."""
    return x.reshape([x.shape[i] if side == 0 else int(side) for i, side in enumerate(sides)])


def flatten(x: Array, axis: int = 1) -> Array:
    """A matrix whose rows are the axes before ``axis``."""
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def divide(x: Array, y: Array) -> Array:
    """Quotients, of integers without their fractions."""
    quotient = x / y
    return quotient if x.dtype.kind == "f" else np.trunc(quotient).astype(x.dtype)


def squeeze(x: Array, axes: Array | None = None) -> Array:
    """Without sides of 1."""
    return np.squeeze(x, None if axes is None else tuple(int(axis) for axis in axes))


def concat(*parts: Array, axis: int) -> Array:
    """Parts one behind the other."""
    return np.concatenate(parts, axis=axis)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "Add": np.add, "And": np.logical_and, "ArgMax": arg_max, "Concat": concat, "Div": divide,
    "Equal": np.equal, "Exp": np.exp, "Flatten": flatten,
    "Gather": lambda x, places, axis=0: np.take(x, places, axis=axis),
    "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Identity": np.asarray,
    "Less": np.less, "LessOrEqual": np.less_equal, "LogSoftmax": log_softmax, "MatMul": np.matmul,
    "Mul": np.multiply, "Neg": np.negative, "Not": np.logical_not, "Or": np.logical_or,
    "Relu": lambda x: np.maximum(x, 0), "Reshape": reshape, "Sigmoid": sigmoid,
    "Softmax": softmax, "Squeeze": squeeze, "Sub": np.subtract,
    "Transpose": lambda x, perm=None: np.transpose(x, perm),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(int(axis) for axis in axes)),
    "Where": np.where,
}  # fmt: skip
"""For each operator its function of the inputs, with attributes as keywords."""

ATTRIBUTES: Final[Mapping[str, set[str]]] = {
    "ArgMax": {"axis", "keepdims"}, "Cast": {"to"}, "Concat": {"axis"}, "Flatten": {"axis"},
    "Gather": {"axis"}, "LogSoftmax": {"axis"}, "Softmax": {"axis"}, "Transpose": {"perm"},
}  # fmt: skip
"""The attributes that they take."""

FIRST: Final = 13
"""The version of ONNX from which on the functions are those of the table."""


def lacking(model: SmallModel) -> set[str]:
    """Operators of a model that need ONNX."""
    known = {
        *model.constants,
        *model.inputs,
        *(name for node in model.nodes for name in node.output),
    }
    return {
        node.op_type for node in model.nodes
        if model.opset < FIRST or node.domain not in ("", "ai.onnx")
        or not (node.op_type in FUNCTIONS or is_cast(node))
        or {*node.attributes} - ATTRIBUTES.get(node.op_type, set())
        or None in node.attributes.values() or not known.issuperset(node.input)
    }  # fmt: skip


def is_cast(node: Node) -> bool:
    """True for a cast to a type of numbers."""
    return node.op_type == "Cast" and node.attributes.get("to") in {*TYPES}


def evaluate(model: SmallModel, x: Array) -> list[Array]:
    """The outputs of a model of which nothing is lacking."""
    known: dict[str, Array] = {**model.constants, model.inputs[0]: x}
    for node in model.nodes:
        operands = [known[name] for name in node.input]
        if is_cast(node):
            result = operands[0].astype(TYPES[node.attributes["to"]])
        else:
            result = FUNCTIONS[node.op_type](*operands, **node.attributes)
        known[node.output[0]] = np.asarray(result)
    return [known[name] for name in model.outputs]
