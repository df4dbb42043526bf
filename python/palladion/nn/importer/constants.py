"""Operators on constants: evaluated at import."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from palladion.nn.expression import ROUNDINGS, quant_range
from palladion.nn.importer.context import Array, Builder, Constant, Op, Value

FOLDED: Final = {
    "Add", "Cast", "Ceil", "Concat", "Constant", "Div", "Equal", "Exp", "Floor", "Gather", "Gemm",
    "MatMul", "Mul", "Neg", "Not", "Pow", "QuantizeLinear", "Reciprocal", "Reshape", "Round",
    "Slice", "Sqrt", "Sub", "Where", "Abs", "Max", "Min", "ReduceProd", "CastLike",
}  # fmt: skip
MOVES: Final = {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"}
"""Operators that move elements and compute nothing, so that a grid moves with them."""
SAME: Final = {"HALF_EVEN": "ROUND", "DOWN": "ROUND_TO_ZERO"}
"""Other names of QONNX's rounding modes."""
HELD: Final = {"value", "value_float", "value_floats", "value_int", "value_ints"}


def fold(op: Op) -> Constant | None:
    """The output of a node whose inputs are all constants; nothing for any other node."""
    inputs = [op.builder.tensors[name] for name in op.proto.input if name]
    kind = op.proto.op_type
    if kind == "Shape":
        return shape_of(op)
    if kind == "Constant":
        return constant(op)
    constants = [tensor for tensor in inputs if isinstance(tensor, Constant)]
    if not inputs or len(constants) != len(inputs):
        return None
    if kind == "DequantizeLinear":
        return dequantise(op)
    if kind == "Quant":
        return quant(op)
    if kind == "BipolarQuant":
        scale = np.broadcast_to(op.numbers(1), op.numbers(0).shape)
        return Constant(np.where(op.numbers(0) >= 0, scale, -scale), scale)
    if kind in MOVES:
        return op.constant(0).moved(lambda array: run(op, array))
    if kind in FOLDED:
        return Constant(run(op, constants[0].array))
    return None


def run(op: Op, first: Array | None) -> Array:
    """The node's only output, by ONNX's reference implementation, with another first input."""
    names = [name for name in dict.fromkeys(op.proto.input) if name]
    feeds = {name: op.builder.tensors[name] for name in names}
    arrays = {name: t.array for name, t in feeds.items() if isinstance(t, Constant)}
    if first is not None:
        arrays[str(op.proto.input[0])] = first
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), None)
             for n, a in arrays.items()]  # fmt: skip
    out = [helper.make_empty_tensor_value_info(op.proto.output[0])]
    graph = helper.make_graph([op.proto], "constant", infos, out)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", op.builder.opset)])
    found: Any = ReferenceEvaluator(model).run(None, arrays)
    return np.asarray(found[0])


def constant(op: Op) -> Constant:
    """A node that holds its tensor; only dense numeric ones."""
    if not HELD & op.attributes.keys():
        op.fail("holds no dense numbers")
    return Constant(run(op, None))


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
    """A scale or zero point, one for all or one per entry of ``axis``, spread over ``shape``."""
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
    """Smallest and largest integer of a QONNX Quant node."""
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
