"""Moduli, roots, and transforms by their definitions: the judges of the units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palladion_hardware.circuit.nodes import Words
from palladion_hardware.errors import ParameterError

WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Enough for Miller and Rabin's test below 2^64."""


def is_prime(q: int) -> bool:
    if q < 2 or any(q % small == 0 for small in WITNESSES):
        return q in WITNESSES
    odd, twos = q - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in WITNESSES:
        power = pow(witness, odd, q)
        if power in (1, q - 1):
            continue
        if not any((power := power * power % q) == q - 1 for _ in range(twos - 1)):
            return False
    return True


def largest_prime(*, bits: int, step: int) -> int:
    """The largest prime of ``bits`` bits that is 1 modulo ``step``, a power of 2.

    Raises
    ------
    ParameterError
        If there is none.
    """
    for multiple in range(((1 << bits) - 2) // step, (1 << (bits - 1)) // step, -1):
        if is_prime(multiple * step + 1):
            return multiple * step + 1
    raise ParameterError(
        f"no prime of {bits} bits is 1 modulo {step}: take wider words, a smaller degree or "
        "shorter rounds"
    )


def root_of_unity(q: int, order: int) -> int:
    """A primitive root of unity modulo the prime q, of an order that is a power of 2."""
    if (q - 1) % order:
        raise ParameterError(
            f"modulus {q} has no roots of order {order}: expected a prime that is 1 modulo {order}"
        )
    for base in range(2, q):
        root = pow(base, (q - 1) // order, q)
        if pow(root, order // 2, q) == q - 1:
            return root
    raise ParameterError(f"modulus {q} is no prime")


def powers(root: int, count: int, q: int) -> Words:
    """root^0 to root^(count - 1) modulo q, for q below 2^64."""
    result = [1]
    for _ in range(count - 1):
        result.append(result[-1] * root % q)
    return np.array(result, dtype=np.uint64)


def multiply(a: Words, b: Words, q: int) -> Words:
    """a b modulo q, word by word, for q below 2^42: in two parts if 64 bits do not hold a b."""
    modulus, half = np.uint64(q), np.uint64(21)
    if q >= 1 << 32:
        high = a * (b >> half) % modulus << half
        product: Words = high + a * (b & np.uint64((1 << 21) - 1))
    else:
        product = a * b
    return product % modulus


def transform(words: Sequence[int] | Words, q: int, psi: int) -> Words:
    """X_j = sum over i of a_i psi^((2 j + 1) i): the definition, N^2 products."""
    a = np.asarray(words, dtype=np.uint64)
    n = len(a)
    table = powers(psi, 2 * n, q)
    place = np.arange(n, dtype=np.int64)
    modulus = np.uint64(q)
    terms = (
        multiply(a, table[((2 * j + 1) * place) % (2 * n)], q).sum(dtype=np.uint64) % modulus
        for j in range(n)
    )
    return np.fromiter(terms, dtype=np.uint64, count=n)


def inverse_transform(words: Sequence[int] | Words, q: int, psi: int) -> Words:
    """a_i = 1/N sum over j of X_j psi^(-(2 j + 1) i): the definition."""
    x = np.asarray(words, dtype=np.uint64)
    n = len(x)
    table = powers(pow(psi, -1, q), 2 * n, q)
    place = 2 * np.arange(n, dtype=np.int64) + 1
    modulus = np.uint64(q)
    terms = (
        multiply(x, table[(i * place) % (2 * n)], q).sum(dtype=np.uint64) % modulus
        for i in range(n)
    )
    scale = np.array([pow(n, -1, q)], dtype=np.uint64)
    return multiply(np.fromiter(terms, dtype=np.uint64, count=n), scale, q)


def reversed_bits(index: int, bits: int) -> int:
    return int(f"{index:0{bits}b}"[::-1], 2) if bits else 0


def log2(value: int, what: str) -> int:
    """The logarithm of a power of 2.

    Raises
    ------
    ParameterError
        If it is none.
    """
    if value < 1 or value & (value - 1):
        raise ParameterError(f"{what} {value}: expected a power of 2")
    return value.bit_length() - 1
