"""Basis conversion: from residues in one basis to residues in another, as traces define it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from palladion.xla.kernels.bat import Product, sum_axis
from palladion.xla.kernels.kernel import Words
from palladion.xla.kernels.words import BITS, Residues, column, montgomery, of_rows

Pair = tuple[Sequence[int], Sequence[int]]
"""Indices of the primes of the source basis, and of the target basis."""

POINT = 56
"""Bits after the binary point of the fixed-point quotient."""


class Bases(NamedTuple):
    """Conversions, as the plan of a trace has them. The first axis counts conversions.

    All have equally many rows. Zeros fill the rows after a conversion's last prime.
    """

    source: Words
    """Indices of the primes of the source basis: ``[K, S]``."""
    target: Words
    """Indices of the primes of the target basis: ``[K, T]``."""
    hat: Words
    """``(Q/q_i)^-1 mod q_i``: ``[K, S]``."""
    matrix: Words
    """``Q/q_i mod p_j``, then ``-Q mod p_j``: ``[K, T, S + 1]``."""

    @classmethod
    def of(cls, moduli: Words, pairs: Sequence[Pair]) -> Bases:
        """The conversions between bases of some of the moduli."""
        count = len(pairs)
        sources, targets = (max(len(pair[side]) for pair in pairs) for side in (0, 1))
        source, hat = np.zeros((2, count, sources), np.uint32)
        target = np.zeros((count, targets), np.uint32)
        matrix = np.zeros((count, targets, sources + 1), np.uint32)
        for k, (from_, to) in enumerate(pairs):
            source[k, : len(from_)], target[k, : len(to)] = from_, to
            primes = [int(moduli[i]) for i in from_]
            whole = prod(primes)
            hat[k, : len(from_)] = [pow(whole // q, -1, q) for q in primes]
            for row, index in enumerate(to):
                p = int(moduli[index])
                matrix[k, row, : len(from_)] = [whole // q % p for q in primes]
                matrix[k, row, -1] = -whole % p
        return cls(source, target, hat, matrix)


class Conversions(NamedTuple):
    """The tables of conversions. The first axis counts conversions, except in ``residues``."""

    residues: Residues
    source: jax.Array | Words
    target: jax.Array | Words
    hat: jax.Array | Words
    """``(Q/q_i)^-1 mod q_i`` times 2^32, ``[K, S]``: 0 beyond the last prime."""
    shift: jax.Array | Words
    """32 minus the bits of ``q_i``."""
    reciprocal: jax.Array | Words
    """``2^(31 + bits) / q_i``, rounded down."""
    single: jax.Array | Words
    """1 for a basis of one prime, ``[K, 1]``."""
    matrix: Any
    """The table of the matrix product for :attr:`Bases.matrix`."""


@dataclass(frozen=True)
class Convert:
    """Rows ``u32[G, S, N]`` of each group to ``u32[G, T, N]``, by the group's conversion."""

    way: Product

    @property
    def name(self) -> str:
        """The way of the matrix product."""
        return self.way.name

    def tables(self, moduli: Words, n: int, bases: Bases) -> Conversions:
        """The tables of conversions between bases of some of the moduli."""
        wide = moduli.astype(np.uint64)
        q = wide[bases.source]
        bits = np.frompyfunc(int.bit_length, 1, 1)(q.astype(object)).astype(np.uint64)
        matrices = [
            self.way.table(matrix.astype(np.uint64), wide[to])
            for matrix, to in zip(bases.matrix, bases.target, strict=True)
        ]
        known = (
            (bases.hat.astype(np.uint64) << BITS) % q,
            BITS - bits,
            (np.uint64(1) << (np.uint64(31) + bits)) // q,
            np.count_nonzero(bases.hat, axis=1)[:, None] == 1,
        )
        hat, shift, reciprocal, single = (words.astype(np.uint32) for words in known)
        indices = (bases.source, bases.target)
        factors = (hat, shift, reciprocal, single, np.stack(matrices))
        return Conversions(Residues.of(moduli), *indices, *factors)

    def apply(self, tables: Conversions, conversion: jax.Array, values: jax.Array) -> jax.Array:
        """The converted rows. Rows after the last prime of a conversion have no meaning."""
        residues, source = tables.residues, of_rows(tables.source, conversion)
        q, inverse = (column(words, source) for words in (residues.q, residues.inverse))
        hat, shift, reciprocal = (
            of_rows(words, conversion)[..., None]
            for words in (tables.hat, tables.shift, tables.reciprocal)
        )
        y = montgomery(values, hat, inverse, q)
        words = self.way.centre(y, q)
        # Each word from which the prime was subtracted lowers the sum of quotients by one.
        quotients = self._quotients(y, q, shift, reciprocal, tables, conversion)
        quotients = quotients - jnp.sum(words != y, axis=1, dtype=jnp.uint32)
        inner = jnp.concatenate([words, quotients[:, None]], axis=1)
        target = of_rows(tables.target, conversion)
        matrix = of_rows(tables.matrix, conversion)
        return self.way.product(matrix, inner, "left", residues.rows(target))

    def _quotients(
        self,
        y: jax.Array,
        q: jax.Array,
        shift: jax.Array,
        reciprocal: jax.Array,
        tables: Conversions,
        conversion: jax.Array,
    ) -> jax.Array:
        """The quotients by the product of the primes, ``u32[G, N]``."""
        fixed = (y << shift).astype(jnp.uint64) * reciprocal.astype(jnp.uint64)
        sums = sum_axis(fixed >> np.uint64(63 - POINT), 1) + np.uint64(1 << (POINT - 1))
        several = (sums >> np.uint64(POINT)).astype(jnp.uint32)
        one = (y[:, 0] > q[:, 0] >> np.uint32(1)).astype(jnp.uint32)
        return jnp.where(of_rows(tables.single, conversion) == 1, one, several)
