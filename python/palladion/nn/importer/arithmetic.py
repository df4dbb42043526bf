"""Arithmetic on two or more tensors: with constants, of functions of one value, of two values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from palladion.nn.floats import elementary
from palladion.nn.floats.expression import Expression, X, apply, constant
from palladion.nn.floats.functions import TESTS
from palladion.nn.floats.graph import Add, Affine, Mul, Shape
from palladion.nn.importer import phases
from palladion.nn.importer.arrange import (
    arranged,
    as_image,
    filled,
    flat,
    function_of,
    image,
    matrix,
    together,
)
from palladion.nn.importer.comparison import equal, with_zero
from palladion.nn.importer.context import Array, Constant, Handler, Op, Tensor, Value
from palladion.nn.importer.operators import FREE, LINEAR, TABLE, Operator, alike

EXACT_INTEGERS = {"add", "sub", "mul", "max", "min", *TESTS}
"""Operations whose results are integers if the operands are."""


def scaled(op: Op, value: Value, scale: Array, shift: Array | None = None) -> Value:
    """``scale * x + shift`` of each element. ``scale`` and ``shift`` have the shape of the
    value."""
    shift = np.zeros(scale.shape) if shift is None else shift
    value = value.seen(np.broadcast_to(value.labels, scale.shape))
    if (value.labels < 0).any() and np.any(shift[value.labels < 0]):
        value = filled(op, value)
    first = scale.flat[0], shift.flat[0]
    if np.all(scale == first[0]) and np.all(shift == first[1]):

        def function(x: Expression) -> Expression:
            product = apply("mul", x, constant(first[0]))
            return apply("add", product, constant(first[1]))

        return function_of(op, value, function)
    found = per_channel(op, value, scale, shift)
    if found is not None:
        return found
    # In another arrangement, the constants may follow the channels.
    for axis in range(value.labels.ndim):
        spread = [np.moveaxis(part, axis, 0) for part in (scale, shift)]
        alike = all(np.all(part == part.reshape(len(part), -1)[:, :1].reshape(
            -1, *[1] * (part.ndim - 1))) for part in spread)  # fmt: skip
        labels = np.moveaxis(value.labels, axis, 0)
        moved = arranged(op, value, [as_image(labels)]) if alike else None
        if moved is not None:
            whole = op.builder.nodes[moved[1]].shape
            own = np.arange(np.prod(whole)).reshape(labels.shape)
            seen = replace(value, node=moved[1], labels=np.moveaxis(own, 0, axis))
            again = per_channel(op, seen, scale, shift)
            if again is not None:
                return again
    return matrix(op, value, lambda x: x * scale + shift)


def per_channel(op: Op, value: Value, scale: Array, shift: Array) -> Value | None:
    """The same with one factor and one shift for each channel of the node, if possible."""
    shape = op.builder.shape(value)
    there = value.labels >= 0
    channel = value.labels[there] // (shape[1] * shape[2])
    parts = []
    for given, neutral in ((scale, 1.0), (shift, 0.0)):
        part = np.full(shape[0], neutral)
        part[channel] = given[there]
        if np.any(part[channel] != given[there]):
            return None
        parts.append(part)
    node = Affine(op.name, (value.node,), shape, parts[0], parts[1])
    return replace(op.builder.add(node), labels=value.labels, kind=value.kind)


def combined(op: Op, operation: str, left: Tensor, right: Tensor) -> Tensor:
    """``left operation right``. At least one operand depends on the input."""
    if isinstance(left, Value) and isinstance(right, Value):
        return of_values(op, operation, left, right)
    if isinstance(left, Value) and isinstance(right, Constant):
        return with_constant(op, operation, left, right, first=False)
    assert isinstance(right, Value), "what is constant has been folded"
    assert isinstance(left, Constant), "it is no value"
    return with_constant(op, operation, right, left, first=True)


def with_constant(op: Op, operation: str, value: Value, given: Constant, *, first: bool) -> Value:
    """One operand is a constant of any shape that fits. ``first`` if it is the left operand."""
    if given.kind not in "fiub":
        op.fail(f"has a constant of type {given.array.dtype}, supported are numbers")
    array = np.asarray(given.array, dtype=np.float64)
    value, spread = fitted(op, value, array)
    kind = result_kind(op, operation, value.kind, given.kind)
    if np.all(array == array.flat[0]):
        number = float(array.flat[0])

        def function(x: Expression) -> Expression:
            if operation == "equal":
                return equal(op.builder, value, x, number)
            pair = (x, constant(number))
            return of_kind(operation, pair[::-1] if first else pair, kind)

        return function_of(op, value, function, kind)
    if operation == "div" and kind in "iu":
        op.fail("divides integers by a number for each place; put a Cast to float before it")
    found = by_elements(op, operation, value, spread, first=first)
    return replace(found, kind=kind)


def of_kind(operation: str, pair: tuple[Expression, ...], kind: str) -> Expression:
    """An operation with the result of its type: a division of integers gives an integer."""
    if operation == "pow":
        return power(*pair)
    found = apply(operation, *pair)
    return apply("trunc", found) if operation == "div" and kind in "iu" else found


def power(base: Expression, exponent: Expression) -> Expression:
    """A power with a constant exponent, or of a constant base."""
    if exponent.operation == "constant":
        return apply("power", base, parameters=exponent.parameters)
    (number,) = base.parameters
    return apply("exp", apply("mul", exponent, constant(float(elementary.log(np.array(number))))))


def result_kind(op: Op, operation: str, left: str, right: str) -> str:
    """The element kind of a result. Integers must not wrap around."""
    if operation in TESTS:
        return "b"
    kind = left if left != "b" else right
    if kind in "iu" and operation not in EXACT_INTEGERS | {"div", "mod", "fmod", "pow"}:
        op.fail("works on integers; put a Cast to float before it")
    if kind == "u" and operation in {"sub", "add", "mul", "pow"}:
        op.fail("is arithmetic on unsigned integers, which wraps around; put a Cast to float "
                "before it")  # fmt: skip
    return kind


def fitted(op: Op, value: Value, array: Array) -> tuple[Value, Array]:
    """The value and the constant in their common shape, without the batch axis."""
    shape = (op.builder.batch, *value.labels.shape)
    try:
        whole = np.broadcast_shapes(shape, array.shape)
    except ValueError:
        op.fail(f"constant of shape {array.shape} does not fit {('N', *value.labels.shape)}")
    if len(whole) != len(shape) or (whole[0] != shape[0] and shape[0] != 1):
        op.fail(f"constant of shape {array.shape} has more axes than {('N', *shape[1:])}, which "
                "mixes the images of a batch")  # fmt: skip
    spread = np.broadcast_to(array, whole)
    if whole[0] != shape[0] or np.any(spread != spread[:1]):
        op.fail("its constant differs from image to image of a batch, supported is the same for "
                "all images")  # fmt: skip
    return value.seen(np.broadcast_to(value.labels, whole[1:])), spread[0]


def by_elements(op: Op, operation: str, value: Value, given: Array, *, first: bool) -> Value:
    """An operation with a constant that differs from element to element."""
    ones = np.ones(given.shape)
    if operation == "add":
        return scaled(op, value, ones, given)
    if operation == "sub":
        return scaled(op, value, -ones if first else ones, given if first else -given)
    if operation == "mul":
        return scaled(op, value, given)
    if operation == "div" and not first:
        return scaled(op, value, 1 / given)
    if operation == "div":
        inverse = function_of(op, value, lambda x: apply("reciprocal", x))
        return scaled(op, inverse, given)
    if operation in {"max", "min"}:
        sign = 1 if operation == "max" else -1
        above = scaled(op, value, sign * ones, -sign * given)
        rectified = function_of(op, above, lambda x: apply("relu", x))
        return scaled(op, rectified, sign * ones, given)
    if operation in TESTS - {"and", "or", "xor"}:
        apart = scaled(op, value, -ones if first else ones, given if first else -given)
        return with_zero(op, apart, operation)
    if operation == "and":
        return scaled(op, value, given)
    if operation == "or":
        return scaled(op, value, 1 - given, given)
    if operation == "xor":
        return scaled(op, value, 1 - 2 * given, given)
    raise op.refusal("its constant differs from element to element, supported is one number for "
                     "all: each table has one function")  # fmt: skip


def of_values(op: Op, operation: str, left: Value, right: Value) -> Value:
    """Two values. Functions of the same value compose, sums are linear, products have layers."""
    (a, f), (b, g) = op.builder.expression(left), op.builder.expression(right)
    kind = result_kind(op, operation, left.kind, right.kind)
    if a == b and np.array_equal(left.labels, right.labels) and operation != "pow":
        if (left.labels < 0).any() and apply(operation, X, X)(np.zeros(())) != 0:
            return of_values(op, operation, filled(op, left), filled(op, right))
        found = op.builder.elementwise(op.name, left, of_kind(operation, (f, g), kind))
        return replace(found, kind=kind)
    made = {"add": add, "sub": subtract, "mul": product, "div": quotient, "max": larger,
            "min": smaller, "and": product, "or": larger}.get(operation)  # fmt: skip
    if made is not None:
        return replace(made(op, left, right), kind=kind)
    if operation in TESTS - {"xor"}:
        return with_zero(op, subtract(op, left, right), operation)
    if operation == "xor":
        return function_of(op, subtract(op, left, right), lambda x: apply("abs", x), "b")
    raise op.refusal(
        "takes two values that depend on the input, supported is one of them a "
        "constant, or both functions of one value: a table has one variable"
    )


def add(op: Op, left: Value, right: Value) -> Value:
    return summed(op, left, right, (1, 1))


def subtract(op: Op, left: Value, right: Value) -> Value:
    return summed(op, left, right, (1, -1))


def summed(op: Op, left: Value, right: Value, signs: tuple[int, int]) -> Value:
    a, b, labels = together(op, left, right)
    node = Add(op.name, (a, b), op.builder.nodes[a].shape, signs)
    return replace(op.builder.add(node), labels=labels)


def larger(op: Op, left: Value, right: Value) -> Value:
    return extreme(op, left, right, 1)


def smaller(op: Op, left: Value, right: Value) -> Value:
    return extreme(op, left, right, -1)


def extreme(op: Op, left: Value, right: Value, sign: int) -> Value:
    """``max(a, b) = relu(a - b) + b``. The minimum has the opposite signs."""
    a, b, labels = together(op, left, right)
    shape = op.builder.nodes[a].shape
    first = op.builder.add(Add(op.name, (a, b), shape, (sign, -sign)))
    above = op.builder.elementwise(f"{op.name}.relu", first, apply("relu", X))
    node = Add(f"{op.name}.sum", (above.node, b), shape, (sign, 1))
    return replace(op.builder.add(node), labels=labels)


def product(op: Op, left: Value, right: Value) -> Value:
    """The product of two values. Sides of 1 of one value are repeated."""
    for whole, gate in ((left, right), (right, left)):
        rank = whole.labels.ndim
        if gate.labels.ndim > rank:
            continue
        sides = gate.labels.reshape((1,) * (rank - gate.labels.ndim) + gate.labels.shape)
        if not fits(whole.labels.shape, sides.shape) or whole.labels.shape == sides.shape:
            continue
        if rank > 3:
            continue
        nodes = [image(op, value, as_image(labels)) for value, labels in
                 ((whole, whole.labels), (gate, sides))]  # fmt: skip
        if nodes[0] is not None and nodes[1] is not None:
            shape = op.builder.nodes[nodes[0]].shape
            made = op.builder.add(Mul(op.name, (nodes[0], nodes[1]), shape))
            return made.seen(made.labels.reshape(whole.labels.shape))
    a, b, labels = together(op, left, right)
    node = Mul(op.name, (a, b), op.builder.nodes[a].shape)
    return replace(op.builder.add(node), labels=labels)


def quotient(op: Op, left: Value, right: Value) -> Value:
    """The product with the reciprocal, for which the divisor needs a table."""
    if left.kind in "iu" or right.kind in "iu":
        op.fail("divides integers that both depend on the input; put a Cast to float before it")
    return product(op, left, function_of(op, right, lambda x: apply("reciprocal", x)))


def fits(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """True if each side of a factor equals the side of another factor, or is 1."""
    return all(r in (size, 1) for size, r in zip(left, right, strict=True))


def folded(operation: str) -> Callable[[Op], Tensor]:
    """Arithmetic on any number of tensors, from left to right."""

    def handle(op: Op) -> Tensor:
        tensors = [op.operand(index) for index in range(len(op.proto.input))]
        found = tensors[0]
        for other in tensors[1:]:
            if isinstance(found, Constant) and isinstance(other, Constant):
                numbers = {"add": np.add, "max": np.maximum, "min": np.minimum}[operation]
                found = Constant(numbers(found.array, other.array))
            else:
                found = combined(op, operation, found, other)
        return found

    return handle


def mean(op: Op) -> Tensor:
    found, count = folded("add")(op), len(op.proto.input)
    assert isinstance(found, Value), "constants are folded before"
    return scaled(op, found, np.full(found.labels.shape, 1 / count))


def power_of(op: Op) -> Tensor:
    """A value to a constant power, or a positive constant to the power of a value."""
    base, exponent = op.operand(0), op.operand(1)
    if isinstance(base, Constant):
        numbers = op.numbers(0)
        if np.any(numbers != numbers.flat[0]) or numbers.flat[0] <= 0:
            op.fail("raises a constant to a value, supported is one positive number")
    found = combined(op, "pow", base, exponent)
    whole = isinstance(base, Value) and base.kind in "iu"
    return replace(found, kind="f") if isinstance(found, Value) and not whole else found


def modulo(op: Op) -> Tensor:
    """The remainder by a constant."""
    operation = "fmod" if op.attributes.get("fmod", 0) else "mod"
    return combined(op, operation, op.operand(0), op.operand(1))


def where(op: Op) -> Tensor:
    """A choice by a constant mask, or by a comparison."""
    test, left, right = (op.operand(index) for index in range(3))
    if isinstance(test, Constant):
        return chosen(op, np.asarray(test.array, dtype=bool), left, right)
    parts = [op.builder.expression(t) if isinstance(t, Value) else None for t in (left, right)]
    same = [isinstance(t, Constant) and np.all(t.array == t.array.flat[0]) for t in (left, right)]
    base, condition = op.builder.expression(test)
    arguments: list[Expression] = []
    for tensor, part, uniform in zip((left, right), parts, same, strict=True):
        if isinstance(tensor, Constant) and uniform:
            arguments.append(constant(float(tensor.array.flat[0])))
        elif (
            isinstance(tensor, Value)
            and part is not None
            and part[0] == base
            and np.array_equal(tensor.labels, test.labels)
        ):
            arguments.append(part[1])
    if len(arguments) == 2 and (test.labels >= 0).all():
        found = op.builder.elementwise(op.name, test, apply("where", condition, *arguments))
        kinds = [t.kind for t in (left, right)]
        return replace(found, kind=kinds[0])
    if isinstance(left, Constant) and isinstance(right, Constant):
        apart: Tensor = Constant(left.array - right.array)
    else:
        apart = combined(op, "sub", left, right)
    return combined(op, "add", combined(op, "mul", test, apart), right)


def chosen(op: Op, mask: Array, left: Tensor, right: Tensor) -> Tensor:
    """``left`` where the mask holds, otherwise ``right``."""
    parts: list[Tensor] = []
    for tensor, holds in ((left, mask), (right, ~mask)):
        if isinstance(tensor, Constant):
            parts.append(Constant(np.where(holds, tensor.array, 0)))
            continue
        seen, spread = fitted(op, tensor, holds.astype(np.float64))
        parts.append(seen.seen(np.where(spread > 0, seen.labels, -1)))
    a, b = parts
    if isinstance(a, Value) and isinstance(b, Value) and a.node == b.node:
        both = np.broadcast_arrays(a.labels, b.labels)
        return a.seen(np.maximum(*both))
    return combined(op, "add", a, b)


def logical_not(op: Op) -> Value:
    return function_of(op, op.value(), lambda x: apply("not", x), "b")


def concat(op: Op) -> Value:
    """Parts of one value become other labels. Several values become a sum, each put in its
    place."""
    tensors = [op.operand(index) for index in range(len(op.proto.input))]
    rank = max(t.labels.ndim for t in tensors if isinstance(t, Value))
    axis = int(op.attributes.get("axis", 1))
    axis += rank + 1 if axis < 0 else 0
    if axis == 0:
        op.fail("joins along the batch axis, supported are the axes after it")
    parts = [t.labels if isinstance(t, Value) else without_batch(op, t.array) for t in tensors]
    sizes = [part.shape[axis - 1] for part in parts]
    ends = np.cumsum([0, *sizes])
    placed: dict[int, Value] = {}
    shift = np.zeros(tuple(sum(sizes) if i == axis - 1 else n for i, n in
                           enumerate(parts[0].shape)))  # fmt: skip
    for tensor, part, start, size in zip(tensors, parts, ends, sizes, strict=False):
        where_ = (*[slice(None)] * (axis - 1), slice(start, start + size))
        if isinstance(tensor, Constant):
            shift[where_] = part
            continue
        labels = placed[tensor.node].labels if tensor.node in placed else np.full(shift.shape, -1)
        labels[where_] = part
        placed[tensor.node] = replace(tensor, labels=labels)
    values = list(placed.values())
    found = values[0] if len(values) == 1 else sum_of(op, values)
    return scaled(op, found, np.ones(shift.shape), shift) if shift.any() else found


def without_batch(op: Op, array: Array) -> Array:
    """A constant that is the same for each image of a batch."""
    if array.ndim < 2 or np.any(array != array[:1]):
        op.fail("joins a constant that differs from image to image of a batch")
    return np.asarray(array[0], dtype=np.float64)


def sum_of(op: Op, values: list[Value]) -> Value:
    """One sum of values, in an order into which all of them can be brought."""

    def joined(arrange: Callable[[Array], Array]) -> Value | None:
        nodes = [image(op, value, arrange(value.labels)) for value in values]
        found = [node for node in nodes if node is not None]
        if len(found) < len(values):
            return None
        shape: Shape = op.builder.nodes[found[0]].shape
        return op.builder.add(Add(op.name, tuple(found), shape, (1,) * len(found)))

    made = joined(as_image)
    if made is None:
        for _, factors in phases.arrangements(values[0].labels):
            made = joined(partial(phases.apart, factors=factors))
            if made is not None:
                return made.seen(phases.interleaved(made.labels, factors))
        made = joined(flat)
    if made is not None:
        return made.seen(made.labels.reshape(values[0].labels.shape))
    shapes = ", ".join(str(("N", *value.labels.shape)) for value in values)
    raise op.refusal(f"joins values that lie in different orders, of common shape {shapes}, and a "
                     "matrix between them is too large")  # fmt: skip


def pair(operation: str) -> Handler:
    def handle(op: Op) -> Tensor:
        if len(op.proto.input) != 2:
            op.fail(f"has {len(op.proto.input)} inputs, supported are 2")
        return combined(op, operation, op.operand(0), aligned(op))

    return handle


def aligned(op: Op) -> Tensor:
    """The second operand. Before opset 7 it could name the axis on which its first axis lies."""
    left, right = op.operand(0), op.operand(1)
    if op.builder.opset >= 7 or "axis" not in op.attributes or isinstance(right, Value):
        return right
    rank = (left.labels.ndim + 1) if isinstance(left, Value) else left.array.ndim
    axis = int(op.attributes["axis"]) % rank
    after = rank - axis - right.array.ndim
    return Constant(right.array.reshape(*right.array.shape, *[1] * max(after, 0)))


MAPPED: Final = "constants that differ from place to place: a matrix"
OF_TWO: Final = "for two values: relu(a - b) + b"
TESTED: Final = (f"{TABLE} that gives 0 or 1", "for two values: of their difference")
LOGIC: Final = "a table, a product or a maximum"

OPERATORS: Final[tuple[Operator[Handler], ...]] = (
    Operator("Add", pair("add"), LINEAR, MAPPED),
    Operator("Sub", pair("sub"), LINEAR, MAPPED),
    Operator("Mul", pair("mul"), f"{LINEAR} (constant); a product (two values)",
             "a factor of one place for each channel, or of one channel, is repeated"),
    Operator("Div", pair("div"), LINEAR,
             "a constant divisor; functions of one value: a table"),
    Operator("Sum", folded("add"), LINEAR, MAPPED),
    Operator("Mean", mean, LINEAR, MAPPED),
    Operator("Max", folded("max"), TABLE, OF_TWO),
    Operator("Min", folded("min"), TABLE, OF_TWO),
    Operator("Pow", power_of, TABLE, "a constant exponent, or a constant base"),
    Operator("Mod", modulo, TABLE, "a constant divisor"),
    *alike(("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"),
           lambda kind: pair(kind.lower()), *TESTED),
    *alike(("And", "Or", "Xor"), lambda kind: pair(kind.lower()), LOGIC),
    Operator("Not", logical_not, TABLE),
    Operator("Where", where, f"{FREE}, a table or a product",
             "a constant mask; a comparison of the same value; of another value"),
    Operator("Concat", concat, "moved for free, or a sum of windows",
             "also of constants, the same for all images"),
)  # fmt: skip
