"""Products word by word through bytes, as in CROSS, for comparison with products of whole words.

A word is four chunks of 8 bits, and a product of two words is sixteen products of chunks, which
have seven weights ``2^(8 w)``. There are two ways on:

- *Full*: the sums are added up by weight to a product of 64 bits, which is reduced.
- *Lazy*: the sums of the upper three weights are multiplied by ``2^(8 w) mod q``. This form
  has no carry, and one reduction at the end.

If one factor is known, its multiples ``2^(8 d) f mod q`` take the place of the weights: the
basis-aligned transformation of one word. Then a product is four products of a chunk and a word, and
one lazy reduction.

Source: Tong et al., "Leveraging ASIC AI chips for homomorphic encryption" (CROSS), section 4.1,
<https://arxiv.org/abs/2501.07047>.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from palladion.xla.kernels.kernel import Words
from palladion.xla.kernels.words import BITS, OfResidues, Residues, high64, of_rows, remainder

CHUNKS: Final = 4
WEIGHTS: Final = 2 * CHUNKS - 1
LOW: Final = 0xFF
SUM: Final = CHUNKS * LOW * LOW
"""The largest sum of a weight."""


class Weights(NamedTuple):
    """Constants of the moduli, and ``2^(8 w) mod q`` of the upper weights: ``u32[P, 3]``."""

    residues: Residues
    upper: jax.Array | Words


def cut_chunks(words: jax.Array) -> list[jax.Array]:
    """The four bytes of words, the lowest first, as words of 64 bits."""
    wide = words.astype(jnp.uint64)
    return [(wide >> np.uint64(8 * d)) & np.uint64(LOW) for d in range(CHUNKS)]


@dataclass(frozen=True)
class MulChunks:
    """``a b`` word by word."""

    lazy: bool

    @property
    def name(self) -> str:
        """The variant: the lazy one has no carries, and one reduction at the end."""
        return "chunks-lazy" if self.lazy else "chunks"

    def tables(self, moduli: Words, n: int | None = None) -> Weights:
        """The constants of the moduli, whatever ``n``."""
        residues = Residues.of(moduli)
        powers = [[pow(2, 8 * w, int(q)) for w in range(CHUNKS, WEIGHTS)] for q in moduli]
        return Weights(residues, np.array(powers, np.uint32).reshape(-1, WEIGHTS - CHUNKS))

    def apply(self, tables: Weights, prime: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        """The products of rows."""
        left, right = cut_chunks(a), cut_chunks(b)
        sums = [jnp.zeros_like(left[0])] * WEIGHTS
        for i in range(CHUNKS):
            for j in range(CHUNKS):
                sums[i + j] = sums[i + j] + left[i] * right[j]
        low = sum_by_weight(sums[:CHUNKS])
        division = tables.residues.division.rows(prime)
        if self.lazy:
            own = of_rows(tables.upper, prime).astype(jnp.uint64)
            for w in range(CHUNKS, WEIGHTS):
                low = low + sums[w] * own[:, w - CHUNKS, None]
            return remainder(low, division, WEIGHTS * SUM << 32)
        upper = sum_by_weight(sums[CHUNKS:]) + (low >> BITS)
        # The upper word of a product of two residues is below the prime.
        return division.divide(upper.astype(jnp.uint32), low.astype(jnp.uint32))[1]


@dataclass(frozen=True)
class ScaleAligned(OfResidues):
    """A row times a word of its own. The word's multiples are computed once for the row."""

    name = "bat-lazy"

    def apply(
        self, tables: Residues, prime: jax.Array, a: jax.Array, factor: jax.Array
    ) -> jax.Array:
        """The products of rows with their words."""
        division = tables.division.rows(prime)
        multiple, sums = factor[:, None], jnp.zeros(a.shape, jnp.uint64)
        for d, chunk in enumerate(cut_chunks(a)):
            if d:
                step = jnp.full_like(multiple, 1 << 8)
                multiple = division.divide(high64(multiple, step), multiple * step)[1]
            sums = sums + chunk * multiple.astype(jnp.uint64)
        return remainder(sums, division, CHUNKS * LOW << 32)


def sum_by_weight(sums: list[jax.Array]) -> jax.Array:
    """Adds sums up by weight. The lowest weight comes first."""
    total = sums[0]
    for w, part in enumerate(sums[1:], 1):
        total = total + (part << np.uint64(8 * w))
    return total
