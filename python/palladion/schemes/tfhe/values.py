"""Checks of bits, integers and tables before they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palladion.errors import UsageError
from palladion.schemes.arrays import plain
from palladion.support.masks import masked

TableOf = Callable[[int], int] | Sequence[int] | NDArray[Any]
"""Entries for the values from 0 on, or a function of values."""
PairTable = Callable[[int, int], int] | Sequence[Sequence[int]] | NDArray[Any]
"""Rows of entries, one row per value of the left operand, or a function of both."""


def bit_bytes(values: ArrayLike) -> tuple[bytes, bool]:
    """One byte per bit, and whether the input has no dimension, as ``True`` but not ``[True]``."""
    found = array(values, "bits")
    wrong = found[(found != 0) & (found != 1)]
    if wrong.size > 0:
        raise UsageError(f"bit {wrong.flat[0]}, expected 0 or 1")
    return found.astype(np.uint8).tobytes(), found.ndim == 0


def natural_bytes(values: ArrayLike) -> tuple[bytes, bool]:
    """64-bit integers from 0 on, and whether the input has no dimension."""
    found = array(values, "integers")
    if found.dtype.kind == "i" and found.size > 0 and found.min() < 0:
        raise UsageError(f"value {found.min()}, expected 0 or more")
    return found.astype(np.uint64).tobytes(), found.ndim == 0


def array(values: ArrayLike, expected: str) -> NDArray[Any]:
    """An array of integers, with one dimension or none."""
    plain(values, expected)
    if count := masked(values):
        raise UsageError(f"{count} masked values, which are missing ones: fill them (x.filled(..))")
    try:
        found = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"no array of {expected}: {error}") from error
    if found.size > 0 and found.dtype.kind not in "biu":
        raise UsageError(f"values of type {found.dtype}, expected {expected}")
    if found.ndim > 1:
        raise UsageError(f"an array of shape {found.shape}, expected one dimension or none")
    return found


def entry(found: object) -> int:
    """An entry of a table."""
    try:
        value = index(found)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"the table's entry {found!r}, expected an integer") from None
    if not 0 <= value < 2**63:
        raise UsageError(f"the table's entry {value}, expected 0 or more, of 63 bits")
    return value


def entries(table: TableOf, largest: int, values: int) -> list[int]:
    """All ``values`` entries. Entries that no value up to ``largest`` reads may be missing."""
    given = [table(v) for v in range(largest + 1)] if callable(table) else list(table)
    if not largest < len(given) <= values:
        raise UsageError(
            f"a table of {len(given)} entries for values of 0 to {largest}, "
            f"expected {largest + 1} to {values}"
        )
    return [entry(e) for e in given] + [0] * (values - len(given))


def pair_entries(table: PairTable, largest: int, messages: int, values: int) -> list[int]:
    """Entries at ``left * messages + right``, for ``left`` up to ``largest``."""
    if callable(table):
        rows = [[table(x, y) for y in range(messages)] for x in range(largest + 1)]
    else:
        rows = [list(row) for row in table]
    if len(rows) <= largest or any(len(row) != messages for row in rows):
        lengths = ", ".join(sorted({str(len(row)) for row in rows}))
        raise UsageError(
            f"a table of {len(rows)} rows of {lengths or 'no'} entries, "
            f"expected at least {largest + 1} of {messages}"
        )
    flat = [entry(e) for row in rows for e in row][:values]
    return flat + [0] * (values - len(flat))
