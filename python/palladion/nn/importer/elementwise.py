"""Operators that work element by element: activations, arithmetic, quantisation of activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from palladion.nn.expression import Expression, X, apply, constant
from palladion.nn.geometry import Geometry
from palladion.nn.graph import Add, Affine, Mul, Shape, Softmax, Window
from palladion.nn.importer.constants import range_of, rounding
from palladion.nn.importer.context import Array, Constant, Handler, Op, Value, in_order

Unary = Callable[[Op, Expression], Expression]


def unary(function: Unary) -> Handler:
    """A handler from the function that extends an expression."""

    def handle(op: Op) -> Value:
        value = op.value()
        _, inner = op.builder.expression(value)
        return op.builder.elementwise(op.name, value, function(op, inner))

    return handle


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
    """Bounds are attributes before opset 11 and inputs since."""
    lo = scalar(op, 1) if op.has(1) else float(op.attributes.get("min", -np.inf))
    hi = scalar(op, 2) if op.has(2) else float(op.attributes.get("max", np.inf))
    return apply("clip", x, parameters=(lo, hi))


def gelu(op: Op, x: Expression) -> Expression:
    return apply("gelu_tanh" if op.text("approximate", "none") == "tanh" else "gelu", x)


def power(op: Op, x: Expression) -> Expression:
    exponent = scalar(op, 1)
    if exponent not in (2.0, 3.0):
        op.fail(f"raises to {exponent:g}, supported are 2 and 3")
    return apply("power", x, parameters=(exponent,))


def prelu(op: Op, x: Expression) -> Expression:
    return apply("leaky_relu", x, parameters=(scalar(op, 1),))


def swish(op: Op, x: Expression) -> Expression:
    scaled = apply("mul", x, constant(float(op.attributes.get("alpha", 1.0))))
    return apply("mul", x, apply("sigmoid", scaled))


def scalar(op: Op, index: int) -> float:
    found = op.numbers(index)
    if found.size == 0 or np.any(found != found.flat[0]):
        op.fail(f"input {index} has {found.size} values, supported is one value for all")
    return float(found.flat[0])


def quant(op: Op, x: Expression) -> Expression:
    """QONNX's Quant on activations."""
    bits, zero = scalar(op, 3), scalar(op, 2)
    if bits == 1 and op.attributes.get("signed", 1) and zero == 0:
        return apply("bipolar", x, parameters=(positive(op, 1),))
    lo, hi = range_of(op, bits)
    if not zero.is_integer():
        op.fail(f"has zero point {zero:g}, supported are integers")
    parameters = (positive(op, 1), zero, float(lo), float(hi))
    return apply(f"quantise_{rounding(op).lower()}", x, parameters=parameters)


def positive(op: Op, index: int) -> float:
    scale = scalar(op, index)
    if scale <= 0:
        op.fail(f"has scale {scale:g}, expected a positive number")
    return scale


def bipolar(op: Op, x: Expression) -> Expression:
    return apply("bipolar", x, parameters=(positive(op, 1),))


def quantise_linear(op: Op) -> Value:
    """The pair with DequantizeLinear becomes one rounding; here, at its first half."""
    value = op.value()
    kind = op.constant(2).array.dtype if op.has(2) else np.dtype(np.uint8)
    if kind.kind not in "iu":
        op.fail(f"quantises to {kind}, supported are integers")
    zero = int(scalar(op, 2)) if op.has(2) else 0
    scale, info = positive(op, 1), np.iinfo(kind)
    _, inner = op.builder.expression(value)
    parameters = (scale, 0.0, float(info.min - zero), float(info.max - zero))
    rounded = apply("quantise_round", inner, parameters=parameters)
    return replace(op.builder.elementwise(op.name, value, rounded), quantised=(scale, zero))


def dequantise_linear(op: Op) -> Value:
    found = op.tensor(0)
    assert isinstance(found, Value), "constants are folded before"
    given = (positive(op, 1), int(scalar(op, 2)) if op.has(2) else 0)
    if found.quantised is None:
        op.fail("works on what no QuantizeLinear gave, supported is QuantizeLinear before it")
    if found.quantised != given:
        op.fail(f"has scale and zero point {given}, QuantizeLinear before it {found.quantised}")
    return replace(found, quantised=None)


def binary(operation: str) -> Handler:
    """Arithmetic on two tensors, at least one of which depends on the input."""

    def handle(op: Op) -> Value:
        if len(op.proto.input) != 2:
            op.fail(f"has {len(op.proto.input)} inputs, supported are 2")
        left, right = op.tensor(0), op.tensor(1)
        if isinstance(left, Constant) or isinstance(right, Constant):
            return with_constant(op, operation)
        return of_values(op, operation, op.value(0), op.value(1))

    return handle


def with_constant(op: Op, operation: str) -> Value:
    """One operand is a constant: the same for all, or one per channel."""
    index = 0 if isinstance(op.tensor(1), Constant) else 1
    value, given = op.value(index), op.numbers(1 - index)
    size = value.labels.size
    try:
        spread = np.broadcast_to(given, (1, *value.labels.shape))[0]
    except ValueError:
        op.fail(f"constant of shape {given.shape} does not fit {('N', *value.labels.shape)}")
    if np.all(given == given.flat[0]):
        _, x = op.builder.expression(value)
        pair = (x, constant(float(given.flat[0])))
        return op.builder.elementwise(op.name, value, apply(operation, *pair[:: 1 - 2 * index]))
    if operation in {"max", "min"} or (operation == "div" and index == 1):
        op.fail("its constant differs from channel to channel, supported is one for all")
    shape = op.builder.shape(value)
    ordered: Array = np.empty(size)
    if size != int(np.prod(shape)):
        op.fail("its constant meets a part of a value, supported are whole values")
    ordered[value.labels.ravel()] = spread.ravel()
    ordered = ordered.reshape(shape[0], -1)
    if np.any(ordered != ordered[:, :1]):
        op.fail("its constant differs from position to position, supported is one per channel")
    scale, shift = affine(operation, ordered[:, 0], constant_first=index == 1)
    node = Affine(op.name, (value.node,), shape, scale, shift)
    return replace(op.builder.add(node), labels=value.labels)


def affine(operation: str, given: Array, *, constant_first: bool) -> tuple[Array, Array]:
    """Scale and shift of ``x operation given``."""
    one, zero = np.ones_like(given), np.zeros_like(given)
    if operation == "add":
        return one, given
    if operation == "sub":
        return (-one, given) if constant_first else (one, -given)
    return (given if operation == "mul" else 1 / given), zero


def of_values(op: Op, operation: str, left: Value, right: Value) -> Value:
    """Two values: functions of the same one compose; sums are linear, products have layers."""
    builder = op.builder
    (a, f), (b, g) = builder.expression(left), builder.expression(right)
    if operation == "mul" and not (a == b and np.array_equal(left.labels, right.labels)):
        return product(op, left, right)
    if not np.array_equal(left.labels, right.labels):
        op.fail(f"inputs of shapes {('N', *left.labels.shape)} and {('N', *right.labels.shape)} "
                "or in another order, supported are equal shapes")  # fmt: skip
    if a == b:
        return builder.elementwise(op.name, left, apply(operation, f, g))
    if builder.shape(left) != builder.shape(right):
        op.fail("inputs come from values of different shapes, supported are equal shapes")
    if operation in {"max", "min"}:
        return larger(op, left, right, sign=1 if operation == "max" else -1)
    if operation not in {"add", "sub"}:
        op.fail("divides two values that depend on the input, supported are functions of one "
                "value, such as x / (1 + abs(x))")  # fmt: skip
    signs = (1, 1 if operation == "add" else -1)
    node = Add(op.name, (left.node, right.node), builder.shape(left), signs)
    return replace(builder.add(node), labels=left.labels)


def product(op: Op, left: Value, right: Value) -> Value:
    """Two whole values in one order; sides of 1 of one of them stand for all."""
    builder = op.builder
    if not fits(builder.shape(left), builder.shape(right)):
        left, right = right, left
    shapes = [builder.shape(value) for value in (left, right)]
    if shapes[0] == shapes[1]:
        alike = np.array_equal(left.labels, right.labels)
    else:
        whole = all(in_its_order(*pair) for pair in zip((left, right), shapes, strict=True))
        alike = whole and left.labels.ndim == right.labels.ndim and fits(*shapes)
    if not alike:
        op.fail(f"multiplies values of shapes {('N', *left.labels.shape)} and "
                f"{('N', *right.labels.shape)} or in another order, supported are equal shapes, "
                "or 1 in place of sides of one of them")  # fmt: skip
    node = Mul(op.name, (left.node, right.node), builder.shape(left))
    return replace(builder.add(node), labels=left.labels)


def fits(left: Shape, right: Shape) -> bool:
    """Whether a factor has the sides of another one, or 1 in place of them."""
    return all(r in (size, 1) for size, r in zip(left, right, strict=True))


def in_its_order(value: Value, shape: Shape) -> bool:
    """Whether a value is all of its node, a vector without the sides of 1."""
    return value.labels.shape in (shape, shape[:1]) and np.array_equal(
        value.labels.ravel(), in_order(shape).ravel()
    )


def larger(op: Op, left: Value, right: Value, sign: int) -> Value:
    """``max(a, b) = relu(a - b) + b``; the minimum with signs turned."""
    shape = op.builder.shape(left)
    first = op.builder.add(Add(op.name, (left.node, right.node), shape, (sign, -sign)))
    above = op.builder.elementwise(f"{op.name}.relu", first, apply("relu", X))
    node = Add(f"{op.name}.sum", (above.node, right.node), shape, (sign, 1))
    return replace(op.builder.add(node), labels=left.labels)


def softmax(op: Op) -> Value:
    value = op.value()
    rank = value.labels.ndim
    axis = int(op.attributes.get("axis", 1 if op.builder.opset < 13 else -1))
    over_channels = (axis - 1 if axis > 0 else rank + axis) == 0
    vector = op.builder.shape(value)[1:] == (1, 1)
    whole = np.array_equal(value.labels.ravel(), np.arange(value.labels.size))
    if not (over_channels and whole and (vector or rank == 3)):
        op.fail(f"is over axis {axis} of rank {rank + 1}, supported is over the channels")
    log = op.proto.op_type == "LogSoftmax"
    node = Softmax(op.name, (value.node,), op.builder.shape(value), log)
    return replace(op.builder.add(node), labels=value.labels)


def concat(op: Op) -> Value:
    """Channels of several images one after another: a sum of them, each put in its place."""
    images = [op.image(index) for index in range(len(op.proto.input))]
    shapes = [op.builder.shape(image) for image in images]
    if int(op.attributes["axis"]) not in (1, -3) or len({shape[1:] for shape in shapes}) != 1:
        op.fail("joins along another axis than the channels, supported is axis 1 of rank 4")
    shape = (sum(found[0] for found in shapes), *shapes[0][1:])
    placed: list[int] = []
    first = 0
    for image, found in zip(images, shapes, strict=True):
        name = f"{op.name}.{len(placed)}"
        node = Window(name, (image.node,), shape, np.ones((1, 1)), Geometry(), first)
        placed.append(op.builder.add(node).node)
        first += found[0]
    return op.builder.add(Add(op.name, tuple(placed), shape, (1,) * len(placed)))


HANDLERS: dict[str, Handler] = {
    "Relu": unary(plain("relu")),
    "LeakyRelu": unary(with_attributes("leaky_relu", alpha=0.01)),
    "PRelu": unary(prelu),
    "Elu": unary(with_attributes("elu", alpha=1.0)),
    "Clip": unary(clip),
    "Sigmoid": unary(plain("sigmoid")),
    "HardSigmoid": unary(with_attributes("hard_sigmoid", alpha=0.2, beta=0.5)),
    "HardSwish": unary(plain("hard_swish")),
    "Swish": unary(swish),
    "Tanh": unary(plain("tanh")),
    "Erf": unary(plain("erf")),
    "Exp": unary(plain("exp")),
    "Softplus": unary(plain("softplus")),
    "Abs": unary(plain("abs")),
    "Neg": unary(plain("neg")),
    "Gelu": unary(gelu),
    "Pow": unary(power),
    "Quant": unary(quant),
    "BipolarQuant": unary(bipolar),
    "QuantizeLinear": quantise_linear,
    "DequantizeLinear": dequantise_linear,
    **{kind: binary(kind.lower()) for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min")},
    "Softmax": softmax,
    "LogSoftmax": softmax,
    "Concat": concat,
}
