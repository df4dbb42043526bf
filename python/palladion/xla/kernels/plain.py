"""The simplest form of every kernel: what the others are compared with."""

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
    once,
    reduce,
    shoup,
    wide,
)
from palladion.xla.kernels.roots import least_root, tree

Words = np.ndarray[Any, Any]


class Add:
    name = "add"

    @staticmethod
    def tables(moduli: Words) -> Any:
        return Primes.of(moduli)

    @staticmethod
    def apply(tables: Primes, prime: Array, a: Array, b: Array) -> Array:
        return narrow(once(wide(a) + wide(b), tables.rows(prime).q))


class Sub:
    name = "sub"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, a: Array, b: Array) -> Array:
        q = tables.rows(prime).q
        return narrow(once(wide(a) + q - wide(b), q))


class Mul:
    name = "mul"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, a: Array, b: Array) -> Array:
        return narrow(reduce(wide(a) * wide(b), tables.rows(prime)))


class Dot:
    """Operands are ``u32[B, T, N]``."""

    name = "dot"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, left: Array, right: Array) -> Array:
        return narrow(dot(wide(left), wide(right), tables.rows(prime)))


class Scale:
    """The last operand is a factor ``u32[B]`` for each row."""

    name = "scale"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, a: Array, factor: Array) -> Array:
        q = tables.rows(prime).q
        factor = wide(factor)[:, None]
        return narrow(mul_shoup(wide(a), factor, shoup(factor, q), q))


class Roots(NamedTuple):
    """Tables of a transform. The root at place ``k`` is that of node ``k`` of its tree."""

    primes: Primes
    root: Array
    quotient: Array
    """``root * 2**32 / q``, rounded down."""


class Ntt:
    """The evaluation domain is in bit-reversed order, at powers of the smallest root."""

    name = "ntt"

    @staticmethod
    def tables(moduli: Words, n: int) -> Roots:
        return roots(moduli, n, inverse=False)

    @staticmethod
    def apply(tables: Roots, prime: Array, a: Array) -> Array:
        rows, n = a.shape
        q = tables.primes.rows(prime, 3).q
        root, quotient = tables.root[prime], tables.quotient[prime]
        x, blocks = wide(a), 1
        while blocks < n:
            x = x.reshape(rows, blocks, 2, n // (2 * blocks))
            low, high = x[:, :, :1], x[:, :, 1:]
            w, w_quotient = (
                wide(t[:, blocks : 2 * blocks]).reshape(rows, blocks, 1, 1)
                for t in (root, quotient)
            )
            high = mul_shoup(high, w, w_quotient, q)
            x = jnp.concatenate([once(low + high, q), once(low + q - high, q)], axis=2)
            blocks *= 2
        return narrow(x).reshape(rows, n)


class Intt:
    name = "intt"

    @staticmethod
    def tables(moduli: Words, n: int) -> Roots:
        return roots(moduli, n, inverse=True)

    @staticmethod
    def apply(tables: Roots, prime: Array, a: Array) -> Array:
        rows, n = a.shape
        q = tables.primes.rows(prime, 3).q
        root, quotient = tables.root[prime], tables.quotient[prime]
        x, blocks = wide(a), n // 2
        while blocks:
            x = x.reshape(rows, blocks, 2, n // (2 * blocks))
            low, high = x[:, :, :1], x[:, :, 1:]
            w, w_quotient = (
                wide(t[:, blocks : 2 * blocks]).reshape(rows, blocks, 1, 1)
                for t in (root, quotient)
            )
            difference = mul_shoup(once(low + q - high, q), w, w_quotient, q)
            x = jnp.concatenate([once(low + high, q), difference], axis=2)
            blocks //= 2
        # Place 0 is no node. The inverse of N is kept there.
        w, w_quotient = (wide(t[:, :1]) for t in (root, quotient))
        return narrow(mul_shoup(x.reshape(rows, n), w, w_quotient, q[:, :, 0, 0]))


def roots(moduli: Words, n: int, *, inverse: bool) -> Roots:
    """Tables of all primes. Those of primes that are not 1 modulo ``2 n`` have no meaning."""
    primes, power = moduli.tolist(), -1 if inverse else 1
    generators = [pow(least_root(q, n), power, q) if q % (2 * n) == 1 else 0 for q in primes]
    root = np.array([tree(g, n, q) for g, q in zip(generators, primes, strict=True)])
    if inverse:
        root[:, 0] = [pow(n, -1, q) for q in primes]
    quotient = (root << 32) // moduli.astype(np.uint64)[:, None]
    return Roots(Primes.of(moduli), root.astype(np.uint32), quotient.astype(np.uint32))


class Combine:
    """Products of integer matrices ``u32[G, R, C]`` with rows ``u32[G, C, N]``.

    Sums of products are exact in 64-bit floating point: words are cut into pieces so short that
    sums stay below ``2**53``. ``bits`` is that of the largest entry of a matrix.
    """

    name = "combine"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, matrix: Array, values: Array, *, bits: int) -> Array:
        columns = matrix.shape[2]
        piece = min(31, 53 - bits - (columns - 1).bit_length())
        p = tables.rows(prime, 2)
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

    name = "convert"

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


class Permute:
    """Words in other places. An entry of a permutation has the sign in its highest bit."""

    name = "permute"

    @staticmethod
    def tables(moduli: Words, permutations: Words) -> Any:
        return Primes.of(moduli), permutations

    @staticmethod
    def apply(tables: Any, prime: Array, a: Array, permutation: Array) -> Array:
        primes, permutations = tables
        entries = permutations[permutation]
        words = jnp.take_along_axis(a, (entries & 0x7FFFFFFF).astype(jnp.int32), axis=1)
        return negated(words, entries >> 31 == 1, primes.rows(prime).q)


class Extract:
    """Words from several rows ``u32[B, V, N]``, as ``Op::Extract`` of the trace defines it."""

    name = "extract"

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


class Round:
    """``round(c t / q) mod t``, from ``prime`` to the prime ``to``."""

    name = "round"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, a: Array, to: Array) -> Array:
        q, t = tables.rows(prime).q, tables.rows(to).q
        return narrow((wide(a) * t + q // 2) // q % t)


class Digit:
    """A digit of centred words, as ``Op::Digit`` of the trace defines it."""

    name = "digit"
    tables = staticmethod(Add.tables)

    @staticmethod
    def apply(tables: Primes, prime: Array, a: Array, words: Array) -> Array:
        """``words`` are ``i32[B, 3]``: index, bits, and number of digits."""
        q = tables.rows(prime).q.astype(jnp.int64)
        index, bits, count = (words[:, j, None].astype(jnp.int64) for j in range(3))
        x = a.astype(jnp.int64)
        negative = x > q // 2
        x = jnp.where(negative, q - x, x)
        base, half = jnp.int64(1) << bits, jnp.int64(1) << (bits - 1)
        # Each digit below takes half of its base up: these are all the halves.
        halves = half * (((jnp.int64(1) << (bits * index)) - 1) // (base - 1))
        rest = (x + halves) >> (bits * index)
        low = ((rest + half) & (base - 1)) - half
        digit = jnp.where(index + 1 == count, rest, low)
        digit = jnp.where(negative, -digit, digit)
        return narrow(digit % q)
