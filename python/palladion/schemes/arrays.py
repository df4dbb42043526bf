"""Checks of messages before they are encrypted."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion.errors import UsageError
from palladion.masks import masked

Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]

LARGEST = 2**31 - 1


def complex_bytes(values: ArrayLike, slots: int) -> bytes:
    """Complex doubles padded with zeros to ``slots`` values. The core refuses NaN and infinity."""
    found = one_dimension(values, slots, "biufc", "numbers")
    padded = np.zeros(slots, np.complex128)
    padded[: found.size] = found
    return padded.tobytes()


def integer_bytes(values: ArrayLike, slots: int) -> bytes:
    """At most ``slots`` 64-bit integers. The core checks that they are in the plaintext space."""
    found = one_dimension(values, slots, "biu", "integers")
    if found.dtype.kind == "u" and found.size > 0 and int(found.max()) > np.iinfo(np.int64).max:
        raise UsageError(f"value {found.max()}, expected less than the plaintext modulus")
    return found.astype(np.int64).tobytes()


def natural(what: str, value: int) -> int:
    """An integer from 0 on that fits the core's machine words."""
    return between(what, value, 0)


def rotation(k: int) -> int:
    """A number of slots by which to rotate. It is negative for a rotation to the right."""
    return between("a rotation", k, -LARGEST)


def between(what: str, value: int, least: int) -> int:
    """An integer from ``least`` on that fits the core's machine words."""
    try:
        found = index(value)
    except TypeError:
        raise UsageError(f"{what} is {value!r}, expected an integer") from None
    if not least <= found <= LARGEST:
        raise UsageError(f"{what} is {found}, expected {least} to {LARGEST}")
    return found


def one_dimension(values: ArrayLike, slots: int, kinds: str, expected: str) -> NDArray[Any]:
    """An array of one dimension with at most ``slots`` values, of NumPy's ``kinds`` of numbers."""
    if count := masked(values):
        raise UsageError(f"{count} masked values, which are missing ones: fill them (x.filled(..))")
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise UsageError(f"no array of numbers: {error}") from error
    if found.dtype.kind not in kinds and found.size > 0:
        raise UsageError(f"values of type {found.dtype}, expected {expected}")
    if found.ndim != 1:
        raise UsageError(f"an array of shape {found.shape}, expected one dimension")
    if found.size > slots:
        raise UsageError(f"{found.size} values in a plaintext, at most {slots} fit")
    return found
