"""Operators that work element by element: activations, arithmetic, quantisation of activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper

from palladion.nn.floats.expression import Expression, X, apply, constant
from palladion.nn.floats.graph import Softmax
from palladion.nn.importer.arithmetic import add, fitted, scaled
from palladion.nn.importer.arrange import arranged, function_of
from palladion.nn.importer.constants import range_of, rounding
from palladion.nn.importer.context import Constant, Handler, Op, Value
from palladion.nn.importer.moves import tensor
from palladion.nn.importer.operators import TABLE, Operator, alike
from palladion.nn.importer.writer import DOMAIN

HELD: Final = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16}
"""Types that can hold a network's values. float16 holds them to 2^-11, far finer than tables."""
KINDS: Final[dict[int, str]] = {
    **dict.fromkeys(HELD, "f"),
    TensorProto.BFLOAT16: "f",
    TensorProto.BOOL: "b",
    **{getattr(TensorProto, name): letter for name, letter in {
        "INT8": "i", "INT16": "i", "INT32": "i", "INT64": "i", "INT4": "i", "INT2": "i",
        "UINT8": "u", "UINT16": "u", "UINT32": "u", "UINT64": "u", "UINT4": "u", "UINT2": "u",
        "FLOAT8E4M3FN": "f", "FLOAT8E4M3FNUZ": "f", "FLOAT8E5M2": "f", "FLOAT8E5M2FNUZ": "f",
        "FLOAT8E8M0": "f", "FLOAT4E2M1": "f",
    }.items() if hasattr(TensorProto, name)},
}  # fmt: skip
"""Types to which values may be cast. Types of newer ONNX versions only if they exist."""
SELU: Final = (1.67326319217681884765625, 1.05070102214813232421875)
"""Alpha and gamma in ONNX's definition."""
WHOLE: Final = {"Abs", "Neg", "Relu", "Clip", "Sign", "Ceil", "Floor", "Round"}
"""Functions that give integers for integers."""

Unary = Callable[[Op, Expression], Expression]


def unary(function: Unary) -> Handler:
    """A handler from the function that extends an expression."""

    def handle(op: Op) -> Value:
        for index in range(1, len(op.proto.input)):
            if op.has(index) and isinstance(op.tensor(index), Value):
                op.constant(index)
        kind = kind_of(op, op.value().kind)
        return function_of(op, op.value(), partial(function, op), kind)

    return handle


def kind_of(op: Op, kind: str) -> str:
    """The kind of the result. Only few functions of integers give integers."""
    if kind in "iu" and op.kind not in WHOLE:
        op.fail("works on integers; put a Cast to float before it")
    return kind


def plain(operation: str) -> Unary:
    """A function without parameters."""
    return lambda _op, x: apply(operation, x)


def with_attributes(operation: str, **defaults: float) -> Unary:
    """A function whose parameters are attributes."""

    def function(op: Op, x: Expression) -> Expression:
        given = tuple(float(op.attributes.get(name, value)) for name, value in defaults.items())
        return apply(operation, x, parameters=given)

    return function


def clip(op: Op, x: Expression) -> Expression:
    """Clip. Its bounds are attributes before opset 11, and inputs since then."""
    lo = bound(op, 1) if op.has(1) else float(op.attributes.get("min", -np.inf))
    hi = bound(op, 2) if op.has(2) else float(op.attributes.get("max", np.inf))
    return apply("clip", x, parameters=(lo, hi))


def bound(op: Op, index: int) -> float:
    """One number, which may be infinite."""
    found = op.tensor(index)
    if isinstance(found, Constant) and found.array.size == 1:
        return float(found.array.reshape(-1)[0])
    return scalar(op, index)


def gelu(op: Op, x: Expression) -> Expression:
    return apply("gelu_tanh" if op.text("approximate", "none") == "tanh" else "gelu", x)


def swish(op: Op, x: Expression) -> Expression:
    scaled = apply("mul", x, constant(float(op.attributes.get("alpha", 1.0))))
    return apply("mul", x, apply("sigmoid", scaled))


def scalar(op: Op, index: int) -> float:
    found = op.numbers(index)
    if found.size == 0 or np.any(found != found.flat[0]):
        op.fail(f"input {index} has {found.size} values, supported is one value for all")
    return float(found.flat[0])


def quant(op: Op) -> Value:
    """QONNX's Quant on activations, with one scale or one for each element of an axis."""
    bits, zero = scalar(op, 3), scalar(op, 2)
    if bits == 1 and op.attributes.get("signed", 1) and zero == 0:
        return bipolar(op)
    lo, hi = range_of(op, bits)
    if not zero.is_integer():
        op.fail(f"has zero point {zero:g}, supported are integers")
    kind = f"quantise_{rounding(op).lower()}"
    ends = (zero, float(lo), float(hi))
    return in_steps(op, lambda x, step: apply(kind, x, parameters=(step, *ends)))


def bipolar(op: Op) -> Value:
    return in_steps(op, lambda x, step: apply("bipolar", x, parameters=(step,)))


def in_steps(op: Op, rounded: Callable[[Expression, float], Expression]) -> Value:
    """A rounding to multiples of a step, given by input 1: one step for all, or one per channel."""
    steps = op.numbers(1)
    if steps.size == 0 or steps.min() <= 0:
        op.fail("has a scale that is not above 0, expected positive numbers")
    if np.all(steps == steps.flat[0]):
        step = float(steps.flat[0])
        return function_of(op, op.value(), lambda x: rounded(x, step))
    value, spread = fitted(op, op.value(), steps)
    whole = function_of(op, scaled(op, value, 1 / spread), lambda x: rounded(x, 1.0))
    return scaled(op, whole, spread)


def positive(op: Op, index: int) -> float:
    scale = scalar(op, index)
    if scale <= 0:
        op.fail(f"has scale {scale:g}, expected a positive number")
    return scale


def quantise_linear(op: Op) -> Value:
    """QuantizeLinear. Together with DequantizeLinear it becomes one rounding, which starts here."""
    value = op.value()
    low, high = ends_of(op)
    zero = int(scalar(op, 2)) if op.has(2) else 0
    scale = positive(op, 1)
    parameters = (scale, 0.0, float(low - zero), float(high - zero))
    if high - low > FINEST:
        return unrounded(op, value, parameters)
    rounded = function_of(op, value, lambda x: apply("quantise_round", x, parameters=parameters))
    return replace(rounded, quantised=(scale, zero))


SMALL: Final = {"int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15)}
"""Types of less than a byte, which numpy lacks."""

FINEST: Final = 1 << 12
"""Most steps of a grid that tables take over: they have 65,536 entries, and noise moves each index.
A finer grid is as good as none."""


def ends_of(op: Op) -> tuple[int, int]:
    """The smallest and the largest integer of the type to which a node quantises."""
    kind: Any = np.dtype(np.uint8)
    if op.has(2):
        kind = op.constant(2).array.dtype
    elif op.attributes.get("output_dtype"):
        kind = helper.tensor_dtype_to_np_dtype(int(op.attributes["output_dtype"]))
    if kind.name in SMALL:
        return SMALL[kind.name]
    if kind.kind not in "iu":
        op.fail(f"quantises to {kind}, supported are integers of 2 to 16 bits")
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def unrounded(op: Op, value: Value, parameters: tuple[float, ...]) -> Value:
    """A rounding to a grid that is finer than tables are: its ends alone. The network's input has
    its own ends, which the calibration data give."""
    scale, _, low, high = parameters
    op.builder.notes.append(f"{op.name} rounds to {high - low + 1:.0f} steps, more than a table "
                            "tells apart: own steps, from the calibration data, are in its "
                            "place")  # fmt: skip
    zero = int(scalar(op, 2)) if op.has(2) else 0
    if op.builder.expression(value) != (0, X):
        lowest, highest = constant(low * scale), constant(high * scale)
        value = function_of(op, value, lambda x: apply("min", apply("max", x, lowest), highest))
    return replace(value, quantised=(scale, zero))


def dequantise_linear(op: Op) -> Value:
    found = op.tensor(0)
    assert isinstance(found, Value), "constants are folded before"
    given = (positive(op, 1), int(scalar(op, 2)) if op.has(2) else 0)
    if found.quantised is None:
        op.fail("works on what no QuantizeLinear gave, supported is QuantizeLinear before it")
    if found.quantised != given:
        op.fail(f"has scale and zero point {given}, QuantizeLinear before it {found.quantised}")
    return replace(found, quantised=None)


def binarizer(op: Op, x: Expression) -> Expression:
    """Binarizer of ai.onnx.ml: 1 above a threshold."""
    return apply("greater", x, constant(float(op.attributes.get("threshold", 0.0))))


def like(op: Op, kind: str) -> Constant | Value:
    """CastLike, where only the kind of the second value (float or not) is known."""
    found = op.operand(0)
    if kind != "f":
        op.fail("casts to the type of a value of integers, supported are floats")
    if isinstance(found, Constant):
        return Constant(found.array.astype(np.float32))
    return replace(found, kind="f")


def cast(op: Op) -> Constant | Value:
    """A cast: the identity if the type holds the numbers, otherwise their rounding."""
    if op.kind == "CastLike" and isinstance(op.tensor(1), Value):
        return like(op, op.value(1).kind)
    value = tensor(op)
    if op.kind == "CastLike":
        kind = int(helper.np_dtype_to_tensor_dtype(op.constant(1).array.dtype))
    else:
        kind = int(op.attributes["to"])
    if kind == TensorProto.STRING:
        op.fail("makes strings, which have no place before the end of the model")
    letter = KINDS.get(kind)
    if letter is None:
        op.fail(f"casts to type {kind}, supported are real numbers, integers and truth values")
    if kind in HELD or (letter in "iu" and value.kind == "b"):
        return replace(value, kind=letter)
    saturate = float(op.attributes.get("saturate", 1))
    parameters = (float(kind), saturate)
    return function_of(op, value, lambda x: apply("cast", x, parameters=parameters), letter)


def prelu(op: Op) -> Value:
    """One slope for all, or one for each channel: ``slope x + (1 - slope) relu(x)``."""
    value, slope = op.value(), op.numbers(1)
    value, spread = fitted(op, value, slope)
    if np.all(slope == slope.flat[0]):
        parameters = (float(slope.flat[0]),)
        return function_of(op, value, lambda x: apply("leaky_relu", x, parameters=parameters))
    rectified = function_of(op, value, lambda x: apply("relu", x))
    return add(op, scaled(op, value, spread), scaled(op, rectified, 1 - spread))


def softmax(op: Op) -> Value:
    """Softmax over one axis. Before opset 13 it is over all axes from one on."""
    value = op.value()
    rank = value.labels.ndim
    axis = int(op.attributes.get("axis", 1 if op.builder.opset < 13 else -1))
    axis += rank + 1 if axis < 0 else 0
    if axis == 0:
        op.fail("is over the batch axis: each image must stay by itself")
    last = rank if op.builder.opset < 13 else axis
    if last != axis and last > 1 and op.builder.opset < 13:
        over = list(range(axis - 1, last))
    else:
        over = [axis - 1]
    others = [i for i in range(rank) if i not in over]
    labels = value.labels.transpose(*over, *others)
    count = int(np.prod([value.labels.shape[i] for i in over]))
    sides = op.builder.shape(value)[1:]
    wanted = [labels.reshape(count, *sides)] if count * prod(sides) == labels.size else []
    wanted += [labels.reshape(count, -1, 1), labels.reshape(count, 1, -1)]
    found = arranged(op, value, wanted)
    if found is None:
        op.fail(f"is over axis {axis} of {('N', *value.labels.shape)}, whose values lie in another "
                "order than channels, rows and columns, and cannot be moved")  # fmt: skip
    shape = op.builder.nodes[found[1]].shape
    made = op.builder.add(Softmax(op.name, (found[1],), shape, op.kind == "LogSoftmax"))
    back = np.argsort([*over, *others])
    return made.seen(made.labels.reshape(labels.shape).transpose(*back))


GRID: Final = "a table's own grid"
SCALES: Final = "one scale for a value, one for each channel of weights"
CAST: Final = ("nothing, or a table", "to floats: nothing; to integers, truth values, 8 bits: "
               "a table that rounds")  # fmt: skip

OPERATORS: Final[tuple[Operator[Handler], ...]] = (
    *alike((
        "Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Softplus", "Softsign", "Abs", "Neg",
        "Sign", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Mish", "Sin", "Cos", "Tan",
        "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
    ), lambda kind: unary(plain(kind.lower())), TABLE),
    Operator("HardSwish", unary(plain("hard_swish")), TABLE),
    Operator("LeakyRelu", unary(with_attributes("leaky_relu", alpha=0.01)), TABLE),
    Operator("ThresholdedRelu", unary(with_attributes("thresholded_relu", alpha=1.0)), TABLE),
    Operator("Elu", unary(with_attributes("elu", alpha=1.0)), TABLE),
    Operator("Selu", unary(with_attributes("selu", alpha=SELU[0], gamma=SELU[1])), TABLE),
    Operator("Celu", unary(with_attributes("celu", alpha=1.0)), TABLE),
    Operator("Shrink", unary(with_attributes("shrink", bias=0.0, lambd=0.5)), TABLE),
    Operator("HardSigmoid", unary(with_attributes("hard_sigmoid", alpha=0.2, beta=0.5)), TABLE),
    Operator("Swish", unary(swish), TABLE),
    Operator("Gelu", unary(gelu), TABLE, foreign=("com.microsoft",)),
    Operator("Clip", unary(clip), TABLE),
    Operator("PRelu", prelu, TABLE, "a slope for each channel: a table and a sum"),
    Operator("Binarizer", unary(binarizer), TABLE, foreign=(DOMAIN,)),
    *alike(("Cast", "CastLike"), lambda _: cast, *CAST),
    Operator("Quant", quant, GRID, SCALES),
    Operator("BipolarQuant", bipolar, GRID, SCALES),
    Operator("QuantizeLinear", quantise_linear, GRID, SCALES),
    Operator("DequantizeLinear", dequantise_linear, GRID, SCALES),
    Operator("Softmax", softmax, "two tables and a product", "over one axis"),
    Operator("LogSoftmax", softmax, "at the end only"),
)  # fmt: skip
