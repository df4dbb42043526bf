"""Softmax in the three steps of Athena (MICRO 2025, section 3.2.3).

The steps are a table of exponentials, a table of the scaled inverse of their sum, and the product
of both. A table resolves only a few powers of e. If the largest value differs much between
inputs, it is therefore subtracted first. It may be approximate, computed from requantised values:
an error common to all channels does not change a softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log

import numpy as np

from palladion.nn.floats.expression import Expression, Grid, X, apply, constant
from palladion.nn.floats.geometry import Geometry
from palladion.nn.floats.graph import Array, Conv, Shape
from palladion.nn.quantisation.plan.form import Form, Term, add_forms
from palladion.nn.quantisation.settings import Settings

LEAST_EXPONENTIAL = 16
"""The least integer that an input's largest exponential should have. Below it, rounding matters."""

Emit = Callable[[str, Form], int]
"""Emits a layer ``relu(form)`` of a name, and returns its number as a source."""


def mix_channels(name: str, shape: Shape, matrix: Array) -> Conv:
    """A pointwise convolution by a matrix over channels. ``shape`` has rows and columns."""
    rows = len(matrix)
    weights = matrix[:, :, None, None].astype(np.float64)
    return Conv(name, (), (rows, *shape[1:]), weights, np.zeros(rows), Geometry())


def sum_matrices(source: int, shape: Shape, matrices: dict[int, Array], name: str) -> Form:
    """The sum over layers of a matrix times the layer's value. ``source`` is one of the layers."""
    terms = [Term(s, m.shape[1], mix_channels(name, shape, m)) for s, m in matrices.items()]
    rows = len(matrices[source])
    return Form((rows, *shape[1:]), tuple(terms), np.zeros(rows))


def subtract_largest(form: Form, value: int, name: str, emit: Emit) -> Form:
    """``form`` minus its largest channel. The layer ``value`` has the form's values, requantised.

    The maximum is a tree of ``max(a, b) = relu(a - b) + b`` over the channels, exact in integers.
    """
    count = form.shape[0]
    parts = {value: np.eye(count)}
    step = 0
    while count > 1:
        half, step = (count + 1) // 2, step + 1
        lower = {source: matrix[count - half :] for source, matrix in parts.items()}
        difference = {source: matrix[:half] - lower[source] for source, matrix in parts.items()}
        word = f"{name}.max{step}"
        above = emit(word, sum_matrices(value, form.shape, difference, word))
        parts, count = {**lower, above: np.eye(half)}, half
    spread = {source: np.repeat(matrix, form.shape[0], axis=0) for source, matrix in parts.items()}
    return add_forms([form, sum_matrices(value, form.shape, spread, f"{name}.max")], (1, -1))


def needs_shift(largest: Array, settings: Settings) -> bool:
    """True if one shift for all inputs would leave some inputs with too small exponentials."""
    return float(largest.max() - largest.min()) > log(2**settings.activations / LEAST_EXPONENTIAL)


def make_exponential(reference: Array, settings: Settings) -> tuple[Expression, Grid]:
    """The function ``exp(min(x - c, 0))`` and its grid. ``c`` is the largest value on the data."""
    most = 2**settings.activations - 1
    above = apply("sub", X, constant(float(reference.max())))
    return apply("exp", apply("min", above, constant(0))), Grid(1 / most, 0, most)


def make_inverse(step: float, settings: Settings) -> tuple[Expression, Grid]:
    """The function ``1 / max(x, step)`` and its grid, for a sum of exponentials of scale ``step``.

    The grid lets an exponential times the inverse be at most the limit divided by the headroom.
    """
    most = floor(settings.limit / settings.headroom)
    function = apply("div", constant(1), apply("max", X, constant(step)))
    return function, Grid(1 / (step * most), 0, most)
