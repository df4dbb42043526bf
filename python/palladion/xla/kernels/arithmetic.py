"""Arithmetic modulo primes of at most 32 bits, on words of 64 bits.

Every result lies in ``[0, q)``. ``q`` and the other constants of a prime are shaped so that they
broadcast against the words.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax.numpy as jnp
import numpy as np

Array = Any
"""An array of JAX. Its types are not known to mypy."""

WRITTEN: Final = 16
"""Terms of a sum that are written one by one, which is faster. More take long to compile."""


class Primes(NamedTuple):
    """Constants of primes, for :func:`reduce`."""

    q: Array
    """The prime."""
    radix: Array
    """``2**32 mod q``."""
    radix_quotient: Array
    """``radix * 2**32 / q``, rounded down."""
    quotient: Array
    """``2**32 / q``, rounded down."""

    @staticmethod
    def of(moduli: np.ndarray[Any, Any]) -> Primes:
        """The constants of all primes, as numpy arrays of 64-bit words."""
        q = moduli.astype(np.uint64)
        radix = np.uint64(1 << 32) % q
        wide = [(int(r) << 32) // int(p) for r, p in zip(radix, q, strict=True)]
        return Primes(q, radix, np.array(wide, np.uint64), np.uint64(1 << 32) // q)

    def rows(self, prime: Array, axes: int = 1) -> Primes:
        """The constants of each row's prime, followed by so many axes of length 1."""
        shape = prime.shape + (1,) * axes
        return Primes(*(jnp.asarray(part)[prime].reshape(shape) for part in self))


def wide(words: Array) -> Array:
    """Words of 64 bits."""
    return words.astype(jnp.uint64)


def narrow(words: Array) -> Array:
    """Words of 32 bits."""
    return words.astype(jnp.uint32)


def once(x: Array, q: Array) -> Array:
    """``x mod q`` for ``x`` in ``[0, 2 q)``."""
    # A difference below 0 wraps around to a large word.
    return jnp.minimum(x, x - q)


def reduce(x: Array, p: Primes) -> Array:
    """``x mod q`` for any word of 64 bits."""
    high, low = x >> 32, x & 0xFFFFFFFF
    # The high half times 2^32 comes down to [0, 2 q). With the low half that is below 3 * 2^32, so
    # the next quotient is too small by at most 3.
    rest = high * p.radix - ((high * p.radix_quotient) >> 32) * p.q + low
    rest = rest - ((rest * p.quotient) >> 32) * p.q
    return once(once(rest, 2 * p.q), p.q)


def mul_shoup(x: Array, factor: Array, quotient: Array, q: Array) -> Array:
    """``x * factor mod q`` for ``x`` below ``2**32``, with ``quotient = factor * 2**32 // q``."""
    return once(x * factor - ((x * quotient) >> 32) * q, q)


def dot(a: Array, b: Array, p: Primes) -> Array:
    """``sum_k a_k b_k mod q`` over the axis before the last, for words below ``2**32``."""
    # Halves of products are added up apart, so that less than 2^31 of them do not overflow.
    terms = max(a.shape[-2], b.shape[-2])
    if terms > WRITTEN:
        product = a * b
        return halves((product >> 32).sum(axis=-2), (product & 0xFFFFFFFF).sum(axis=-2), p)
    low = high = jnp.uint64(0)
    for k in range(terms):
        product = a[..., k, :] * b[..., k, :]
        low, high = low + (product & 0xFFFFFFFF), high + (product >> 32)
    return halves(high, low, p)


def halves(high: Array, low: Array, p: Primes) -> Array:
    """``high * 2**32 + low mod q`` for any words of 64 bits."""
    return once(reduce(reduce(high, p) << 32, p) + reduce(low, p), p.q)
