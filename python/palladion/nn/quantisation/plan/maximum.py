"""Max pooling as linear groups and tables: ``max(a, b) = relu(a - b) + b``.

The maximum is a tree over the columns, then one over the rows. Each step is one table, on
differences. The sums stay linear forms, so the next difference is computed from the form itself. In
integers this is exact. Windows whose size is no power of two overlap, which does not change a
maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from palladion.nn.floats.geometry import Geometry, add_pads
from palladion.nn.floats.graph import Window
from palladion.nn.quantisation.plan.form import Form

Emit = Callable[[str, Form], Form]
"""Emits a layer ``relu(form)`` of a name, and returns its value as a form."""


def plan_maximum(name: str, form: Form, geometry: Geometry, emit: Emit) -> Form:
    """The largest value in each window, for a form of one pointwise term."""
    form = shift_form(form, geometry.pads)
    for axis, word in ((1, "columns"), (0, "rows")):
        taps, dilation, stride = (
            geometry.kernel[axis], geometry.dilation[axis], geometry.stride[axis]
        )  # fmt: skip
        have, count = 1, 0
        while have < taps:
            step = min(have, taps - have)
            count += 1
            now = stride if have + step == taps else 1
            difference = subtract_shifted(form, axis, step * dilation, now)
            above = emit(f"{name}.{word}{count}", difference)
            beside = stride_form(shift_form(form, pad_by_offset(axis, step * dilation)), axis, now)
            form = Form(above.shape, (*above.terms, *beside.terms), above.bias)
            have += step
        if taps == 1:
            form = stride_form(form, axis, stride)
    return form


def pad_by_offset(axis: int, places: int) -> tuple[int, int, int, int]:
    """Negative pads that cut ``places`` rows or columns off at the start."""
    return (-places, 0, 0, 0) if axis == 0 else (0, -places, 0, 0)


def change_windows(form: Form, change: Callable[[Window], Window]) -> Form:
    """The form with ``change`` applied to the window of each term. The shape follows."""
    terms = []
    for term in form.terms:
        assert isinstance(term.map, Window), "a maximum is taken of windows"
        terms.append(replace(term, map=change(term.map)))
    return Form(terms[0].map.shape, tuple(terms), form.bias)


def resize_window(window: Window, geometry: Geometry, taps: np.ndarray) -> Window:
    """The window with another geometry. Its input keeps the size that the old geometry implies."""
    before = window.geometry
    rows, columns = (
        (size - 1) * stride + span - pads
        for size, stride, span, pads in zip(
            window.shape[1:], before.stride, before.span,
            (before.pads[0] + before.pads[2], before.pads[1] + before.pads[3]), strict=True,
        )
    )  # fmt: skip
    shape = (window.shape[0], *geometry.output((rows, columns)))
    return replace(window, taps=taps, geometry=geometry, shape=shape)


def shift_form(form: Form, pads: tuple[int, int, int, int]) -> Form:
    def change(window: Window) -> Window:
        geometry = window.geometry.with_pads(add_pads(window.geometry.pads, pads))
        return resize_window(window, geometry, window.taps)

    return change_windows(form, change)


def stride_form(form: Form, axis: int, stride: int) -> Form:
    def change(window: Window) -> Window:
        return resize_window(window, multiply_stride(window.geometry, axis, stride), window.taps)

    return change_windows(form, change)


def subtract_shifted(form: Form, axis: int, offset: int, stride: int) -> Form:
    """Each value minus the value that is ``offset`` places further."""

    def change(window: Window) -> Window:
        geometry = multiply_stride(window.geometry, axis, stride)
        kernel, dilation = [1, 1], [1, 1]
        kernel[axis], dilation[axis] = 2, offset
        geometry = replace(
            geometry, kernel=(kernel[0], kernel[1]), dilation=(dilation[0], dilation[1])
        )
        taps = window.taps[0, 0] * np.array([1.0, -1.0]).reshape(kernel)
        return resize_window(window, geometry, taps)

    return change_windows(form, change)


def multiply_stride(geometry: Geometry, axis: int, stride: int) -> Geometry:
    strides = list(geometry.stride)
    strides[axis] *= stride
    return replace(geometry, stride=(strides[0], strides[1]))
