"""Operators on constants: evaluated at import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from palladion.nn.floats.expression import ROUNDINGS, SAME, quant_range
from palladion.nn.importer.context import Array, Builder, Constant, Op, Value

RANDOM: Final = {
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
}  # fmt: skip
MOVES: Final = {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"}
"""Operators that move elements and compute nothing, so a grid moves with the elements."""
ROUNDED: Final = MOVES | {
    "Abs", "Add", "Cast", "CastLike", "Ceil", "Clip", "Concat", "ConstantOfShape", "Div", "Equal",
    "Expand", "Floor", "Gather", "Greater", "Less", "Max", "Min", "Mul", "Neg", "Not", "Pad",
    "QuantizeLinear", "DynamicQuantizeLinear", "Range", "Resize", "Round", "Sign", "Slice", "Split",
    "Sqrt", "Sub", "Tile", "Where",
}  # fmt: skip
"""Operators whose results IEEE 754 fixes, or that depend on the type of their inputs."""
HELD: Final = {"value", "value_float", "value_floats", "value_int", "value_ints"}
OWN: Final = ("", "ai.onnx")
"""Names of ONNX's own domain."""


def fold(op: Op) -> tuple[Constant, ...] | None:
    """The outputs of a node whose inputs are all constants; ``None`` for any other node."""
    inputs = [op.builder.tensors[name] for name in op.proto.input if name]
    kind = op.kind
    if kind == "Shape":
        return (shape_of(op),)
    if kind == "Size":
        return (Constant(np.array(np.prod(shape_with_batch(op.builder, op.tensor(0))))),)
    if kind == "Constant":
        return (constant(op),)
    constants = [tensor for tensor in inputs if isinstance(tensor, Constant)]
    if not inputs or len(constants) != len(inputs):
        return None
    if kind == "DequantizeLinear":
        return (dequantise(op),)
    if kind == "Quant":
        return (quant(op),)
    if kind == "BipolarQuant":
        scale = np.broadcast_to(op.numbers(1), op.numbers(0).shape)
        return (Constant(np.where(op.numbers(0) >= 0, scale, -scale), scale),)
    if kind in MOVES:
        return (constants[0].moved(lambda array: run(op, {0: array})[0]),)
    if op.proto.domain in OWN and kind not in RANDOM and not op.has_graph():
        return tuple(Constant(found) for found in fold_by_reference(op))
    return None


def run(op: Op, given: Mapping[int, Array]) -> list[Array]:
    """The node's outputs by ONNX's reference implementation, with some inputs given.

    The other inputs are constants. Outputs without a name are left out.
    """
    node = type(op.proto)()
    node.CopyFrom(op.proto)
    arrays: dict[str, Array] = {}
    for index, name in enumerate(op.proto.input):
        if not name and index not in given:
            continue
        node.input[index] = f"input{index}"
        found = given[index] if index in given else held(op, index)
        arrays[node.input[index]] = found
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), None)
             for n, a in arrays.items()]  # fmt: skip
    out = [helper.make_empty_tensor_value_info(name) for name in op.proto.output if name]
    graph = helper.make_graph([node], "one node", infos, out)
    opsets = [helper.make_opsetid(op.proto.domain, op.builder.opset)]
    model = helper.make_model(graph, opset_imports=opsets)
    with np.errstate(all="ignore"):
        found_all: Any = ReferenceEvaluator(model).run(None, arrays)
    return [np.asarray(found) for found in found_all]


def fold_by_reference(op: Op) -> list[Array]:
    """The outputs of a node of constants, the same on every machine.

    Sums and functions in single precision would differ in their last bits. In double precision they
    differ far less, and rounding hides it: two machines round one of ``2**27`` numbers differently.
    """
    arrays = {i: held(op, i) for i, name in enumerate(op.proto.input) if name}
    single = {i: a for i, a in arrays.items() if a.dtype == np.float32}
    if op.kind in ROUNDED or not single:
        return run(op, {})
    found = run(op, {i: a.astype(np.float64) for i, a in single.items()})
    with np.errstate(over="ignore"):
        return [a.astype(np.float32) if a.dtype == np.float64 else a for a in found]


def by_reference(op: Op, index: int = 0) -> Callable[[Array], Array]:
    """The operator as a function of one input. With a fixed batch of one, image by image."""

    def function(x: Array) -> Array:
        try:
            found = run(op, {index: x})[0]
        except (ValueError, RuntimeError, IndexError):
            found = np.zeros(0)
        if found.shape[:1] == (len(x),):
            return found
        return np.concatenate([run(op, {index: x[i : i + 1]})[0] for i in range(len(x))])

    return function


def held(op: Op, index: int) -> Array:
    """A constant of any numbers. Infinite ones are allowed, since masks have them."""
    found = op.tensor(index)
    return found.array if isinstance(found, Constant) else op.constant(index).array


def constant(op: Op) -> Constant:
    """The tensor of a constant node. Only dense numeric tensors."""
    if not HELD & op.attributes.keys():
        op.fail("holds no dense numbers")
    return Constant(run(op, {})[0])


def shape_of(op: Op) -> Constant:
    """The shape of a tensor, batch axis included."""
    found = op.tensor(0)
    shape = shape_with_batch(op.builder, found)
    start, end = int(op.attributes.get("start", 0)), op.attributes.get("end")
    return Constant(np.array(shape[start : None if end is None else int(end)], dtype=np.int64))


def shape_with_batch(builder: Builder, tensor: Constant | Value) -> tuple[int, ...]:
    if isinstance(tensor, Constant):
        return tensor.array.shape
    return (builder.batch, *tensor.labels.shape)


def along(op: Op, parameter: Array, shape: tuple[int, ...], axis: int) -> Array:
    """A scale or zero point, one for all or one per entry of ``axis``, repeated to ``shape``."""
    if parameter.size == 1:
        return np.full(shape, parameter.reshape(-1)[0], dtype=np.float64)
    axis = axis % max(len(shape), 1)
    if parameter.shape != shape[axis : axis + 1]:
        op.fail(f"scale of shape {parameter.shape} for a tensor of shape {shape}, supported are "
                "one scale per tensor or per entry of one axis")  # fmt: skip
    wanted = [1] * len(shape)
    wanted[axis] = -1
    return np.broadcast_to(parameter.astype(np.float64).reshape(wanted), shape)


def dequantise(op: Op) -> Constant:
    """``(q - zero) * scale`` of constant integers."""
    if op.attributes.get("block_size"):
        op.fail("has scales per block, supported are scales per tensor or per channel")
    array, axis = op.numbers(0), int(op.attributes.get("axis", 1))
    steps = along(op, op.numbers(1), array.shape, axis)
    zero = along(op, op.numbers(2), array.shape, axis) if op.has(2) else 0.0
    return Constant((array - zero) * steps, steps)


def range_of(op: Op, bits: float) -> tuple[int, int]:
    """The smallest and the largest integer of a QONNX Quant node."""
    if not 1 <= bits <= 32:
        op.fail(f"has {bits:g} bits, supported are 1 to 32")
    given = op.attributes
    return quant_range(bits, bool(given.get("signed", 1)), bool(given.get("narrow", 0)))


def quant(op: Op) -> Constant:
    """QONNX's Quant on constant weights, scale per tensor or broadcast."""
    array, scale, zero = op.numbers(0), op.numbers(1), op.numbers(2)
    lo, hi = range_of(op, float(op.numbers(3).reshape(-1)[0]))
    steps = np.broadcast_to(scale, array.shape)
    ratio = (array.astype(np.float32) / steps.astype(np.float32)).astype(np.float64) + zero
    if (lo, hi) == (-1, 0):  # one signed bit is a sign
        return Constant((np.where(ratio >= 0, 1.0, -1.0) - zero) * steps, steps)
    return Constant((np.clip(ROUNDINGS[rounding(op)](ratio), lo, hi) - zero) * steps, steps)


def rounding(op: Op) -> str:
    mode = op.text("rounding_mode", "ROUND").upper()
    mode = SAME.get(mode, mode)
    if mode not in ROUNDINGS:
        op.fail(f"has rounding_mode {mode}, supported are {', '.join([*ROUNDINGS, *SAME])}")
    return mode
