"""Moves words to other places, with signs: automorphisms, slots, products with ``X^e``.

A permutation is a row of sources. The source of a word of the result is the index of the operands'
word that goes there, plus 2^31 if its sign changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from palladion.waves.roots import bit_reversed
from palladion.xla.kernels.kernel import Words
from palladion.xla.kernels.words import OfResidues, Residues, column

Places = npt.NDArray[np.int64]

SIGN: Final = np.uint32(1 << 31)

GENERATOR: Final = 5
"""Slots ``0, .., N/2 - 1`` have the values at powers of the root whose exponents are powers of 5.
The other slots have the values at the inverse powers."""


def evaluation(n: int, element: int) -> Words:
    """Sources of ``X -> X^element`` in the evaluation domain."""
    reverse = bit_reversed(n)
    return reverse[(2 * reverse + 1) * element % (2 * n) // 2].astype(np.uint32)


def coefficients(n: int, element: int) -> Words:
    """Sources of ``X -> X^element`` on coefficients."""
    return _sources(n, np.arange(n) * pow(element, -1, 2 * n))


def slots(n: int) -> Words:
    """Sources that turn the order by slot into the order of the evaluation domain."""
    exponents = np.ones(n, np.int64)
    for column_ in range(1, n // 2):
        exponents[column_] = exponents[column_ - 1] * GENERATOR % (2 * n)
    exponents[n // 2 :] = 2 * n - exponents[: n // 2]
    sources = np.empty(n, np.uint32)
    sources[bit_reversed(n)[(exponents - 1) // 2]] = np.arange(n)
    return sources


def _sources(n: int, exponent: Places) -> Words:
    """The sources of coefficients of ``X^exponent``, where ``X^n = -1``."""
    exponent = exponent % (2 * n)
    return (exponent % n + np.where(exponent < n, 0, SIGN)).astype(np.uint32)


@dataclass(frozen=True)
class Permute(OfResidues):
    """Permutes the words of ``u32[B, V, N]`` to ``u32[B, N]``.

    The sources of entry ``b`` are the row ``which[b]`` of ``u32[K, N]``.
    """

    name = "gather"

    def apply(
        self,
        tables: Residues,
        prime: jax.Array,
        sources: jax.Array,
        which: jax.Array,
        values: jax.Array,
    ) -> jax.Array:
        """The words at the sources."""
        return move_words(values.reshape(len(values), -1), sources[which], column(tables.q, prime))


@dataclass(frozen=True)
class Turn(OfResidues):
    """Rows of coefficients times ``X^e``. Each row has its own exponent: ``u32[B]``."""

    name = "gather"

    def apply(
        self, tables: Residues, prime: jax.Array, values: jax.Array, exponent: jax.Array
    ) -> jax.Array:
        """The products."""
        n = values.shape[1]
        last = jnp.uint32(2 * n - 1)
        place = (jnp.arange(n, dtype=jnp.uint32) - exponent[:, None]) & last
        sign = jnp.where(place >= n, SIGN, jnp.uint32(0))
        return move_words(values, (place & jnp.uint32(n - 1)) | sign, column(tables.q, prime))


def move_words(values: jax.Array, sources: jax.Array, q: jax.Array) -> jax.Array:
    """The words of ``values`` at ``sources``, row by row."""
    index = (sources & (SIGN - np.uint32(1))).astype(jnp.int32)
    words = jnp.take_along_axis(values, index, axis=1, mode="promise_in_bounds")
    return jnp.where((sources >= SIGN) & (words != 0), q - words, words)
