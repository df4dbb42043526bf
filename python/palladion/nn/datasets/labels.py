"""Labels: one for each input, of the same kind as the model's classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError
from palladion.nn.ends.interface import array_of
from palladion.support.text import times

Array = npt.NDArray[Any]


def per_input(given: npt.ArrayLike, inputs: int, several: int = 0) -> Array:
    """Labels as an array with one entry for each input, or ``several`` in a row.

    Raises
    ------
    DataError
        If there is not one for each input, if they are one-hot rows, or neither numbers nor words.
    """
    y = array_of(given, "labels")
    if y.dtype.kind == "O":  # as in columns of a table
        y = np.array(y.tolist())
    if y.dtype.kind not in "fiubSU":
        raise DataError(f"labels of type {y.dtype}, expected numbers or words")
    if not y.ndim or len(y) != inputs:
        raise DataError(f"labels of shape {times(y.shape)}, expected one for each of {inputs} "
                        "inputs")  # fmt: skip
    if y.ndim == 2 and y.shape[1] == 1:
        return y[:, 0]
    if one_hot(y) and y.shape[1] != several:
        raise DataError(f"labels of shape {times(y.shape)} are one-hot rows, expected one class "
                        "for each input: give y.argmax(axis=1)")  # fmt: skip
    return y


def one_hot(y: Array) -> bool:
    """True if each row has a single 1 and otherwise 0."""
    if y.ndim != 2 or y.dtype.kind not in "fiub":
        return False
    return bool(((y == 0) | (y == 1)).all() and (y.sum(axis=1) == 1).all())


def check_alike(classes: Array, truth: Array, known: int | None = None) -> None:
    """Refuse labels that no class can equal. If ``known`` is given, classes are 0 to ``known`` - 1.

    Raises
    ------
    DataError
        If one are words and the others numbers, if shapes differ, or if a label is not a class.
    """
    words = [array.dtype.kind in "OSU" for array in (classes, truth)]
    if words[0] != words[1]:
        kinds = [repr(array.flat[0].item() if array.dtype.kind != "O" else array.flat[0])
                 for array in (classes, truth)]  # fmt: skip
        raise DataError(f"the model's classes are such as {kinds[0]}, the labels such as "
                        f"{kinds[1]}: give labels as the model has them")  # fmt: skip
    if classes.shape != truth.shape:
        raise DataError(f"labels of shape {times(truth.shape)}, expected {times(classes.shape)}")
    if known is not None and truth.size and not words[1]:
        low, high = truth.min(), truth.max()
        if low < 0 or high >= known:
            raise DataError(f"labels from {low} to {high}, the model's classes are 0 to "
                            f"{known - 1}: give labels as the model counts classes")  # fmt: skip
