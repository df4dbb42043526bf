"""Plain forms of combinations, conversions and extractions, on the tables that a plan has."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from palladion.xla.kernels.arithmetic import (
    Array,
    Primes,
    dot,
    mul_shoup,
    narrow,
    reduce,
    wide,
)

Words = np.ndarray[Any, Any]


class Combine:
    """Products of integer matrices ``u32[G, R, C]`` with rows ``u32[G, C, N]``.

    Sums of products are exact in 64-bit floating point: words are cut into pieces so short that
    sums stay below ``2**53``. ``bits`` is that of the largest entry of a matrix.
    """

    @staticmethod
    def tables(moduli: Words, matrices: Words) -> Any:
        return Primes.of(moduli), matrices

    @staticmethod
    def apply(tables: Any, prime: Array, which: Array, values: Array, *, bits: int) -> Array:
        primes, matrices = tables
        matrix = matrices[which]
        columns = matrix.shape[2]
        piece = min(31, 53 - bits - (columns - 1).bit_length())
        p = primes.rows(prime, 2)
        factors = matrix.astype(jnp.float64)
        total: Array = jnp.uint64(0)
        for shift in reversed(range(0, 32, piece)):
            part = (values >> shift) & ((1 << piece) - 1)
            sums = jnp.einsum("grc,gcn->grn", factors, part.astype(jnp.float64))
            total = reduce((total << piece) + sums.astype(jnp.uint64), p)
        return narrow(total)


class Conversions(NamedTuple):
    """Tables of :class:`Convert`, with a row for each conversion."""

    source: Primes
    """Constants of the primes of rows that are read."""
    hat: Array
    hat_quotient: Array
    multiplier: Array
    """``2**(31 + b) / q`` rounded down, for a prime of ``b`` bits."""
    shift: Array
    """``32 - b``."""
    target: Primes
    matrix: Array


class Convert:
    """Basis conversion, as ``Op::Convert`` of the trace defines it.

    Values are ``u32[G, R, N]``, one row for each prime that is read. The result has one row for
    each prime that is written.
    """

    @staticmethod
    def tables(moduli: Words, source: Words, target: Words, hat: Words, matrix: Words) -> Any:
        """``source`` and ``target`` are indices of primes, a row for each conversion."""
        q = moduli[source].astype(np.uint64)
        bits = np.frompyfunc(int.bit_length, 1, 1)(q.astype(object)).astype(np.uint64)
        wide_hat = hat.astype(np.uint64)
        everything = Primes.of(moduli)
        return Conversions(
            Primes(*(part[source] for part in everything)),
            wide_hat,
            (wide_hat << 32) // q,
            (np.uint64(1) << (31 + bits)) // q,
            32 - bits,
            Primes(*(part[target] for part in everything)),
            matrix.astype(np.uint64),
        )

    @staticmethod
    def apply(tables: Conversions, conversion: Array, values: Array) -> Array:
        def of(part: Array) -> Array:
            return part[conversion][..., None]

        q = of(tables.source.q)
        y = mul_shoup(wide(values), of(tables.hat), of(tables.hat_quotient), q)
        if values.shape[1] == 1:
            quotient = (2 * y >= q).astype(jnp.uint64)
        else:
            terms = ((y << of(tables.shift)) * of(tables.multiplier)) >> 7
            quotient = (jnp.uint64(1 << 55) + terms.sum(axis=1, keepdims=True)) >> 56
        y = jnp.concatenate([y, quotient], axis=1)
        matrix = of(tables.matrix)
        target = Primes(*(of(part) for part in tables.target))
        return narrow(dot(matrix, y[:, None], target))


class Extract:
    """Words from several rows ``u32[B, V, N]``, as ``Op::Extract`` of the trace defines it."""

    @staticmethod
    def tables(moduli: Words, places: Words) -> Any:
        return Primes.of(moduli), places

    @staticmethod
    def apply(tables: Any, prime: Array, values: Array, words: Array) -> Array:
        """``words`` are ``i32[B, 5]``: at, its steps, entries, their steps, and the gap."""
        primes, places = tables
        rows, _, n = values.shape
        at = turned(places, words[:, 0], words[:, 1])
        entries = turned(places, words[:, 2], words[:, 3])
        # Wrapping products are right modulo a power of two.
        exponent = (narrow(entries) * narrow(words[:, 4:])) & (2 * n - 1)
        place = (narrow(at & (n - 1)) - exponent) & (2 * n - 1)
        source = (at // n) * n + (place & (n - 1)).astype(jnp.int32)
        flat = values.reshape(rows, -1)
        found = jnp.take_along_axis(flat, jnp.maximum(source, 0), axis=1)
        found = jnp.where(at < 0, 0, found)
        return negated(found, place >= n, primes.rows(prime).q)


def turned(places: Array, index: Array, steps: Array) -> Array:
    """Rows of ``places``, with both halves rotated left."""
    n = places.shape[1]
    column = jnp.arange(n, dtype=jnp.int32)
    half = n // 2
    source = (column & half) | ((column + steps[:, None]) & (half - 1))
    return jnp.take_along_axis(places[index], source, axis=1)


def negated(words: Array, sign: Array, q: Array) -> Array:
    """Words, or their negatives modulo ``q`` where ``sign`` is true."""
    return jnp.where(sign & (words != 0), narrow(q) - words, words)
