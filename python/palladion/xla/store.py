"""The store: rows of ``N`` words, which instructions read and write by number."""

from __future__ import annotations

from typing import Any, Final

import jax.numpy as jnp
from jax import lax

Array = Any

SLICES: Final = 64
"""Most rows that are read or written one by one. A slice of a row is faster than a gather."""


def read(store: Array, rows: Array) -> Array:
    """The rows ``i32[B]`` as ``u32[B, N]``."""
    if rows.shape[0] == 1:
        return lax.dynamic_slice_in_dim(store, rows[0], 1)
    return store.at[rows].get(mode="promise_in_bounds")


def read_all(store: Array, rows: Array) -> Array:
    """The rows ``i32[B, K]`` as ``u32[B, K, N]``."""
    if rows.size <= SLICES:
        cut = [lax.dynamic_slice_in_dim(store, row, 1) for row in rows.reshape(-1)]
        return jnp.concatenate(cut).reshape(*rows.shape, -1)
    return store.at[rows].get(mode="promise_in_bounds")


barrier: Any = lax.optimization_barrier


def write(store: Array, rows: Array, words: Array) -> Array:
    """The store with other words ``u32[B, K, N]`` in the rows ``i32[B, K]``."""
    rows, words = rows.reshape(-1), words.reshape(-1, words.shape[-1])
    if len(rows) == 1:
        # Without the barrier, the words may be computed within the update of the store, which reads
        # the store too: XLA then copies all of it.
        words = barrier(words)
        return lax.dynamic_update_slice_in_dim(store, words, rows[0], 0)
    if len(rows) > SLICES:
        return store.at[rows].set(words, mode="promise_in_bounds")

    def one(index: Array, store: Array) -> Array:
        row = lax.dynamic_slice_in_dim(words, index, 1)
        return lax.dynamic_update_slice_in_dim(store, row, rows[index], 0)

    # What a loop reads is computed before it, so it keeps the store in its place.
    return lax.fori_loop(0, len(rows), one, store)
