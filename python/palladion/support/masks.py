"""Values of NumPy's masked arrays that are marked as missing."""

from __future__ import annotations

from typing import Any

import numpy as np


def masked(given: Any) -> int:
    """Number of masked values in an array, or in lists and tuples of arrays.

    ``numpy.asarray`` leaves a mask out and gives the numbers behind it.
    """
    if isinstance(given, np.ma.MaskedArray):
        return int(np.count_nonzero(np.ma.getmaskarray(given)))
    if isinstance(given, list | tuple):
        return sum(masked(part) for part in given if isinstance(part, list | tuple | np.ndarray))
    return 0
