"""Numbers and arrays as the slots of a circuit."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion.errors import UsageError
from palladion.schemes.arrays import one_dimension

INTEGERS = ("biu", "integers")
REALS = ("biuf", "real numbers")
COMPLEX = ("biufc", "numbers")


def filled(values: ArrayLike, slots: int, kinds: tuple[str, str]) -> NDArray[Any]:
    """All slots: a number in each slot, or an array of shape ``(k,)`` followed by zeros."""
    if isinstance(values, numbers.Number) or np.ndim(values) == 0:
        return np.full(slots, one_dimension(np.ravel(values), 1, *kinds)[0])
    found = one_dimension(values, slots, *kinds)
    padded = np.zeros(slots, found.dtype)
    padded[: found.size] = found
    return padded


def shortest(values: NDArray[Any]) -> NDArray[Any]:
    """The shortest prefix of ``values`` that gives ``values`` by repetition: a power of two of
    them."""
    while values.size > 1:
        first, second = np.split(values, 2)
        if not np.array_equal(first, second):
            break
        values = first
    return values


def centred(number: Any, t: int) -> float:
    """An integer modulo ``t`` as the equal double nearest to 0."""
    if not isinstance(number, numbers.Integral):
        raise UsageError(f"the number {number!r}, expected an integer")
    value = int(number) % t
    return float(value - t if value > t // 2 else value)


def real(number: Any) -> float:
    """A real number as a double. The core checks that it is finite."""
    if not isinstance(number, numbers.Real):
        raise UsageError(f"the number {number!r}, expected a real one")
    try:
        return float(number)
    except OverflowError:
        raise UsageError("an integer beyond all doubles, expected a finite number") from None
