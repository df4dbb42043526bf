"""Extracts words from several rows, as ``Op::Extract`` of a trace defines it."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from palladion.xla.kernels.words import OfResidues, Residues, column


@dataclass(frozen=True)
class Extract(OfResidues):
    """Word ``s`` is coefficient ``at[s] mod N`` of ``X^(gap entries[s])`` times an operand, or 0 if
    ``at[s]`` is negative. Operands are ``u32[B, V, N]``. Word ``s`` reads the operand
    ``at[s] / N``.

    ``at`` and ``entries`` are rows of ``places``, whose halves are rotated left by some steps. The
    words of an instruction are ``i32[B, 5]``: at, its steps, entries, their steps, and the gap."""

    name = "gather"

    def apply(
        self,
        tables: Residues,
        prime: jax.Array,
        places: jax.Array,
        words: jax.Array,
        values: jax.Array,
    ) -> jax.Array:
        """The words ``u32[B, N]``."""
        rows, _, n = values.shape
        at = rotate_halves(places, words[:, 0], words[:, 1])
        entries = rotate_halves(places, words[:, 2], words[:, 3])
        # Products that wrap are right, as the modulus is a power of two.
        last = jnp.int32(2 * n - 1)
        place = ((at & (n - 1)) - entries * words[:, 4:]) & last
        source = jnp.maximum((at // n) * n + (place & (n - 1)), 0)
        result = jnp.take_along_axis(values.reshape(rows, -1), source, axis=1)
        result = jnp.where(at < 0, jnp.uint32(0), result)
        return jnp.where((place >= n) & (result != 0), column(tables.q, prime) - result, result)


def rotate_halves(places: jax.Array, index: jax.Array, steps: jax.Array) -> jax.Array:
    """Rows of ``places``, with both halves rotated left."""
    half = places.shape[1] // 2
    own = jnp.arange(places.shape[1], dtype=jnp.int32)
    source = (own & half) | ((own + steps[:, None]) & (half - 1))
    rotated: jax.Array = jnp.take_along_axis(places[index], source, axis=1)
    return rotated
