"""Softmax in the three steps of Athena (MICRO 2025, section 3.2.3).

The steps are a table of exponentials, a table of the scaled inverse of their sum, and the product
of both. Tables hold few powers of e. So if the largest value differs much between inputs, it is
subtracted first, approximately: it is computed from requantised values, since an error common to
all channels does not change a softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log

import numpy as np

from palladion.nn.expression import Expression, Grid, X, apply, constant
from palladion.nn.geometry import Geometry
from palladion.nn.graph import Array, Conv, Shape
from palladion.nn.quantisation.plan.form import Form, Term, add_forms
from palladion.nn.quantisation.settings import Settings

LEAST = 16
"""The least integer of the largest exponential of an input. Below it, rounding matters."""

Emit = Callable[[str, Form], int]
"""Makes a layer ``relu(form)`` with the given name, and returns its number as a source."""


def mix_channels(name: str, shape: Shape, matrix: Array) -> Conv:
    """A matrix over the channels of a value with rows and columns as ``shape``."""
    rows = len(matrix)
    weights = matrix[:, :, None, None].astype(np.float64)
    return Conv(name, (), (rows, *shape[1:]), weights, np.zeros(rows), Geometry())


def sum_matrices(source: int, shape: Shape, matrices: dict[int, Array], name: str) -> Form:
    """The sum of matrices times the values of layers. ``source`` is one of the layers."""
    terms = [Term(s, m.shape[1], mix_channels(name, shape, m)) for s, m in matrices.items()]
    rows = len(matrices[source])
    return Form((rows, *shape[1:]), tuple(terms), np.zeros(rows))


def subtract_largest(form: Form, value: int, name: str, emit: Emit) -> Form:
    """``form`` minus the largest channel of ``value``, which has the same values requantised.

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
    """Whether a single shift for all inputs leaves the exponentials of some too small."""
    return float(largest.max() - largest.min()) > log(2**settings.activations / LEAST)


def make_exponential(reference: Array, settings: Settings) -> tuple[Expression, Grid]:
    """``exp(x - c)``, or 1 from ``c`` on, where ``c`` is the largest value on the data."""
    most = 2**settings.activations - 1
    above = apply("sub", X, constant(float(reference.max())))
    return apply("exp", apply("min", above, constant(0))), Grid(1 / most, 0, most)


def make_inverse(step: float, settings: Settings) -> tuple[Expression, Grid]:
    """``1 / x`` for a sum of exponentials of scale ``step``. Below one step it is that of one step.

    The unit is such that an exponential times the inverse is at most the limit over the headroom.
    """
    most = floor(settings.limit / settings.headroom)
    function = apply("div", constant(1), apply("max", X, constant(step)))
    return function, Grid(1 / (step * most), 0, most)
