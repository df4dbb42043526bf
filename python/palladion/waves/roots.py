"""Roots of unity modulo a prime, on the host."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from palladion.errors import UsageError

Wide: TypeAlias = npt.NDArray[np.uint64]

TRIES = 64
"""Number of bases to try. Half of a prime's bases give a root: 64 fail with probability 2^-64."""


def least_root(q: int, n: int) -> int:
    """The smallest word of order ``2 n`` modulo the prime ``q``.

    Raises
    ------
    UsageError
        If no root is found: then ``q`` is no prime.
    """
    cofactor = (q - 1) // (2 * n)
    for base in range(2, 2 + TRIES):
        some = pow(base, cofactor, q)
        if pow(some, n, q) == q - 1:
            # The odd powers of one root are all roots.
            odd = powers(some * some % q, n, q) * np.uint64(some) % np.uint64(q)
            return int(odd.min())
    raise UsageError(f"the modulus {q} has no root of order {2 * n}: it is no prime")


def root_of(q: int, n: int, *, inverse: bool = False) -> int:
    """The root of a transform, or of its inverse: 0 for a modulus that is not 1 modulo ``2 n``.

    Such moduli have limbs of coefficients only, and may stand among those that have a transform.
    """
    if q % (2 * n) != 1:
        return 0
    return pow(least_root(q, n), -1 if inverse else 1, q)


def powers(base: int, count: int, q: int) -> Wide:
    """``base^0, .., base^(count - 1)`` modulo ``q``."""
    results = np.ones(count, np.uint64)
    done, step = 1, base % q
    while done < count:
        more = min(done, count - done)
        results[done : done + more] = results[:more] * np.uint64(step) % np.uint64(q)
        done, step = done + more, step * step % q
    return results


def bit_reversed(n: int) -> npt.NDArray[np.int64]:
    """The numbers below ``n`` with their bits reversed."""
    numbers = np.zeros(1, np.int64)
    while len(numbers) < n:
        numbers = np.concatenate([2 * numbers, 2 * numbers + 1])
    return numbers


def tree(root: int, n: int, q: int) -> Wide:
    """``root^bitrev(k)`` at ``k``: the order in which butterflies read powers.

    Nodes ``2^s .. 2^(s+1)`` split the residues modulo ``X^(n / 2^s) - r^2`` into those modulo
    ``X^(n / 2^(s+1)) - r`` and ``+ r``. A block under node ``k`` has the children ``2 k`` and
    ``2 k + 1``.
    """
    return powers(root, n, q)[bit_reversed(n)]
