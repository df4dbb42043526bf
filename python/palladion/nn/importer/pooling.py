"""Pooling and reductions over axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Final

import numpy as np

from palladion.nn.floats.expression import Expression, apply
from palladion.nn.floats.geometry import Geometry
from palladion.nn.floats.graph import Conv, Dense, MaxPool, Node, Window
from palladion.nn.importer.arithmetic import larger
from palladion.nn.importer.arrange import MAX_WEIGHTS, function_of, matrix, scattered
from palladion.nn.importer.context import Array, Handler, Op, Value
from palladion.nn.importer.operators import LINEAR, TREE, Operator
from palladion.nn.importer.sliding import (
    Picture,
    counts,
    geometry,
    kernel_shape,
    picture,
    placed,
    rounded_up,
    uniform,
)

MAX_REDUCED: Final = 1 << 10
"""Largest number of values that a maximum over any axes combines."""

Function = Callable[[Expression], Expression]


def power(exponent: float) -> Function:
    return lambda x: apply("power", x, parameters=(exponent,))


def plain(operation: str) -> Function:
    return lambda x: apply(operation, x)


def max_pool(op: Op) -> Value:
    if len([name for name in op.proto.output if name]) > 1:
        op.fail("gives indices, supported is one output")
    value = op.value()
    over = picture(op, value)
    if over.node is None:
        op.fail(f"is over an input of shape {('N', *value.labels.shape)} whose values lie in "
                "another order, supported are (N, C, L) and (N, C, H, W)")  # fmt: skip
    sliding = rounded_up(op, over.size, geometry(op, over, kernel_shape(op)))
    return over.as_model(largest(op, over.node, sliding))


def largest(op: Op, index: int, sliding: Geometry) -> Value:
    """The node of a maximum pooling."""
    node: Node = op.builder.nodes[index]
    output = (node.shape[0], *sliding.output(node.shape[1:]))
    return op.builder.add(MaxPool(op.name, (index,), output, sliding))


def average_pool(op: Op) -> Value:
    """A sum times a factor, or a matrix if the factor differs at the border."""
    return averaged(op, op.value())


def averaged(op: Op, value: Value, *, sums: bool = False) -> Value:
    """An average over windows, or the sums."""
    over = picture(op, value)
    explicit = geometry(op, over, kernel_shape(op))
    whole = rounded_up(op, over.size, explicit)
    divisors = np.ones((1, 1)) if sums else counts(over, explicit, whole, padded=bool(
        op.attributes.get("count_include_pad", 0)))  # fmt: skip
    output = (over.shape[0], *whole.output(over.size))
    if uniform(divisors):
        taps = np.full(whole.kernel, 1 / divisors[0, 0])
        return placed(op, value, over, Window(op.name, (), output, taps, whole))
    return over.as_model(by_channel(op, value, over, whole, divisors))


def by_channel(op: Op, value: Value, over: Picture, sliding: Geometry, divisors: Array) -> Value:
    """Sums of windows divided by numbers that depend on the place: a matrix for each channel."""
    channels, count, outputs = over.shape[0], prod(over.size), divisors.size
    if count * outputs * channels**2 > MAX_WEIGHTS:
        op.fail(f"divides by another count at the border, which needs a matrix of "
                f"{count * outputs * channels**2} weights; the most are {MAX_WEIGHTS}: export it "
                "with count_include_pad=1, or without pads")  # fmt: skip
    basis = np.eye(count).reshape(count, 1, *over.size)
    sums = (sliding.windows(basis).sum(axis=(4, 5)) / divisors).reshape(count, outputs).T
    weights = scattered(
        np.kron(np.eye(channels), sums), value.labels, prod(op.builder.shape(value))
    )
    node = Dense(op.name, (value.node,), (len(weights), 1, 1), weights, np.zeros(len(weights)))
    made = op.builder.add(node)
    return made.seen(made.labels.reshape(channels, *divisors.shape))


def lp_pool(op: Op) -> Value:
    """The root of a sum of powers."""
    exponent = float(op.attributes.get("p", 2))
    value = function_of(op, op.value(), plain("abs"))
    powers = function_of(op, value, power(exponent)) if exponent != 1 else value
    sums = averaged(op, powers, sums=True)
    return function_of(op, sums, power(1 / exponent)) if exponent != 1 else sums


def axes_of(op: Op, value: Value) -> list[int]:
    """The axes of a reduction, counted in the value without its batch axis."""
    given = op.integers(1, "axes")
    rank = value.labels.ndim + 1
    if not given:
        if op.attributes.get("noop_with_empty_axes", 0):
            return []
        given = list(range(rank))
    axes = sorted({axis % rank for axis in given})
    if 0 in axes:
        op.fail("is over the batch axis: each image must stay by itself; give the axes after it")
    return [axis - 1 for axis in axes]


def reduction(before: Function | None, mean: bool, after: Function | None) -> Handler:
    """A function of each value, then the sum or mean over axes, then a function of the result."""

    def handle(op: Op) -> Value:
        value = op.value()
        axes = axes_of(op, value)
        if before is not None:
            value = function_of(op, value, before)
        if value.kind in "iu" and mean:
            op.fail("is a mean of integers; put a Cast to float before it")
        found = summed(op, value, axes, mean=mean) if axes else value
        if after is not None:
            found = function_of(op, found, after)
        return replace(without(op, found, axes), kind=value.kind)

    return handle


def without(op: Op, found: Value, axes: list[int]) -> Value:
    """Drop reduced axes if the model does not keep them."""
    if op.attributes.get("keepdims", 1):
        return found
    return found.seen(np.squeeze(found.labels, tuple(axes)))


def summed(op: Op, value: Value, axes: list[int], *, mean: bool) -> Value:
    """The sum over axes. The axes stay, with size 1."""
    shape = value.labels.shape
    count = prod(shape[axis] for axis in axes)
    factor = 1 / count if mean else 1.0
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    whole = list(range(len(shape)))
    if axes == whole or len(shape) not in (2, 3):
        return matrix(op, value, lambda x: factor * x.sum(axis=tuple(a + 1 for a in axes),
                                                          keepdims=True))  # fmt: skip
    over = picture(op, value)
    places = [axis - 1 for axis in axes if axis > 0]
    kernel = over.pair([shape[1 + i] if i in places else 1 for i in range(len(shape) - 1)], 1)
    sliding = Geometry(kernel)
    size = sliding.output(over.size)
    if 0 in axes:
        weights = np.full((1, over.shape[0], *kernel), factor)
        node: Node = Conv(op.name, (), (1, *size), weights, np.zeros(1), sliding)
    else:
        node = Window(op.name, (), (over.shape[0], *size), np.full(kernel, factor), sliding)
    found = placed(op, value, over, node)
    return found.seen(found.labels.reshape(kept))


def extreme(sign: int) -> Handler:
    """The largest (smallest) value over axes."""

    def handle(op: Op) -> Value:
        value = op.value()
        axes = axes_of(op, value)
        if sign < 0:
            value = function_of(op, value, plain("neg"))
        found = maximum(op, value, axes)
        if sign < 0:
            found = function_of(op, found, plain("neg"))
        return replace(without(op, found, axes), kind=value.kind)

    return handle


def maximum(op: Op, value: Value, axes: list[int]) -> Value:
    """A maximum over an image's rows and columns, or a tree of maxima of two values."""
    shape = value.labels.shape
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    over = picture(op, value) if axes and 0 not in axes and len(shape) in (2, 3) else None
    if over is not None and over.node is not None:
        spans = [shape[1 + i] if i + 1 in axes else 1 for i in range(len(shape) - 1)]
        found = largest(op, over.node, Geometry(over.pair(spans, 1)))
        return found.seen(found.labels.reshape(kept))
    if prod(shape[axis] for axis in axes) > MAX_REDUCED:
        op.fail(f"takes the largest of {prod(shape[axis] for axis in axes)} values, supported are "
                f"{MAX_REDUCED}")  # fmt: skip
    for axis in axes:
        while (size := value.labels.shape[axis]) > 1:
            half = (size + 1) // 2
            first = value.seen(value.labels.take(range(half), axis))
            last = value.seen(value.labels.take(range(size - half, size), axis))
            value = larger(op, first, last)
    return value


def over_places(handler: Callable[[Op, Value, list[int]], Value]) -> Handler:
    """A global pooling: over all axes after the channels."""

    def handle(op: Op) -> Value:
        value = op.value()
        if value.labels.ndim < 2:
            op.fail(f"is over an input of shape {('N', *value.labels.shape)}, which has no axes "
                    "after the channels")  # fmt: skip
        return handler(op, value, list(range(1, value.labels.ndim)))

    return handle


def global_mean(op: Op, value: Value, axes: list[int]) -> Value:
    return summed(op, value, axes, mean=True)


def global_lp(op: Op, value: Value, axes: list[int]) -> Value:
    exponent = float(op.attributes.get("p", 2))
    powers = function_of(op, function_of(op, value, plain("abs")), power(exponent))
    return function_of(op, summed(op, powers, axes, mean=False), power(1 / exponent))


AROUND: Final = "tables around a linear map"
ANY_AXES: Final = "over any axes but the batch"

OPERATORS: Final[tuple[Operator[Handler], ...]] = (
    Operator("MaxPool", max_pool, TREE,
             "with pads, values are raised to 0 on: one table more if others read them"),
    Operator("AveragePool", average_pool, LINEAR,
             "one or two axes; where counts differ at the border, a matrix"),
    Operator("LpPool", lp_pool, AROUND),
    Operator("GlobalMaxPool", over_places(maximum), TREE),
    Operator("GlobalAveragePool", over_places(global_mean), LINEAR),
    Operator("GlobalLpPool", over_places(global_lp), AROUND),
    Operator("ReduceMean", reduction(None, True, None), LINEAR, ANY_AXES),
    Operator("ReduceSum", reduction(None, False, None), LINEAR, ANY_AXES),
    Operator("ReduceL1", reduction(plain("abs"), False, None), AROUND),
    Operator("ReduceL2", reduction(power(2), False, plain("sqrt")), AROUND),
    Operator("ReduceSumSquare", reduction(power(2), False, None), AROUND),
    Operator("ReduceLogSum", reduction(None, False, plain("log")), AROUND),
    Operator("ReduceLogSumExp", reduction(plain("exp"), False, plain("log")), AROUND),
    Operator("ReduceMax", extreme(1), TREE),
    Operator("ReduceMin", extreme(-1), TREE),
)  # fmt: skip
