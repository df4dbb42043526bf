"""Checks of messages before they are encrypted."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion.errors import UsageError
from palladion.schemes.encrypted import Encrypted
from palladion.support.masks import masked

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


def check_exponent(exponent: int) -> int:
    """An exponent."""
    if not isinstance(exponent, int) or not 1 <= exponent <= LARGEST:
        raise UsageError(f"the exponent {exponent}, expected an integer above 0")
    return exponent


def terms(stride: int, count: int | None, row: int) -> tuple[int, int]:
    """Stride and number of terms of a sum over slots. By default all slots of a row are summed."""
    if count is None:
        if stride != 1:
            raise UsageError(f"a sum of stride {stride} without a count, expected a count")
        count = row
    return rotation(stride), between("the number of terms", count, 1)


def plain(values: object, expected: str) -> None:
    """Refuses an encrypted value of another scheme, or of another kind."""
    if isinstance(values, Encrypted):
        raise UsageError(
            f"an encrypted value ({values!r}) as an operand, expected {expected}, or a ciphertext "
            "of the same scheme and kind"
        )


def one_dimension(values: ArrayLike, slots: int, kinds: str, expected: str) -> NDArray[Any]:
    """An array of one dimension with at most ``slots`` values, of NumPy's ``kinds`` of numbers."""
    plain(values, expected)
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
