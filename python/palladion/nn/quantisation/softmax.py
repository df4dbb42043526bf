"""Softmax in the three steps of Athena (MICRO 2025, section 3.2.3).

A table of exponentials, a table of the scaled inverse of their sum, and the product of both. The
largest exponential on the calibration data is the largest integer of the first table; the second
table's unit is such that a product is at most the limit of accumulators over the headroom.
"""

from __future__ import annotations

from math import floor

import numpy as np

from palladion.nn.expression import Expression, Grid, X, apply, constant
from palladion.nn.geometry import Geometry
from palladion.nn.graph import Array, Conv, Shape
from palladion.nn.quantisation.settings import Settings


def ones(name: str, shape: Shape) -> Conv:
    """The sum over the channels of a value of shape ``shape``."""
    channels, rows, columns = shape
    weights = np.ones((1, channels, 1, 1))
    return Conv(name, (), (1, rows, columns), weights, np.zeros(1), Geometry())


def exponential(reference: Array, settings: Settings) -> tuple[Expression, Grid]:
    """``exp(x - c)``, 1 from ``c`` on, the largest value on the calibration data."""
    most = 2**settings.activations - 1
    above = apply("sub", X, constant(float(reference.max())))
    return apply("exp", apply("min", above, constant(0))), Grid(1 / most, 0, most)


def inverse(step: float, settings: Settings) -> tuple[Expression, Grid]:
    """``1 / x`` for a sum of exponentials of scale ``step``; that of one step for all below."""
    most = floor(settings.limit / settings.headroom)
    return apply("div", constant(1), apply("max", X, constant(step))), Grid(
        1 / (step * most), 0, most
    )
