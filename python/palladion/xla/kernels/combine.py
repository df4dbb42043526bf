"""Integer combinations of rows: a matrix of small integers times rows of one prime."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from palladion.xla.kernels.bat import Product
from palladion.xla.kernels.words import OfResidues, Residues

BLOCK = 256
"""Columns of one product. Partial results take several times the memory of a result. On one
thread of an AMD EPYC with AVX-512, 64 terms of doubles make 22.8 multiply-adds per ns with 256
columns, and 18.1 with 2048."""


@dataclass(frozen=True)
class Combine(OfResidues):
    """``matrix values``: ``u32[G, R, C]`` times ``u32[G, C, N]``, with entries below 2^17."""

    way: Product

    @property
    def name(self) -> str:
        """The way of the matrix product."""
        return self.way.name

    def apply(
        self, tables: Residues, prime: jax.Array, matrix: jax.Array, values: jax.Array
    ) -> jax.Array:
        """The combinations ``u32[G, R, N]`` of each group, modulo the group's prime."""
        own = tables.rows(prime, 2)

        def some(columns: jax.Array) -> jax.Array:
            words = self.way.centre(columns, jnp.asarray(own.q))
            return self.way.product(matrix, words, "left", own)

        groups, _, n = values.shape
        if n <= BLOCK:
            return some(values)

        def block(index: jax.Array, result: jax.Array) -> jax.Array:
            columns = jax.lax.dynamic_slice_in_dim(values, index * BLOCK, BLOCK, 2)
            return jax.lax.dynamic_update_slice_in_dim(result, some(columns), index * BLOCK, 2)

        empty = jnp.zeros((groups, matrix.shape[1], n), jnp.uint32)
        result: jax.Array = jax.lax.fori_loop(0, n // BLOCK, block, empty)
        return result
