"""Removes constant channels. Biases of the layers that read them take over their contribution.

A channel is constant if its function has one value on the channel's whole range. This is *proven*
by interval arithmetic over the possible integers of its sources. Or it is *measured*: the function
keeps its value even if inputs leave their calibrated range by the range's width."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palladion.nn.floats import elementary
from palladion.nn.floats.exact_sums import add_up
from palladion.nn.floats.expression import Expression
from palladion.nn.floats.graph import Array, Conv, Window
from palladion.nn.quantisation.collect.statistics import ChannelStatistics
from palladion.nn.quantisation.plan.form import Form, drop_inputs, spread_channels
from palladion.nn.quantisation.plan.planner import Planned

Range = tuple[float, float]

POINTS = 513
"""Number of points of an interval at which a function is evaluated."""


@dataclass(frozen=True)
class DeadChannels:
    """The constant channels that were removed from a layer: counts of proven and measured ones.

    ``distance`` is about the measured ones: how far their inputs are from a change of the function,
    in widths of a channel's calibrated range. It is at least 1.
    """

    layer: str
    proven: int
    measured: int
    distance: float

    def warning(self) -> str | None:
        """The warning about channels that are constant on the data only, if there are any."""
        if not self.measured:
            return None
        return (
            f"layer {self.layer}: {self.measured} channels gave one value on all calibration data "
            f"and are taken for constant; to change, values would have to leave their range by "
            f"{self.distance:.1f} times its width. Calibrate on data that reach them if they count"
        )


def fold_constants(
    layers: list[Planned],
    statistics: list[ChannelStatistics],
    ranges: list[Range],
    *,
    measured: bool,
) -> tuple[list[Planned], list[DeadChannels]]:
    """Removes constant channels. Returns the layers and the removed channels.

    ``ranges`` holds the smallest and the largest value of each source in real numbers, input first.
    With ``measured``, channels that are constant on the data only are removed too.
    """
    layers, removed = list(layers), []
    for k, layer in enumerate(layers, start=1):
        if layer.function is None or layer.product or layer.softmax or layer.exact:
            continue
        if any(isinstance(t.map, Window) for t in layer.form.terms):
            continue
        entry, (low, high) = statistics[k], bound_form(layer.form, ranges)
        proven = is_constant(layer.function, low, high)
        width = entry.high - entry.low
        by_data = is_constant(layer.function, entry.low - width, entry.high + width) & ~proven
        dead = proven | (by_data & measured)
        if not dead.any():
            continue
        value = layer.function(np.where(proven, (low + high) / 2, entry.high))
        layers[k - 1] = silence_channels(
            layer, dead, np.where(proven, (low + high) / 2, entry.high), entry
        )
        for j in range(k, len(layers)):
            layers[j] = move_into_bias(layers[j], k, np.where(dead, value, np.nan))
        only = by_data & measured
        away = measure_distance(layer.function, entry, only)
        removed.append(DeadChannels(layer.name, int(proven.sum()), int(only.sum()), away))
    return layers, removed


def bound_form(form: Form, ranges: list[Range]) -> tuple[Array, Array]:
    """The smallest and the largest value of each channel of a form, by interval arithmetic."""
    low, high = form.bias.copy(), form.bias.copy()
    for term in form.terms:
        assert not isinstance(term.map, Window), "the caller has checked it"
        flat = term.map.weights.reshape(len(low), -1)
        ends = sorted(ranges[term.source])
        above, below = (add_up(part, axis=1) for part in (np.maximum(flat, 0), np.minimum(flat, 0)))
        low = low + above * ends[0] + below * ends[1]
        high = high + above * ends[1] + below * ends[0]
    return low, high


def is_constant(function: Expression, low: Array, high: Array) -> Array:
    """For each channel, whether the function has one value from ``low`` to ``high``."""
    shares = np.linspace(0, 1, POINTS)[:, None]
    values = function(low + shares * (high - low))
    constant: Array = (values == values[0]).all(axis=0)
    return constant


def measure_distance(function: Expression, entry: ChannelStatistics, channels: Array) -> float:
    """How far all channels may leave their calibrated ranges without a change of the function.

    The unit is the width of a range. Distances up to 100 are tried.
    """
    low, high = entry.low[channels], entry.high[channels]
    width = high - low
    reached = 1.0
    for times in elementary.space_geometrically(1, 100, 41):
        if not is_constant(function, low - times * width, high + times * width).all():
            break
        reached = float(times)
    return reached


def silence_channels(layer: Planned, dead: Array, at: Array, entry: ChannelStatistics) -> Planned:
    """A layer whose dead channels have zero weights and the bias ``at``.

    If the function has the same value there, the bias is moved into the range of the other
    channels: it must not need a larger bound.
    """
    assert layer.function is not None, "the caller has checked it"
    limit = entry.reach[~dead].max(initial=0)
    near = np.clip(at, -limit, limit)
    at = np.where(layer.function(near) == layer.function(at), near, at)
    terms = []
    for term in layer.form.terms:
        assert not isinstance(term.map, Window), "the caller has checked it"
        keep = ~dead.reshape(-1, *[1] * (term.map.weights.ndim - 1))
        terms.append(replace(term, map=replace(term.map, weights=term.map.weights * keep)))
    bias = np.where(dead, at, layer.form.bias)
    return replace(layer, form=replace(layer.form, terms=tuple(terms), bias=bias))


def move_into_bias(layer: Planned, source: int, constants: Array) -> Planned:
    """A layer that has a source's constant channels in its bias and not in its weights.

    ``constants`` has the value of each channel, or NaN if the channel is not constant.
    """
    dead, values = ~np.isnan(constants), np.nan_to_num(constants)
    terms, bias = [], layer.form.bias
    for term in layer.form.terms:
        if term.source == source and not isinstance(term.map, Window):
            padded = isinstance(term.map, Conv) and term.map.geometry.padded
            gone = dead & (values == 0) if padded else dead
            flat = (term.map.weights * spread_channels(term, values * gone)).reshape(len(bias), -1)
            bias = bias + add_up(flat, axis=1)
            term = drop_inputs(term, gone)
        terms.append(term)
    return replace(layer, form=replace(layer.form, terms=tuple(terms), bias=bias))
