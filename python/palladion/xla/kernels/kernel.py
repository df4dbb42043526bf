"""The interface of kernels: tables that depend on the primes, and a function on rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import jax
import numpy as np
import numpy.typing as npt

from palladion.errors import UsageError

Words: TypeAlias = npt.NDArray[np.uint32]
Wide: TypeAlias = npt.NDArray[np.uint64]
Tables: TypeAlias = Any
"""A pytree of arrays. The first axis of each counts primes."""

SMALLEST = 1 << 16
"""Moduli are above this, so that the upper word of a small sum is below the modulus."""


class Kernel(Protocol):
    """An operation on rows. All kernels of one operation give the same words."""

    @property
    def name(self) -> str:
        """The name of this variant of the operation."""
        ...

    @property
    def tables(self) -> Callable[..., Tables]:
        """Makes the tables from the moduli, ``n``, and more if the operation needs it."""
        ...

    @property
    def apply(self) -> Callable[..., jax.Array]:
        """Takes the tables, the index of each row's prime, and operands, as XLA arrays."""
        ...


def check_moduli(moduli: Words) -> list[int]:
    """The moduli as integers.

    Raises
    ------
    UsageError
        If one is even or not between 2^16 and 2^32.
    """
    primes = [int(q) for q in moduli]
    for q in primes:
        if q % 2 == 0 or not SMALLEST < q < 1 << 32:
            raise UsageError(
                f"the modulus {q} is no odd number between 2^16 and 2^32, as words of 32 bits "
                "need: compile with --words 32"
            )
    return primes
