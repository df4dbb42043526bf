"""Linear forms: sums of linear maps of earlier layers' outputs, with one bias per channel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palladion.nn.floats.geometry import Geometry
from palladion.nn.floats.graph import Array, Conv, Dense, Shape, Window

Linear = Conv | Dense | Window


@dataclass(frozen=True)
class Term:
    """One linear map of ``source``: 0 is the input, ``k`` the output of layer ``k`` from 1.

    Biases of the map are not used. The form has the bias.
    """

    source: int
    channels: int
    """Number of channels of the source."""
    map: Linear

    def scale_outputs(self, scale: Array) -> Term:
        """The term with its output channels multiplied by ``scale``."""
        return replace(self, map=scale_map(self.map, scale, self.channels))


@dataclass(frozen=True)
class Form:
    """A linear form: the sum of its terms plus ``bias``, with results of shape ``shape``."""

    shape: Shape
    terms: tuple[Term, ...]
    bias: Array

    def scale_and_shift(self, scale: Array, shift: Array) -> Form:
        """``scale * form + shift`` per channel."""
        terms = tuple(term.scale_outputs(scale) for term in self.terms)
        return Form(self.shape, terms, self.bias * scale + shift)

    def largest_weights(self) -> Array:
        """The largest weight of each channel, or 1 if all are 0."""
        largest = np.zeros(self.shape[0])
        for term in self.terms:
            if isinstance(term.map, Window):
                span = slice(term.map.first, term.map.first + term.channels)
                largest[span] = np.maximum(largest[span], np.abs(term.map.taps).max())
            else:
                rows = np.abs(term.map.weights).reshape(len(largest), -1).max(axis=1)
                largest = np.maximum(largest, rows)
        return np.where(largest > 0, largest, 1.0)

    def only_places(self) -> bool:
        """True if the form only places its sources beside each other along the channels."""
        return not self.bias.any() and all(
            isinstance(t.map, Window) and t.map.geometry.pointwise for t in self.terms
        )

    def compose(self, node: Linear) -> Form | None:
        """The form of ``node`` after this form; ``None`` if one form cannot hold both."""
        if isinstance(node, Window) and node.geometry.pointwise and not self.bias.any():
            if all(isinstance(t.map, Window) for t in self.terms):
                terms = tuple(replace(t, map=move_window(t.map, node)) for t in self.terms)
                return Form(node.shape, terms, np.zeros(node.shape[0]))
            return None
        if isinstance(node, Window) or not self.only_places():
            return None
        if isinstance(node, Conv) and node.groups != 1:
            return None
        terms = tuple(replace(t, map=select_inputs(node, self.shape, t)) for t in self.terms)
        return Form(node.shape, terms, node.bias)


def wrap_map(source: int, channels: int, node: Linear) -> Form:
    """The form with one term: ``node`` on a source with ``channels`` channels."""
    bias = np.zeros(node.shape[0]) if isinstance(node, Window) else node.bias
    return Form(node.shape, (Term(source, channels, node),), bias)


def wrap_value(source: int, shape: Shape) -> Form:
    """The form that gives the value of a source unchanged."""
    return wrap_map(source, shape[0], Window("identity", (), shape, np.ones((1, 1)), Geometry()))


def add_forms(forms: list[Form], signs: tuple[int, ...]) -> Form:
    """The sum of forms of one shape, each with a sign."""
    terms: list[Term] = []
    bias = np.zeros(forms[0].shape[0])
    for form, sign in zip(forms, signs, strict=True):
        signed = (
            form
            if sign > 0
            else form.scale_and_shift(np.full(len(bias), -1.0), np.zeros(len(bias)))
        )
        terms += signed.terms
        bias = bias + signed.bias
    return Form(forms[0].shape, tuple(terms), bias)


def scale_map(map_: Linear, scale: Array, channels: int) -> Linear:
    """The map with its output channels multiplied by ``scale``."""
    if isinstance(map_, Window) and np.all(scale == scale[0]):
        return replace(map_, taps=map_.taps * scale[0])
    if isinstance(map_, Window):
        return to_conv(map_, scale, channels)
    factor = scale.reshape(-1, *[1] * (map_.weights.ndim - 1))
    steps = None if map_.steps is None or not np.all(scale) else map_.steps * np.abs(scale)
    return replace(map_, weights=map_.weights * factor, steps=steps)


def to_conv(window: Window, scale: Array, channels: int) -> Conv:
    """A window times a factor for each channel. Only a convolution can hold that."""
    count = window.shape[0]
    if window.first == 0 and channels == count:
        weights = scale[:, None, None, None] * window.taps
        return Conv(window.name, (), window.shape, weights, np.zeros(count), window.geometry, count)
    weights = np.zeros((count, channels, *window.taps.shape))
    for channel in range(channels):
        weights[window.first + channel, channel] = scale[window.first + channel] * window.taps
    return Conv(window.name, (), window.shape, weights, np.zeros(count), window.geometry)


def move_window(inner: Linear, outer: Window) -> Window:
    """The window ``outer`` after ``inner``, as one window. ``outer`` is pointwise."""
    assert isinstance(inner, Window), "the caller has checked it"
    taps = inner.taps * outer.taps[0, 0]
    return replace(inner, shape=outer.shape, taps=taps, first=inner.first + outer.first)


def select_inputs(node: Conv | Dense, shape: Shape, term: Term) -> Linear:
    """The columns of a map that read one term of a form that places values side by side."""
    placed = term.map
    assert isinstance(placed, Window), "the caller has checked it"
    chosen = slice(placed.first, placed.first + term.channels)
    factor = placed.taps[0, 0]
    steps = None if node.steps is None else node.steps * abs(factor)
    if isinstance(node, Conv):
        return replace(node, weights=node.weights[:, chosen] * factor, steps=steps)
    weights = node.weights.reshape(len(node.weights), *shape)[:, chosen] * factor
    return replace(node, weights=weights.reshape(len(weights), -1), steps=steps)


def scale_inputs(term: Term, factor: Array) -> Term:
    """The term with its input channels multiplied by ``factor``. It must not be a window."""
    map_ = term.map
    assert not isinstance(map_, Window), "a window has one kernel for all channels"
    uniform = bool(np.all(factor == factor[0]))
    steps = map_.steps * abs(factor[0]) if uniform and map_.steps is not None else None
    return replace(
        term, map=replace(map_, weights=map_.weights * spread_channels(term, factor), steps=steps)
    )


def spread_channels(term: Term, channels: Array) -> Array:
    """Repeats one number for each channel of the source, in the order of the term's weights."""
    map_ = term.map
    if isinstance(map_, Dense):
        return np.repeat(channels, map_.weights.shape[1] // term.channels)
    assert isinstance(map_, Conv), "a window has one kernel for all channels"
    each = map_.weights.shape[0] // map_.groups
    return channels.reshape(map_.groups, -1).repeat(each, axis=0)[:, :, None, None]


def measure_weights(term: Term, factor: Array) -> tuple[Array, Array]:
    """Sum of squares and largest absolute value of the weights times ``factor``, by input channel.

    Both have shape (K, input channels that an output channel reads).
    """
    map_ = term.map
    assert not isinstance(map_, Window), "a window has one kernel for all channels"
    weights = np.abs(map_.weights * spread_channels(term, factor))
    count = map_.weights.shape[1] if isinstance(map_, Conv) else term.channels
    weights = weights.reshape(len(weights), count, -1)
    return np.square(weights).sum(axis=2), weights.max(axis=2)


def drop_inputs(term: Term, gone: Array) -> Term:
    """The term without the input channels ``gone``. It must not be a window."""
    map_ = term.map
    assert not isinstance(map_, Window), "a window has one kernel for all channels"
    return replace(
        term, map=replace(map_, weights=map_.weights * spread_channels(term, 1.0 - gone))
    )
