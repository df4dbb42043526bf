"""Grids of activations: which real numbers the integers of a table's output stand for."""

from __future__ import annotations

from typing import Final

import numpy as np

from palladion.nn.floats import elementary
from palladion.nn.floats.exact_sums import average
from palladion.nn.floats.expression import Grid
from palladion.nn.floats.graph import Array
from palladion.nn.quantisation.settings import Settings

SEARCH_VALUES: Final = 50_000
"""Number of values that a search uses."""


def choose_grid(values: Array, bits: int, settings: Settings) -> Grid:
    """Chooses a grid of ``2**bits`` integers for values on calibration data, by the set method.

    The grid contains 0. If no value is negative its integers start at 0. Otherwise they cover the
    range of the values. A table may output any integers, so symmetry is not needed.
    """
    flat = values.ravel()
    step = max(1, flat.size // SEARCH_VALUES)
    low, high = float(flat.min()), float(flat.max())
    if settings.method == "percentile":
        low, high = np.percentile(flat[::step], [100 - settings.percentile, settings.percentile])
    whole = fit_grid(min(low, 0.0), max(high, 0.0), bits)
    if settings.method != "mse":
        return whole
    sample = flat[::step].astype(np.float64)
    shares = elementary.space_geometrically(0.15, 1, 60)
    candidates = [fit_grid(min(low, 0.0) * s, max(high, 0.0) * s, bits) for s in shares]
    return min(candidates, key=lambda candidate: measure_grid_error(sample, candidate))


def make_symmetric_grid(values: Array, bits: int) -> Grid:
    """A grid that covers all values, with as many integers below 0 as above."""
    most = 2 ** (bits - 1) - 1
    largest = float(np.abs(values).max()) or 1.0
    return Grid(largest / most, -most, most)


def fit_grid(low: float, high: float, bits: int) -> Grid:
    """The grid with ``2**bits`` integers from ``low <= 0`` to ``high >= 0``."""
    count = 2**bits - 1
    scale = (high - low) / count or 1.0
    lo = int(np.rint(low / scale))
    return Grid(scale, lo, lo + count)


def measure_grid_error(values: Array, grid: Grid) -> float:
    """Mean squared error of rounding to a grid."""
    errors = values / grid.scale
    np.rint(errors, out=errors)
    np.clip(errors, grid.lo, grid.hi, out=errors)
    errors *= grid.scale
    errors -= values
    errors *= errors
    return float(average(errors, axis=0))
