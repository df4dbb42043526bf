"""Permutations l -> k l + u of 2^e lanes, for odd k: e layers of pairs that may be swapped.

Of k (2 a + b) + u the lowest bit is b + u, and the rest is k a + floor((k b + u) / 2). So even and
odd lanes are permuted each by a network of half the size, with shifts of their own, and then change
places if u is odd. The bits that control the swaps are the lowest ones of all these shifts.
"""

from __future__ import annotations

from collections.abc import Sequence

from palladion_hardware.circuit import Circuit, Node


def permute(c: Circuit, words: Node, k: Node, u: Node, active: Sequence[Node]) -> Node:
    """Word l to lane k l + u, without a register.

    ``active[d]`` is 0 where bit d of the lane's number and those above it stay as they are.
    """
    if words.lanes == 1:
        return words
    lanes = range(words.lanes)
    bits = u.bits
    even = permute(c, words.take(lanes[0::2]), k, u.part_of_bits(1, bits + 1), active[1:])
    following = (k + u).part_of_bits(1, bits + 1)
    odd = permute(c, words.take(lanes[1::2]), k, following, active[1:])
    swap = u.bit(0) & active[0]
    first, second = c.select(swap, odd, even), c.select(swap, even, odd)
    half = words.lanes // 2
    return c.join(first, second).take([lane // 2 + lane % 2 * half for lane in lanes])
