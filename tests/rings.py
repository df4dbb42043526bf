"""Definitions that kernels are compared with, in Python's integers and in numpy's of 64 bits."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]
Wide = npt.NDArray[np.uint64]


def is_prime(q: int) -> bool:
    """Miller and Rabin's test with bases that are enough below 3.2e9 (Jaeschke) and to 4.7e9."""
    odd, twos = q - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        power = pow(base, odd, q)
        if power in (1, q - 1):
            continue
        if not any((power := power * power % q) == q - 1 for _ in range(twos - 1)):
            return False
    return True


def primes(n: int, bits: int) -> tuple[int, int]:
    """The smallest and the largest prime of some bits that is 1 modulo ``2 n``."""
    step = 2 * n
    first = -(-(1 << (bits - 1)) // step) * step + 1
    last = ((1 << bits) - 2) // step * step + 1
    smallest = next(q for q in range(first, 1 << bits, step) if is_prime(q))
    return smallest, next(q for q in range(last, 1 << (bits - 1), -step) if is_prime(q))


def least_root(q: int, n: int) -> int:
    """The smallest word of order ``2 n``: all words are tried in order, for small ``n``."""
    return next(root for root in range(2, q) if pow(root, n, q) == q - 1)


def reversed_bits(i: int, n: int) -> int:
    """``i`` below ``n`` with its bits reversed."""
    return int(format(i, f"0{n.bit_length() - 1}b")[::-1], 2)


def ntt_by_definition(a: Any, q: int, root: int) -> list[int]:
    """The values at the odd powers of the root, in bit-reversed order."""
    n = len(a)
    points = [pow(root, 2 * reversed_bits(i, n) + 1, q) for i in range(n)]
    return [sum(int(c) * pow(x, k, q) for k, c in enumerate(a)) % q for x in points]


@cache
def splitting_roots(n: int, q: int, root: int) -> list[Wide]:
    """For 1, 2, 4, .. rings the roots by which each is split in two."""
    return [
        np.array([pow(root, reversed_bits(rings + k, n), q) for k in range(rings)], np.uint64)
        for rings in (1 << depth for depth in range(n.bit_length() - 1))
    ]


def ntt(a: Wide, q: int, root: int) -> Words:
    """The same by splitting the ring in two, again and again: for large ``n``."""
    modulus, values = np.uint64(q), a.astype(np.uint64)
    for roots in splitting_roots(len(a), q, root):
        pairs = values.reshape(len(roots), 2, -1)
        turned = pairs[:, 1] * roots[:, None] % modulus
        both = (pairs[:, 0] + turned) % modulus, (pairs[:, 0] + modulus - turned) % modulus
        values = np.stack(both, 1).reshape(-1)
    return values.astype(np.uint32)


def negacyclic(a: Any, b: Any, q: int) -> list[int]:
    """The product modulo ``X^n + 1``."""
    n, out = len(a), [0] * len(a)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            sign = 1 if i + j < n else -1
            out[(i + j) % n] += sign * int(x) * int(y)
    return [word % q for word in out]


def automorphism(a: Any, element: int, q: int) -> list[int]:
    """The polynomial at ``X^element``."""
    n, out = len(a), [0] * len(a)
    for i, x in enumerate(a):
        exponent = i * element % (2 * n)
        out[exponent % n] = int(x) if exponent < n else -int(x) % q
    return out


def convert(words: Any, source: list[int], target: list[int]) -> list[list[int]]:
    """Basis conversion as traces define it: ``words`` has a row for each modulus of the source."""
    whole, columns = prod(source), []
    for column in zip(*words, strict=True):
        scaled = [int(x) * pow(whole // q, -1, q) % q for x, q in zip(column, source, strict=True)]
        if len(source) == 1:
            quotient = int(2 * scaled[0] >= source[0])
        else:
            total = 1 << 55
            for y, q in zip(scaled, source, strict=True):
                bits = q.bit_length()
                total += ((y << (32 - bits)) * ((1 << (31 + bits)) // q)) >> 7
            quotient = total >> 56
        parts = (y * (whole // q) for y, q in zip(scaled, source, strict=True))
        columns.append(sum(parts) - quotient * whole)
    return [[x % p for x in columns] for p in target]


def rounded(c: int, q: int, t: int) -> int:
    """``round(c t / q) mod t``, with halves rounded up."""
    return (2 * c * t + q) // (2 * q) % t


def digit(c: int, q: int, index: int, bits: int, count: int) -> int:
    """Digit ``index`` of a centred residue, digit by digit."""
    base, centre = 1 << bits, c - q if c > q // 2 else c
    rest, digits = abs(centre), []
    for _ in range(count - 1):
        low = (rest + base // 2) % base - base // 2
        digits.append(low)
        rest = (rest - low) >> bits
    digits.append(rest)
    return (digits[index] if centre >= 0 else -digits[index]) % q
