"""Sums and products modulo the prime of a row, word by word.

Products are reduced in three ways. *Barrett* divides the product of 64 bits by a constant
reciprocal (:meth:`words.Division.divide`). *Montgomery* multiplies by 2^-32. Two unknown factors
need a second product, with 2^64. A known factor is multiplied by 2^32 first. *Shoup* divides a
known factor first.

*Chunks* are CROSS's products of bytes, for comparison: slower on every machine whose words multiply
whole (``chunks.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import jax
import jax.numpy as jnp

from palladion.xla.kernels.words import (
    BITS,
    HIGH,
    Division,
    High,
    OfResidues,
    Residues,
    add,
    column,
    montgomery,
    sub,
)

Bits = Literal["u64", "u32"]
Sums: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]
"""Words of a sum, the lowest first."""

TERMS: Final = 16
"""Terms of an inner product in one kernel of XLA. With more terms it takes long to compile."""


@dataclass(frozen=True)
class Add(OfResidues):
    """``a + b``."""

    name = "compare"

    def apply(self, tables: Residues, prime: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        """The sums of rows."""
        return add(a, b, column(tables.q, prime))


@dataclass(frozen=True)
class Sub(OfResidues):
    """``a - b``."""

    name = "compare"

    def apply(self, tables: Residues, prime: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        """The differences of rows."""
        return sub(a, b, column(tables.q, prime))


@dataclass(frozen=True)
class Mul(OfResidues):
    """``a b`` word by word."""

    reduction: Literal["barrett", "montgomery"]
    bits: Bits

    @property
    def name(self) -> str:
        """Reduction and words of products."""
        return f"{self.reduction}-{self.bits}"

    def apply(self, tables: Residues, prime: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        """The products of rows."""
        high = HIGH[self.bits]
        if self.reduction == "barrett":
            division = tables.division.rows(prime)
            return division.divide(high(a, b), a * b, high)[1]
        q, inverse = column(tables.q, prime), column(tables.inverse, prime)
        product = montgomery(a, b, inverse, q, high)
        return montgomery(product, column(tables.square, prime), inverse, q, high)


@dataclass(frozen=True)
class Dot(OfResidues):
    """``sum_t left_t right_t``, for operands ``u32[B, T, N]``."""

    bits: Bits

    @property
    def name(self) -> str:
        """Words of products."""
        return f"barrett-{self.bits}"

    def apply(
        self, tables: Residues, prime: jax.Array, left: jax.Array, right: jax.Array
    ) -> jax.Array:
        """The inner products of rows."""
        q = column(tables.q, prime)
        total = None
        for start in range(0, left.shape[1], TERMS):
            some = slice(start, start + TERMS)
            part = self._some(tables, prime, left[:, some], right[:, some])
            total = part if total is None else add(total, part, q)
        assert total is not None, "an inner product has at least one term"
        return total

    def _some(
        self, tables: Residues, prime: jax.Array, left: jax.Array, right: jax.Array
    ) -> jax.Array:
        """The sum of at most ``TERMS`` products, in three words that are reduced once."""
        high = HIGH[self.bits]
        sums = (jnp.zeros_like(left[:, 0]),) * 3
        for t in range(left.shape[1]):
            sums = add_product(sums, left[:, t], right[:, t], high)
        return remainder_of(sums, tables.division.rows(prime), high)


def add_product(sums: Sums, a: jax.Array, b: jax.Array, high: High) -> Sums:
    """Adds a product of residues to a sum of three words."""
    low, middle, top = sums
    product = a * b
    low = low + product
    # The upper half of a product of residues is at most 2^32 - 3: the carry fits.
    upper = high(a, b) + (low < product)
    middle = middle + upper
    return low, middle, top + (middle < upper)


def remainder_of(sums: Sums, division: Division, high: High) -> jax.Array:
    """Residues of sums of less than 2^16 products."""
    low, middle, top = sums
    _, rest = division.divide(top, middle, high)  # the number of terms is below every prime
    return division.divide(rest, low, high)[1]


@dataclass(frozen=True)
class Scale(OfResidues):
    """A row times a word of its own: ``factor`` is ``u32[B]``, each below its row's prime."""

    reduction: Literal["barrett", "montgomery", "shoup"]
    bits: Bits

    @property
    def name(self) -> str:
        """Reduction and words of products."""
        return f"{self.reduction}-{self.bits}"

    def apply(
        self, tables: Residues, prime: jax.Array, a: jax.Array, factor: jax.Array
    ) -> jax.Array:
        """The products of rows with their words."""
        high, factor = HIGH[self.bits], factor[:, None]
        division, q = tables.division.rows(prime), column(tables.q, prime)
        if self.reduction == "barrett":
            return division.divide(high(a, factor), a * factor, high)[1]
        quotient, rest = division.divide(factor, jnp.zeros_like(factor), high)
        if self.reduction == "montgomery":
            return montgomery(a, rest, column(tables.inverse, prime), q, high)
        # The remainder is below 2 q and may take 33 bits: Shoup's product must have 64 bits.
        wide, modulus = a.astype(jnp.uint64), q.astype(jnp.uint64)
        guess = (wide * quotient.astype(jnp.uint64)) >> BITS
        difference = wide * factor.astype(jnp.uint64) - guess * modulus
        return jnp.minimum(difference, difference - modulus).astype(jnp.uint32)
