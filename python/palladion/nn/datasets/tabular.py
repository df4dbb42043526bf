"""Inputs that are no plain arrays: tables with named columns, and sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError

Array = npt.NDArray[Any]

MOST_NAMED = 20
"""Names of columns in one message."""


def columns_of(given: Any) -> tuple[str, ...] | None:
    """The names of a table's columns, or ``None`` for data without names."""
    columns = getattr(given, "columns", None)
    if columns is None or not hasattr(given, "to_numpy"):
        return None
    names = list(columns)
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def dense(given: Any, what: str) -> Any:
    """A table of numbers, or a sparse matrix, as an array. Anything else is returned as it is.

    Raises
    ------
    DataError
        If a column of a table has no numbers. The message names it.
    """
    if hasattr(given, "tocsr") and hasattr(given, "toarray"):
        return given.toarray()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        found = np.asarray(given.to_numpy())
        if found.dtype.kind == "O":
            found = numbers(found, [str(name) for name in given.columns], what)
        return found
    return given


def numbers(table: Array, names: Sequence[str], what: str) -> Array:
    """Columns of objects as numbers."""
    found = np.empty(table.shape, np.float64)
    for place, name in enumerate(names):
        try:
            found[:, place] = table[:, place].astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{what}: column {name!r} has no numbers, as {table[0, place]!r}; "
                            "expected numbers in all columns: encode it before (such as "
                            "OrdinalEncoder), or leave it out") from error  # fmt: skip
    return found


def check_columns(found: Sequence[str] | None, expected: Sequence[str], what: str) -> None:
    """Refuse a table whose columns are not the model's columns, in the model's order.

    Raises
    ------
    DataError
        The message names columns that are missing, not known, or in another order.
    """
    if found is None or not expected or tuple(found) == tuple(expected):
        return
    missing = [name for name in expected if name not in found]
    strange = [name for name in found if name not in expected]
    if missing or strange:
        words = [f"lacks {listed(missing)}"] * bool(missing)
        words += [f"has {listed(strange)}, which the model does not know"] * bool(strange)
        raise DataError(f"{what}: the table {' and '.join(words)}; expected the columns "
                        f"{listed(expected)}")  # fmt: skip
    first = next(place for place, name in enumerate(expected) if found[place] != name)
    raise DataError(
        f"{what}: column {first} of the table is {found[first]!r}, expected "
        f"{expected[first]!r}: give the columns in the order {listed(expected)}"
    )


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
