"""Butterflies of 8 words, fused: sums of products, and one reduction modulo q for each word.

Forward, the remainders of a_0 + a_1 Y + .. + a_7 Y^7 at the eight roots of Y^8 - s, which are r z^k
for an r with r^8 = s and a root z of order 8: the sum over j of a_j r^j z^(j k). Since z^4 = -1,
words with odd j have 4 products up to sign, j = 2 and 6 have 2, j = 4 has 1 and j = 0 none: 21.

Inverse, a_j is an eighth of the sum over k of x_k z^(-j k), times r^(-j). These are the same
products, transposed: what was added behind them is added in front of them. So both directions use
the same 21 multipliers, and Poseidon's fusion of three layers has 8 reductions instead of 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palladion_hardware.circuit import Node
from palladion_hardware.pieces.multipliers import Multiplier

PRODUCTS = tuple(
    (j, m)
    for j, count in ((1, 4), (2, 2), (3, 4), (4, 1), (5, 4), (6, 2), (7, 4))
    for m in range(count)
)
"""The products (j, m): by r^j z^(j m), and inverse by r^(-j) z^(-j m) / 8."""


def butterfly(
    m: Multiplier, words: Sequence[Node], factors: Mapping[tuple[int, int], Node], inverse: Node
) -> list[Node]:
    """Eight words in [0, q) to eight in [0, q); each node has a lane for each butterfly.

    ``factors`` are those of :data:`PRODUCTS` times R, there a cycle behind the words.
    """
    c, q = words[0].circuit, m.q
    total, before = _add_before(words, q)
    products = {
        (j, place): (c.select(inverse, before[j, place], words[j]).delay() * factor).delay(
            m.stages.product
        )
        for (j, place), factor in factors.items()
    }
    # No product is by 1: the word is shifted by R, or by R / 8.
    plain = words[0].shifted_left(m.radix_bits)
    base = c.select(inverse, total.shifted_left(m.radix_bits - 3), plain).delay()
    forward, backward = _add_forward(m, base, products), _add_inverse(base, products)
    sums = (c.select(inverse, b, f).delay() for f, b in zip(forward, backward, strict=True))
    return [m.reduce(word, 8) for word in sums]


def _add_before(words: Sequence[Node], q: Node) -> tuple[Node, dict[tuple[int, int], Node]]:
    """The sum of all words, and the operand of each product of the inverse: below 8 q."""

    def less(a: Node, b: Node, step: int) -> Node:
        """a - b + 2^step q, for a and b up to 2^step q."""
        return (a - b + q.shifted_left(step)).low(q.bits + step + 1)

    pairs = [words[k] + words[k + 4] for k in range(4)]
    fours = [pairs[0] + pairs[2], pairs[1] + pairs[3]]
    odd = [less(words[k], words[k + 4], 0) for k in range(4)]
    even = [less(pairs[k], pairs[k + 2], 1) for k in range(2)]
    operands = {(j, place): odd[place] if j % 2 else even[place] for j, place in PRODUCTS if j != 4}
    return fours[0] + fours[1], operands | {(4, 0): less(fours[0], fours[1], 2)}


def _add_forward(m: Multiplier, base: Node, products: Mapping[tuple[int, int], Node]) -> list[Node]:
    """Sums below 8 R q. A difference has a multiple of R q added, which is 0 modulo q."""
    c = base.circuit

    def pair(a: Node, b: Node, step: int) -> tuple[Node, Node]:
        """a + b and a - b, for a and b below 2^step R q."""
        bits = m.q.bits + m.radix_bits + step + 1
        offset = m.q.shifted_left(m.radix_bits + step)
        a, b = c.aligned(a, b)
        return (a + b).low(bits), (a - b + offset).low(bits)

    fours = pair(base, products[4, 0], 0)
    twos = [products[2, k] + products[6, k] for k in range(2)]
    even = [pair(fours[k], twos[k], 1) for k in range(2)]
    odd = [
        (products[1, k] + products[3, k] + (products[5, k] + products[7, k])).delay()
        for k in range(4)
    ]
    ordered = [even[k % 2][k // 2].delay() for k in range(4)]
    both = [pair(even_sum, odd_sum, 2) for even_sum, odd_sum in zip(ordered, odd, strict=True)]
    return [sums[side] for side in range(2) for sums in both]


def _add_inverse(base: Node, products: Mapping[tuple[int, int], Node]) -> list[Node]:
    """Sums below 8 R q."""
    c = base.circuit
    results = [base]
    for j in range(1, 8):
        terms = [products[index] for index in PRODUCTS if index[0] == j]
        while len(terms) > 1:
            terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
        results.append(terms[0].delay())
    return list(c.aligned(*results))
