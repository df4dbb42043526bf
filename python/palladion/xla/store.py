"""The store: rows of ``N`` words, which instructions read and write by number."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

Array = Any

SLICES = 64
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


def write(store: Array, rows: Array, words: Array) -> Array:
    """The store with other words ``u32[B, K, N]`` in the rows ``i32[B, K]``."""
    # Without the barrier, the words would be computed within the update of the store, which reads
    # the store too: XLA would then copy all of it.
    words = lax.optimization_barrier(words)
    if rows.size <= SLICES:
        flat = words.reshape(-1, 1, words.shape[-1])
        for place, row in enumerate(rows.reshape(-1)):
            store = lax.dynamic_update_slice_in_dim(store, flat[place], row, 0)
        return store
    return store.at[rows].set(words, mode="promise_in_bounds")
