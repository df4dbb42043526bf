"""Linear layers on slots."""

from __future__ import annotations

import numpy as np
from files import Array
from palladion.circuit import Value, dot


def dense(x: Value, matrix: Array, slots: int, babies: int) -> Value:
    """A matrix ``[R, C]``, powers of two, times a vector that repeats after ``C`` slots.

    The result repeats after ``R`` slots. Entry ``d`` of slot ``j`` is that of row ``j mod R`` and
    column ``j + d``: products with ``R`` such diagonals, and a sum over strides of ``R``. Rotations
    are by ``babies`` steps of the input and ``R / babies`` of the sums (Halevi, Shoup, "Faster
    homomorphic linear transformations in HElib", CRYPTO 2018).
    """
    rows, columns = matrix.shape
    j = np.arange(columns)
    steps = [x.rotate(b) if b else x for b in range(min(babies, rows))]
    total: Value | None = None
    for giant in range(0, rows, babies):
        diagonals = [matrix[j % rows, (j + giant + b) % columns] for b in range(len(steps))]
        before = [np.tile(np.roll(d, giant), slots // columns) for d in diagonals]
        part = dot(steps, before)
        part = part.rotate(giant) if giant else part
        total = part if total is None else total + part
    assert total is not None, "a matrix has a row"
    return total.sum(rows, columns // rows) if columns > rows else total


def padded(matrix: Array, rows: int, columns: int) -> Array:
    """The matrix with zeros below and on the right."""
    found = np.zeros((rows, columns))
    found[: matrix.shape[0], : matrix.shape[1]] = matrix
    return found


def repeated(values: Array, period: int, slots: int) -> Array:
    """Values, then zeros up to a period, again and again."""
    found = np.zeros(period)
    found[: len(values)] = values
    return np.tile(found, slots // period)
