"""The store: rows of ``N`` words, which instructions read and write by number.

Rows are copied by loops. What a loop makes is a border for XLA, which would else compute which row
it is for every word, within the kernels that read or write it: a transform then took 3.5 times as
long on a CPU.
"""

from __future__ import annotations

from typing import Any, Final

import jax.numpy as jnp
from jax import lax

Array = Any

SLICES: Final = 64
"""Most rows that are read or written one by one. A slice of a row is faster than a gather."""


def read(store: Array, rows: Array) -> Array:
    """The rows ``i32[B]`` as ``u32[B, N]``."""
    if len(rows) > SLICES:
        return store.at[rows].get(mode="promise_in_bounds")

    def one(index: Array, found: Array) -> Array:
        row = lax.dynamic_slice_in_dim(store, rows[index], 1)
        return lax.dynamic_update_slice_in_dim(found, row, index, 0)

    return lax.fori_loop(0, steps(rows), one, jnp.zeros((len(rows), store.shape[1]), store.dtype))


def read_all(store: Array, rows: Array) -> Array:
    """The rows ``i32[B, K]`` as ``u32[B, K, N]``."""
    return read(store, rows.reshape(-1)).reshape(*rows.shape, -1)


def write(store: Array, rows: Array, words: Array) -> Array:
    """The store with other words ``u32[B, K, N]`` in the rows ``i32[B, K]``."""
    rows, words = rows.reshape(-1), words.reshape(-1, words.shape[-1])
    if len(rows) > SLICES:
        return store.at[rows].set(words, mode="promise_in_bounds")

    def one(index: Array, store: Array) -> Array:
        row = lax.dynamic_slice_in_dim(words, index, 1)
        return lax.dynamic_update_slice_in_dim(store, row, rows[index], 0)

    return lax.fori_loop(0, steps(rows), one, store)


def steps(rows: Array) -> Array:
    """The number of rows, in a form that XLA does not know: it removes loops of one step."""
    return jnp.minimum(rows[0] + len(rows), len(rows))
