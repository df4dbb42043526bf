"""Inner products in one kernel of Pallas. Digits times keys take most of the time of a key switch.

On a GPU the kernel reads rows from the store by their numbers. It reads a row once and writes
the result only. XLA copies all operands first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from palladion.xla.kernels.kernel import Words
from palladion.xla.kernels.modular import add_product, remainder_of
from palladion.xla.kernels.pallas import OfPallas
from palladion.xla.kernels.words import HIGH, Division, Residues

WORDS: Final = 1024
"""Words of a block."""
CONSTANTS: Final = 3
"""Numbers of each prime: the constants of a division."""


@dataclass(frozen=True)
class PallasDot(OfPallas):
    """``sum_t left_t right_t``, for operands ``u32[B, T, N]``, or for rows of the store."""

    def tables(self, moduli: Words, n: int | None = None) -> Residues:
        """The constants of the moduli, whatever ``n``."""
        return Residues.of(moduli)

    @property
    def reads_store(self) -> bool:
        """True if :meth:`of_store` is faster than reading rows first."""
        return self.unit == "gpu"

    def apply(
        self, tables: Residues, prime: jax.Array, left: jax.Array, right: jax.Array
    ) -> jax.Array:
        """The inner products of rows."""
        count, terms, n = left.shape
        if self.unit == "gpu":
            rows = jnp.arange(2 * count * terms, dtype=jnp.int32).reshape(2, count, terms)
            store = jnp.concatenate([left, right]).reshape(-1, n)
            return self.of_store(tables, prime, store, rows.swapaxes(0, 1).reshape(count, -1))
        words = min(WORDS, n)

        def body(primes: Any, numbers: Any, one: Any, other: Any, out: Any) -> None:
            def term(t: Any) -> tuple[Any, Any]:
                return one[pl.ds(t, 1), :], other[pl.ds(t, 1), :]

            p = primes[pl.program_id(0)]
            out[...] = self._sum(numbers, p, terms, (1, words), term)

        spec = pl.BlockSpec((None, terms, words), lambda b, j, *_: (b, 0, j))
        out = pl.BlockSpec((None, 1, words), lambda b, j, *_: (b, 0, j))
        run = self.call(body, (count, n // words), [spec, spec], (out, (count, 1, n)), scalars=2)
        return run(prime, numbers_of(tables), left, right)[:, 0]

    def of_store(
        self, tables: Residues, prime: jax.Array, store: jax.Array, rows: jax.Array
    ) -> jax.Array:
        """The inner products of the store's rows ``i32[B, 2 T]``. The left operands come first."""
        count, terms, n = len(rows), rows.shape[1] // 2, store.shape[1]
        words = min(WORDS, n)

        def body(primes: Any, numbers: Any, read: Any, all_rows: Any, out: Any) -> None:
            row, block = pl.program_id(0), pl.program_id(1)
            some = pl.ds(block * words, words)

            def term(t: Any) -> tuple[Any, Any]:
                return all_rows[read[row, t], some], all_rows[read[row, terms + t], some]

            out[...] = self._sum(numbers, primes[row], terms, (words,), term)

        spec = pl.BlockSpec((None, words), lambda b, j: (b, j))
        specs = [pl.no_block_spec, pl.no_block_spec]
        run = self.call(body, (count, n // words), specs, (spec, (count, n)), scalars=2)
        return run(prime, numbers_of(tables), rows, store)

    def _sum(self, numbers: Any, p: Any, terms: int, shape: tuple[int, ...], term: Any) -> Any:
        """The residues of a sum of products, whose factors ``term`` reads."""
        high = HIGH[self.bits]
        zeros = jnp.zeros(shape, jnp.uint32)

        def one_more(t: Any, sums: Any) -> Any:
            a, b = term(t)
            return add_product(sums, a, b, high)

        sums = jax.lax.fori_loop(0, terms, one_more, (zeros, zeros, zeros))
        division = Division(*(numbers[CONSTANTS * p + k] for k in range(CONSTANTS)))
        return remainder_of(sums, division, high)


def numbers_of(tables: Residues) -> jax.Array:
    """The constants of divisions, prime after prime."""
    return jnp.stack([jnp.asarray(part) for part in tables.division], axis=1).reshape(-1)
