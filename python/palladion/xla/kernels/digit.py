"""Digits of centred residues."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from palladion.xla.kernels.words import OfResidues, Residues, column


@dataclass(frozen=True)
class Digit(OfResidues):
    """Digit ``index[B]`` of each centred residue, of ``count[B]`` digits of ``bits[B]`` bits.

    The size of the residue plus half a digit at each place but the last is a number whose digits
    are the wanted ones plus a half."""

    name = "u64"

    def apply(
        self,
        tables: Residues,
        prime: jax.Array,
        c: jax.Array,
        index: jax.Array,
        bits: jax.Array,
        count: jax.Array,
    ) -> jax.Array:
        """The digits modulo the primes."""
        one = jnp.uint64(1)
        q, index, bits, count = (
            words.astype(jnp.uint64).reshape(-1, 1)
            for words in (column(tables.q, prime), index, bits, count)
        )
        wide = c.astype(jnp.uint64)
        negative = wide > q >> one
        size = jnp.where(negative, q - wide, wide)
        half, ones = one << (bits - one), (one << (bits * (count - one))) - one
        # Half a digit at each place below the last: B/2 (B^(count-1) - 1) / (B - 1).
        raised = size + ones // ((one << bits) - one) * half
        last = index + one == count
        shifted = raised >> (bits * index)
        digit = jnp.where(last, shifted, (shifted & ((one << bits) - one)) - half)
        # Below 0 modulo 2^64: the sign of the digit, and that of the residue.
        digit = jnp.where(negative, jnp.uint64(0) - digit, digit).astype(jnp.int64)
        wrapped = jnp.where(digit < 0, digit + q.astype(jnp.int64), digit)
        return wrapped.astype(jnp.uint32)
