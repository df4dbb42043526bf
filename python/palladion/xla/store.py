"""The store: rows of ``N`` words, which instructions read and write by number.

On a CPU a loop copies one row after the other. XLA does not fuse a loop with the kernels that use
its result. Without loops it computed the row's number again for every word, inside these kernels:
a transform took 3.5 times as long. Other devices gather and scatter many rows at once.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

Array = Any


def read(store: Array, rows: Array) -> Array:
    """The rows ``i32[B]`` as ``u32[B, N]``."""
    return lax.platform_dependent(store, rows, cpu=copy_rows, default=gather_rows)


def read_all(store: Array, rows: Array) -> Array:
    """The rows ``i32[B, K]`` as ``u32[B, K, N]``."""
    return read(store, rows.reshape(-1)).reshape(*rows.shape, -1)


def write(store: Array, rows: Array, words: Array) -> Array:
    """The store with the words ``u32[B, K, N]`` written to the rows ``i32[B, K]``."""
    rows, words = rows.reshape(-1), words.reshape(-1, words.shape[-1])
    return lax.platform_dependent(store, rows, words, cpu=replace_rows, default=scatter_rows)


def copy_rows(store: Array, rows: Array) -> Array:
    """The rows, copied one after the other."""

    def one(index: Array, copies: Array) -> Array:
        row = lax.dynamic_slice_in_dim(store, rows[index], 1)
        return lax.dynamic_update_slice_in_dim(copies, row, index, 0)

    return lax.fori_loop(
        0, hide_count(rows), one, jnp.zeros((len(rows), store.shape[1]), store.dtype)
    )


def replace_rows(store: Array, rows: Array, words: Array) -> Array:
    """The store with the words written to its rows, one after the other."""

    def one(index: Array, store: Array) -> Array:
        row = lax.dynamic_slice_in_dim(words, index, 1)
        return lax.dynamic_update_slice_in_dim(store, row, rows[index], 0)

    return lax.fori_loop(0, hide_count(rows), one, store)


def hide_count(rows: Array) -> Array:
    """The number of rows, in a form that XLA cannot evaluate: it would remove loops of one step."""
    return jnp.minimum(rows[0] + len(rows), len(rows))


def gather_rows(store: Array, rows: Array) -> Array:
    """The rows, gathered all at once."""
    return store.at[rows].get(mode="promise_in_bounds")


def scatter_rows(store: Array, rows: Array, words: Array) -> Array:
    """The store with the words written to its rows, all at once."""
    return store.at[rows].set(words, mode="promise_in_bounds")
