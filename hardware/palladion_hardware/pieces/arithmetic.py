"""Sums, differences and butterflies modulo q, on words in [0, q)."""

from __future__ import annotations

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.pieces.multipliers import Multiplier


def reduce_once(c: Circuit, word: Node, q: Node) -> Node:
    """``word`` in [0, 2 q) to [0, q), without a register."""
    less = word - q
    return c.select(less.bit(less.bits - 1), word, less).low(q.bits)


def add(c: Circuit, a: Node, b: Node, q: Node) -> Node:
    return reduce_once(c, a + b, q)


def subtract(c: Circuit, a: Node, b: Node, q: Node) -> Node:
    less = a - b
    return c.select(less.bit(less.bits - 1), less + q, less).low(q.bits)


def negate_where(c: Circuit, condition: Node, a: Node, q: Node) -> Node:
    """-a where the bit is 1: q - a, but 0 for 0."""
    return c.select(condition & a.is_not_zero(), (q - a).low(q.bits), a)


def cooley_tukey(m: Multiplier, x: Node, y: Node, root: Node) -> tuple[Node, Node]:
    """(x + r y, x - r y): the remainders modulo X^m - r and X^m + r. A product, and a cycle."""
    c = x.circuit
    product = m.multiply(y, root)
    return add(c, x, product, m.q).delay(), subtract(c, x, product, m.q).delay()


def gentleman_sande(m: Multiplier, x: Node, y: Node, root: Node, bypass: Node) -> tuple[Node, Node]:
    """(x + y, (x - y) r), or (x, y r) where ``bypass`` is 1. A cycle, and a product.

    Words are held back in the product alone: with the root 1 a bypass needs no registers.
    """
    c = x.circuit
    zero = c.constant(0, bits=x.bits)
    total = add(c, x, c.select(bypass, zero, y), m.q).delay()
    less = subtract(c, c.select(bypass, y, x), c.select(bypass, zero, y), m.q).delay()
    product = m.multiply(less, root)
    total, product = c.aligned(total, product)
    return total, product


def halve(c: Circuit, a: Node, q: Node) -> Node:
    """a / 2 modulo q, for odd q."""
    return c.select(a.bit(0), a + q, a).high_from(1).low(q.bits)


def butterfly(m: Multiplier, x: Node, y: Node, factor: Node, inverse: Node) -> tuple[Node, Node]:
    """(x + r y, x - r y), or inverse ((x + y) / 2, (x - y) r) with one multiplier.

    ``factor`` is r times R, there a cycle behind the words. The inverse of the first is the second
    for 1 / (2 r).
    """
    c = x.circuit
    less, half = subtract(c, x, y, m.q), halve(c, add(c, x, y, m.q), m.q)
    product = m.multiply(c.select(inverse, less, y).delay(), factor)
    base = c.select(inverse, half, x).delay()
    first = c.select(inverse, base, add(c, base, product, m.q))
    second = c.select(inverse, product, subtract(c, base, product, m.q))
    return first.delay(), second.delay()
