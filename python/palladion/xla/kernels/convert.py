"""Basis conversion: residues in one basis from those in another, exactly as traces define it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from palladion.xla.kernels.bat import Product
from palladion.xla.kernels.kernel import Words
from palladion.xla.kernels.words import Residues, montgomery, to_montgomery

Bases = tuple[Sequence[int], Sequence[int]]
"""Indices of the primes that are converted from, and of those that are converted to."""

POINT = 56
"""Bits after the binary point of the fixed-point quotient."""


class Conversions(NamedTuple):
    """Tables of some conversions. The first axis counts conversions, but for ``residues``."""

    residues: Residues
    source: jax.Array | Words
    """Primes that are converted from, ``[K, S]``, where 0 stands beyond the last one."""
    target: jax.Array | Words
    """Primes that are converted to, ``[K, T]``, likewise."""
    hat: jax.Array | Words
    """``(Q/q_i)^-1 mod q_i`` times 2^32, ``[K, S]``: 0 beyond the last prime."""
    shift: jax.Array | Words
    """32 minus the bits of ``q_i``."""
    reciprocal: jax.Array | Words
    """``2^(31 + bits) / q_i``, rounded down: 0 beyond the last prime."""
    single: jax.Array | Words
    """1 for a basis of one prime, ``[K, 1]``."""
    matrix: Any
    """What the matrix product knows of ``Q/q_i mod p_j``, then ``-Q mod p_j``."""


@dataclass(frozen=True)
class Convert:
    """Rows ``u32[G, S, N]`` of each group to ``u32[G, T, N]``, by the group's conversion."""

    way: Product

    @property
    def name(self) -> str:
        """The way of the matrix product."""
        return self.way.name

    def tables(self, moduli: Words, n: int, conversions: Sequence[Bases]) -> Conversions:
        """The tables of conversions between bases of some of the moduli."""
        sources = max(len(source) for source, _ in conversions)
        targets = max(len(target) for _, target in conversions)
        count = len(conversions)
        source, hat, shift, reciprocal = np.zeros((4, count, sources), np.uint32)
        target = np.zeros((count, targets), np.uint32)
        single = np.array([[len(source) == 1] for source, _ in conversions], np.uint32)
        matrices = []
        for k, (from_, to) in enumerate(conversions):
            whole = prod(int(moduli[i]) for i in from_)
            for place, index in enumerate(from_):
                q = int(moduli[index])
                factor = np.array(pow(whole // q, -1, q), np.uint64)
                source[k, place], shift[k, place] = index, 32 - q.bit_length()
                hat[k, place] = to_montgomery(factor, q)
                reciprocal[k, place] = (1 << (31 + q.bit_length())) // q
            matrix = np.zeros((targets, sources + 1), np.uint64)
            primes = np.full(targets, int(moduli[0]), np.uint64)
            for row, index in enumerate(to):
                p = int(moduli[index])
                target[k, row], primes[row] = index, p
                matrix[row, : len(from_)] = [whole // int(moduli[i]) % p for i in from_]
                matrix[row, -1] = -whole % p
            matrices.append(self.way.table(matrix, primes))
        known = (source, target, hat, shift, reciprocal, single)
        return Conversions(Residues.of(moduli), *known, np.stack(matrices))

    def apply(self, tables: Conversions, conversion: jax.Array, values: jax.Array) -> jax.Array:
        """The converted rows. Rows beyond the primes of a conversion have no meaning."""
        residues, source = tables.residues, jnp.asarray(tables.source)[conversion]
        q = jnp.asarray(residues.q)[source][..., None]
        inverse = jnp.asarray(residues.inverse)[source][..., None]
        hat, shift, reciprocal = (
            jnp.asarray(words)[conversion][..., None]
            for words in (tables.hat, tables.shift, tables.reciprocal)
        )
        y = montgomery(values, hat, inverse, q)
        words = self.way.centred(y, q)
        # A word less its prime lowers the sum of quotients by one.
        quotients = self._quotients(y, q, shift, reciprocal, tables, conversion)
        quotients = quotients - jnp.sum(words != y, axis=1, dtype=jnp.uint32)
        inner = jnp.concatenate([words, quotients[:, None]], axis=1)
        target = jnp.asarray(tables.target)[conversion]
        p, division = jnp.asarray(residues.q)[target][..., None], residues.division.rows(target)
        return self.way.product(jnp.asarray(tables.matrix)[conversion], inner, "left", p, division)

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
        sums = jnp.sum(fixed >> np.uint64(63 - POINT), axis=1) + np.uint64(1 << (POINT - 1))
        several = (sums >> np.uint64(POINT)).astype(jnp.uint32)
        one = (y[:, 0] > q[:, 0] >> np.uint32(1)).astype(jnp.uint32)
        return jnp.where(jnp.asarray(tables.single)[conversion] == 1, one, several)
