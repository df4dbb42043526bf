"""The transform as a loop of equal stages, which compiles quickly.

A stage pairs words ``j`` and ``j + N/2``, and writes their results to ``2 j`` and ``2 j + 1``, so
that each stage rotates the bits of an index by one. After all stages a word is at the same place as
after butterflies in place. The node of pair ``j`` in stage ``s`` is ``2^s + (j mod 2^s)``.

Source: Pease, "An adaptation of the fast Fourier transform for parallel processing", J. ACM 1968.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from palladion.waves.roots import root_of, tree
from palladion.xla.kernels.kernel import Words, check_moduli
from palladion.xla.kernels.words import (
    BITS,
    Residues,
    add,
    column,
    montgomery,
    of_rows,
    sub,
    to_montgomery,
)


class Stages(NamedTuple):
    """The tables of a transform. The first axis counts primes."""

    residues: Residues
    roots: jax.Array | Words
    """Factors of each stage, times 2^32: ``[P, log2 N, N/2]``."""
    last: jax.Array | Words
    """``2^32 / N``, by which the inverse multiplies its results: ``[P]``."""


def make_stages(moduli: Words, n: int, inverse: bool) -> Stages:
    """The tables of the primes."""
    count, pairs = n.bit_length() - 1, np.arange(n // 2)
    roots, last = [], []
    for q in check_moduli(moduli):
        root = root_of(q, n, inverse=inverse)
        factors = to_montgomery(tree(root, n, q), q).astype(np.uint32)
        roots.append([factors[(1 << s) + pairs % (1 << s)] for s in range(count)])
        last.append((pow(n, -1, q) << 32) % q)
    return Stages(Residues.of(moduli), np.array(roots), np.array(last, np.uint32))


def interleave(x: jax.Array, y: jax.Array) -> jax.Array:
    """Puts words of ``x`` at even indices and words of ``y`` at odd ones.

    Each pair is one word of 64 bits in between. XLA on a CPU does not vectorise a transposition of
    pairs, which takes eight times as long."""
    pairs = x.astype(jnp.uint64) | (y.astype(jnp.uint64) << BITS)
    return jax.lax.bitcast_convert_type(pairs, jnp.uint32).reshape(len(x), -1)


def split_pairs(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The words at even indices, and the words at odd ones."""
    pairs = jax.lax.bitcast_convert_type(a.reshape(len(a), -1, 2), jnp.uint64)
    return pairs.astype(jnp.uint32), (pairs >> BITS).astype(jnp.uint32)


@dataclass(frozen=True)
class ConstantGeometryNtt:
    """Coefficients to values, in bit-reversed order."""

    name = "constant-geometry"

    def tables(self, moduli: Words, n: int) -> Stages:
        """The factors of the primes."""
        return make_stages(moduli, n, inverse=False)

    def apply(self, tables: Stages, prime: jax.Array, a: jax.Array) -> jax.Array:
        """The transforms of rows."""
        q, inverse = column(tables.residues.q, prime), column(tables.residues.inverse, prime)
        roots, n = of_rows(tables.roots, prime), a.shape[1]

        def stage(s: jax.Array, a: jax.Array) -> jax.Array:
            factor = jax.lax.dynamic_index_in_dim(roots, s, 1, keepdims=False)
            x, y = a[:, : n // 2], montgomery(a[:, n // 2 :], factor, inverse, q)
            return interleave(add(x, y, q), sub(x, y, q))

        result: jax.Array = jax.lax.fori_loop(0, roots.shape[1], stage, a)
        return result


@dataclass(frozen=True)
class ConstantGeometryIntt:
    """Values to coefficients."""

    name = "constant-geometry"

    def tables(self, moduli: Words, n: int) -> Stages:
        """The factors of the primes."""
        return make_stages(moduli, n, inverse=True)

    def apply(self, tables: Stages, prime: jax.Array, a: jax.Array) -> jax.Array:
        """The transforms of rows."""
        q, inverse = column(tables.residues.q, prime), column(tables.residues.inverse, prime)
        roots = of_rows(tables.roots, prime)
        count = roots.shape[1]

        def stage(done: jax.Array, a: jax.Array) -> jax.Array:
            factor = jax.lax.dynamic_index_in_dim(roots, count - 1 - done, 1, keepdims=False)
            x, y = split_pairs(a)
            upper = montgomery(sub(x, y, q), factor, inverse, q)
            return jnp.concatenate([add(x, y, q), upper], axis=1)

        result = jax.lax.fori_loop(0, count, stage, a)
        return montgomery(result, column(tables.last, prime), inverse, q)
