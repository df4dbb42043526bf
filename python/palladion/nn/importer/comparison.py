"""Comparisons with 0, in forms that an encrypted table computes correctly.

A step is written as a sign, ``(1 + sign(x)) / 2``. Positive factors do not change a sign, so
channels of different scales can be quantised separately. Equality of whole numbers is replaced by
nearness, which the noise of a run does not disturb."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from palladion.nn.floats.expression import Expression, apply, constant
from palladion.nn.floats.functions import TESTS
from palladion.nn.floats.graph import (
    Activation,
    Add,
    Affine,
    Array,
    Conv,
    Dense,
    MaxPool,
    Node,
    Window,
)
from palladion.nn.importer.arrange import function_of
from palladion.nn.importer.context import Builder, Op, Value

SIGNS: Final = {"greaterorequal": (1, 1), "less": (1, -1), "lessorequal": (-1, 1),
                "greater": (-1, -1)}  # fmt: skip
"""Signs ``a`` and ``b`` with which a comparison of ``x`` with 0 is ``(1 + b sign(a x)) / 2``. The
sign of 0 is 1."""

WHOLE: Final = TESTS | {"sign", "floor", "ceil", "round", "trunc"}


def with_zero(op: Op, value: Value, operation: str) -> Value:
    """1 where a comparison of the value with 0 holds, 0 elsewhere."""
    if operation == "equal":
        return function_of(op, value, lambda x: equal(op.builder, value, x, 0.0), "b")
    a, b = SIGNS[operation]

    def sign(x: Expression) -> Expression:
        turned = x if a > 0 else apply("neg", x)
        return apply("bipolar", turned, parameters=(1.0,))

    signs = function_of(op, value, sign)
    shape = op.builder.shape(signs)
    half = np.full(shape[0], 0.5)
    node = Affine(op.name, (signs.node,), shape, b * half, half)
    found = replace(op.builder.add(node), labels=signs.labels, kind="b")
    base, function = op.builder.bases[signs.node]
    step = apply("add", apply("mul", function, constant(0.5 * b)), constant(0.5))
    op.builder.bases[found.node] = (base, step)
    return found


def equal(builder: Builder, value: Value, x: Expression, number: float) -> Expression:
    """True if ``x``, a function of the value, equals a number. Whole numbers need only be near."""
    if float(number).is_integer() and whole(builder, value.node):
        apart = apply("abs", apply("sub", x, constant(number)))
        return apply("less", apart, constant(0.5))
    return apply("equal", x, constant(number))


def whole(builder: Builder, index: int) -> bool:
    """True if a node's values are known to be whole numbers."""
    node: Node = builder.nodes[index]
    if isinstance(node, Activation):
        return node.function.operation in WHOLE
    sources = all(whole(builder, source) for source in node.sources)
    if isinstance(node, Affine):
        return half_of_sign(builder, node) or (sources and integers(node.scale, node.shift))
    if isinstance(node, Dense | Conv):
        return sources and integers(node.weights, node.bias)
    if isinstance(node, Window):
        return sources and integers(node.taps)
    return isinstance(node, Add | MaxPool) and sources


def half_of_sign(builder: Builder, node: Node) -> bool:
    """True if a node is ``(1 + sign) / 2`` or ``(1 - sign) / 2``."""
    if not isinstance(node, Affine):
        return False
    before = builder.nodes[node.sources[0]]
    halves = bool(np.all(np.abs(node.scale) == 0.5) and np.all(np.abs(node.shift) == 0.5))
    if not (halves and isinstance(before, Activation)):
        return False
    return before.function.operation == "bipolar" and before.function.parameters == (1.0,)


def integers(*parts: Array) -> bool:
    return all(bool(np.all(part == np.rint(part))) for part in parts)
