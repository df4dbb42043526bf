"""Arithmetic on residues in words of 32 bits, for all kernels.

Primes may take all 32 bits, so a sum of two residues may not fit a word. Sums compare first.

``High`` is the upper half of a product of two words, in one of two ways: with words of 64 bits,
which LLVM turns into ``vpmuludq``, or with halves of 16 bits on machines whose words have 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from palladion.xla.kernels.kernel import SMALLEST, Wide, Words, check_moduli

High: TypeAlias = Callable[[jax.Array, jax.Array], jax.Array]

BITS: Final = np.uint64(32)


def high64(a: jax.Array, b: jax.Array) -> jax.Array:
    """The upper 32 bits of a product, through a product of 64 bits."""
    product = a.astype(jnp.uint64) * b.astype(jnp.uint64)
    return (product >> BITS).astype(jnp.uint32)


def high32(a: jax.Array, b: jax.Array) -> jax.Array:
    """The upper 32 bits of a product, through products of 16 bits by 16 bits."""
    half = jnp.uint32(16)
    low = jnp.uint32(0xFFFF)
    (a0, a1), (b0, b1) = (a & low, a >> half), (b & low, b >> half)
    # Each sum is at most (2^16 - 1)^2 + 2 (2^16 - 1), which fits a word.
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    upper: jax.Array = a1 * b1 + (middle >> half) + (other >> half)
    return upper


HIGH: Final[dict[str, High]] = {"u64": high64, "u32": high32}


def add(a: jax.Array, b: jax.Array, q: jax.Array) -> jax.Array:
    """``a + b mod q``, for ``a`` and ``b`` below ``q``."""
    return a + b - jnp.where(a >= q - b, q, jnp.uint32(0))


def sub(a: jax.Array, b: jax.Array, q: jax.Array) -> jax.Array:
    """``a - b mod q``, for ``a`` and ``b`` below ``q``."""
    return a - b + jnp.where(a < b, q, jnp.uint32(0))


def montgomery(
    a: jax.Array, factor: jax.Array, inverse: jax.Array, q: jax.Array, high: High = high64
) -> jax.Array:
    """``a factor / 2^32 mod q``, for any word ``a`` and ``factor`` below ``q``.

    ``inverse`` is ``q^-1 mod 2^32``. The products ``a factor`` and ``m q`` agree in their lower
    halves, so the difference of their upper halves is the exact quotient by 2^32, in ``(-q, q)``.
    """
    m = a * factor * inverse
    x, y = high(a, factor), high(m, q)
    difference = x - y
    # It is negative where it differs from ``max(x - y, 0)``. LLVM would compare ``x`` and ``y``
    # themselves as words of 64 bits, which took 4 to 18 % longer in a transform.
    saturated = jnp.maximum(x, y) - y
    return difference + jnp.where(difference != saturated, q, jnp.uint32(0))


class Division(NamedTuple):
    """The constants for the division of a pair of words by a prime."""

    shift: jax.Array | Words
    """Number of bits by which the prime is shifted left, so that its highest bit is set."""
    divisor: jax.Array | Words
    """The prime, shifted."""
    reciprocal: jax.Array | Words
    """``floor((2^64 - 1) / divisor) - 2^32``."""

    @classmethod
    def of(cls, moduli: list[int]) -> Division:
        """The constants of some moduli."""
        shift = [32 - q.bit_length() for q in moduli]
        divisor = [q << s for q, s in zip(moduli, shift, strict=True)]
        reciprocal = [((1 << 64) - 1) // d - (1 << 32) for d in divisor]
        return cls(*(np.array(words, np.uint32) for words in (shift, divisor, reciprocal)))

    def rows(self, prime: jax.Array, axes: int = 1) -> Division:
        """The constants of each row's prime, with ``axes`` more axes of length 1."""
        return Division(*(column(words, prime, axes) for words in self))

    def divide(
        self, upper: jax.Array, lower: jax.Array, high: High = high64
    ) -> tuple[jax.Array, jax.Array]:
        """Quotient and remainder of ``2^32 upper + lower``, where ``upper`` is below the prime.

        Source: Moeller and Granlund, "Improved division by invariant integers", IEEE Transactions
        on Computers 2011, algorithm 4. The first guess of the quotient is wrong by at most
        one.
        """
        one, divisor = jnp.uint32(1), jnp.asarray(self.divisor)
        shift, reciprocal = jnp.asarray(self.shift), jnp.asarray(self.reciprocal)
        # Two shifts, since a shift by 32 bits is undefined.
        upper = (upper << shift) | ((lower >> one) >> (jnp.uint32(31) - shift))
        lower = lower << shift
        low = reciprocal * upper + lower
        carry = (low < lower).astype(jnp.uint32)
        quotient = high(reciprocal, upper) + upper + carry + one
        rest = lower - quotient * divisor
        over = rest > low
        quotient, rest = quotient - over, rest + jnp.where(over, divisor, jnp.uint32(0))
        under = rest >= divisor
        quotient, rest = quotient + under, rest - jnp.where(under, divisor, jnp.uint32(0))
        return quotient, rest >> shift


def remainder(z: jax.Array, division: Division, bound: int) -> jax.Array:
    """``z mod q`` of words of 64 bits, below ``bound + q``."""
    upper, lower = (z >> BITS).astype(jnp.uint32), z.astype(jnp.uint32)
    if (bound >> 32) + 1 >= SMALLEST:
        upper = division.divide(jnp.zeros_like(upper), upper)[1]
    return division.divide(upper, lower)[1]


class Residues(NamedTuple):
    """Constants of Montgomery's product, and of division."""

    q: jax.Array | Words
    inverse: jax.Array | Words
    """``q^-1 mod 2^32``."""
    square: jax.Array | Words
    """``2^64 mod q``."""
    division: Division

    @classmethod
    def of(cls, moduli: Words) -> Residues:
        """The constants of some moduli."""
        primes = check_moduli(moduli)
        inverse = [pow(q, -1, 1 << 32) for q in primes]
        square = [(1 << 64) % q for q in primes]
        q, low, high = (np.array(each, np.uint32) for each in (primes, inverse, square))
        return cls(q, low, high, Division.of(primes))

    def rows(self, prime: jax.Array, axes: int = 1) -> Residues:
        """The constants of each row's prime, with ``axes`` more axes of length 1."""
        q, inverse, square = (
            column(words, prime, axes) for words in (self.q, self.inverse, self.square)
        )
        return Residues(q, inverse, square, self.division.rows(prime, axes))


class OfResidues:
    """The base of kernels whose tables are only the constants of the moduli."""

    def tables(self, moduli: Words, n: int | None = None) -> Residues:
        """The constants of the moduli, whatever ``n``."""
        return Residues.of(moduli)


def column(words: jax.Array | Words, prime: jax.Array, axes: int = 1) -> jax.Array:
    """The word of each row's prime, with ``axes`` more axes of length 1."""
    entries = of_rows(words, prime)
    return entries.reshape(*entries.shape, *[1] * axes)


def of_rows(table: jax.Array | Words, prime: jax.Array) -> jax.Array:
    """The entry of each row's prime.

    XLA computes a gather of two rows or more once. It would fuse a gather of one row into every
    kernel that reads the row, and a transform of one row would take five times as long on a CPU.
    For this reason the function gathers one more row."""
    again = jnp.concatenate([prime, prime[:1]])
    return jnp.asarray(table)[again][: len(prime)]


def to_montgomery(words: Wide, q: int) -> Wide:
    """``2^32 words mod q`` on the host."""
    return (words << BITS) % np.uint64(q)
