"""Integers: quotients rounded up, and the largest power of two that passes a test."""

from __future__ import annotations

from collections.abc import Callable


def ceil_div(a: int, b: int) -> int:
    """``a / b``, rounded up. ``b`` is positive."""
    return -(-a // b)


def power_of_two(fits: Callable[[int], bool]) -> int:
    """The largest power of two up to which every power of two fits; 1 if none does."""
    found = 1
    while fits(2 * found):
        found *= 2
    return found


def rotations_of_sum(terms: int) -> int:
    """Rotations that add up ``terms`` neighbouring slots by a tree.

    Each doubling takes one, and each further one bit of ``terms`` takes one more.
    """
    return terms.bit_length() - 1 + bin(terms).count("1") - 1
