"""Digits of centred residues."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from palladion.xla.kernels.words import OfResidues, Residues, column


@dataclass(frozen=True)
class Digit(OfResidues):
    """Digit ``index[B]`` of each centred residue, of ``count[B]`` digits of ``bits[B]`` bits.

    Half of the base is added to the residue's absolute value at each place but the last. The digits
    of this sum are the wanted digits plus half of the base."""

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
        # Half of the base at each place below the last: B/2 (B^(count-1) - 1) / (B - 1).
        raised = size + ones // ((one << bits) - one) * half
        last = index + one == count
        shifted = raised >> (bits * index)
        digit = jnp.where(last, shifted, (shifted & ((one << bits) - one)) - half)
        # Negative digits are numbers modulo 2^64. The residue's sign is applied to the digit.
        digit = jnp.where(negative, jnp.uint64(0) - digit, digit).astype(jnp.int64)
        wrapped = jnp.where(digit < 0, digit + q.astype(jnp.int64), digit)
        return wrapped.astype(jnp.uint32)
