"""Scales channels to similar sizes, where this leaves the float network's outputs unchanged.

If a function has ``f(s x) = s^d f(x)`` for all ``s > 0``, channel ``c`` before it may be multiplied
by ``s_c``, and the maps that read it divided by ``s_c^d`` (cross-layer equalisation: Nagel, van
Baalen, Blankevoort, Welling, "Data-Free Quantization Through Weight Equalization and Bias
Correction", ICCV 2019, for ``d = 1``). A square has ``d = 2``. Channels share a table and its grid.
Without scaling, one large channel leaves no resolution for the others.

A ReLU with a largest value, such as ReLU6, is a ReLU for channels that stay below it. They may
grow up to it.

The channels of the last layer share a bound. They are scaled too, and the client divides by the
factors."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from palladion.nn.floats import elementary
from palladion.nn.floats.exact_sums import add_up, average
from palladion.nn.floats.expression import Expression
from palladion.nn.floats.graph import Array, Conv, Window
from palladion.nn.quantisation.collect.statistics import ChannelStatistics
from palladion.nn.quantisation.plan.form import (
    Form,
    Term,
    drop_inputs,
    measure_weights,
    scale_inputs,
)
from palladion.nn.quantisation.plan.planner import Planned
from palladion.nn.quantisation.rounding.units import largest_level
from palladion.nn.quantisation.settings import Settings

POWERS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Exponents of the factors to try. With 0 sizes stay as they are, with 1 they become equal."""

WORTHWHILE: Final = 0.8
"""Channels are scaled only if that lowers the predicted error to this fraction or below."""

SIMILAR_SIZES: Final = 8
"""Channels of the last layer keep one unit if their sizes differ by at most this factor. Then their
integers can be compared."""

NEGATIVE_DIVISOR: Final = 2
"""Divisor of a channel's largest absolute value before the function. The quotient is the least size
of the channel: negative values need room in the accumulators, not in the table's output."""


def equalise(
    layers: list[Planned], statistics: list[ChannelStatistics], settings: Settings
) -> list[Planned]:
    """The layers with channels scaled if that reduces the predicted error of rounding."""
    groups = tie_layers(layers)
    scales = [np.ones(len(entry.low)) for entry in statistics]
    error = ErrorModel(layers, statistics, scales, settings)
    for group in groups:
        size = np.max([measure_sizes(statistics[k], error.degrees[k]) for k in group], axis=0)
        if not size.any():
            continue
        size = np.where(size > 0, size, size.max())
        room = np.min(
            [limit_factors(layers[k - 1], statistics[k], settings) for k in group], axis=0
        )
        capped = bool(np.isfinite(room).any())
        best, least = np.ones_like(size), error.predict(group, np.ones_like(size)) * WORTHWHILE
        for power in POWERS[1:]:
            # Below a largest value, channels that reach it stay as they are, and others grow.
            wanted = size.max() if capped else elementary.exp(average(elementary.log(size), axis=0))
            candidate = np.minimum(elementary.power(wanted / size, power), room)
            predicted = error.predict(group, candidate)
            if predicted < least:
                best, least = candidate, predicted
        for k in group:
            scales[k] = best
    return [
        scale_layer(layer, elementary.power(scales[k], 1 / error.degrees[k]), scales)
        for k, layer in enumerate(layers, start=1)
    ]


def equalise_outputs(
    layers: list[Planned], statistics: list[ChannelStatistics]
) -> tuple[list[Planned], Array]:
    """Scales the last layer's channels to equal sizes, if the sizes differ much.

    Returns the layers and the factors of these channels.
    """
    *others, last = layers
    reach, ones = statistics[-1].reach, np.ones(len(statistics[-1].reach))
    if last.product or last.largest is not None or not reach.any():
        return layers, ones
    # Other inputs may give larger values. With these factors, no channel can leave the bound
    # further than the channel with the largest possible value.
    most = np.abs(last.form.bias)
    for term in last.form.terms:
        if isinstance(term.map, Window) or term.map.steps is not None:
            return layers, ones
        weights = np.abs(term.map.weights).reshape(len(most), -1)
        most = most + add_up(weights, axis=1) * statistics[term.source].top.max()
    size = np.maximum(reach, most * (reach.max() / most.max()))
    size = np.where(size > 0, size, size.max())
    if size.max() <= SIMILAR_SIZES * size.min():
        return layers, ones
    rows = size.max() / size
    terms = tuple(term.scale_outputs(rows) for term in last.form.terms)
    form = Form(last.form.shape, terms, last.form.bias * rows)
    return [*others, replace(last, form=form)], rows


FAR_FROM_ZERO: Final = 4
"""The last layer's channels are moved to 0 if the middle of one is further from 0 than this many
times half of the largest range."""


def centre_outputs(
    layers: list[Planned], statistics: list[ChannelStatistics]
) -> tuple[list[Planned], Array]:
    """Moves the last layer's channels to 0 if they are far from it.

    Returns the layers and the numbers that the client adds. Without this, a large constant would
    fill the accumulators.
    """
    *others, last = layers
    middle = (statistics[-1].low + statistics[-1].high) / 2
    half = float((statistics[-1].high - statistics[-1].low).max()) / 2
    if (
        last.product
        or last.largest is not None
        or np.abs(middle).max() <= FAR_FROM_ZERO * half
        or not half
    ):
        return layers, np.zeros(len(middle))
    if any(isinstance(t.map, Window) or t.map.steps is not None for t in last.form.terms):
        return layers, np.zeros(len(middle))
    form = Form(last.form.shape, last.form.terms, last.form.bias - middle)
    return [*others, replace(last, form=form)], middle


def measure_sizes(entry: ChannelStatistics, degree: int) -> Array:
    """The size of each channel: its largest absolute value. Constant channels have size 0."""
    top = np.maximum(entry.top, entry.reach / NEGATIVE_DIVISOR) if degree == 1 else entry.top
    size: Array = top * (entry.variance > 0)
    return size


def scale_layer(layer: Planned, rows: Array, scales: list[Array]) -> Planned:
    """The layer with its channels times ``rows`` and the sources' channels times ``scales``."""
    if all(np.all(s == 1) for s in (rows, *(scales[t.source] for t in layer.form.terms))):
        return layer
    terms = []
    for term in layer.form.terms:
        if not isinstance(term.map, Window):  # windows have equal factors on both sides
            term = scale_inputs(term, 1 / scales[term.source]).scale_outputs(rows)
        terms.append(term)
    form = Form(layer.form.shape, tuple(terms), layer.form.bias * rows)
    return replace(layer, form=form)


def limit_factors(layer: Planned, entry: ChannelStatistics, settings: Settings) -> Array:
    """The largest factor of each channel with which it stays below the maximum of its function.

    It is 1 for channels that reach the maximum, and infinite if the function has no maximum.
    """
    largest = find_cap(layer.function)
    if largest is None:
        return np.full(len(entry.high), np.inf)
    reach = np.maximum(entry.high, 0) * settings.headroom
    return np.where(reach < largest, largest / np.where(reach > 0, reach, largest), 1.0)


def find_cap(function: Expression | None) -> float | None:
    """The maximum of a clipped ReLU such as ReLU6; ``None`` for other functions."""
    if function is None or function.grid() is not None:
        return None
    largest = float(function(np.full(1, FARTHEST))[0])
    if not 0 < largest < FARTHEST:
        return None
    x = np.concatenate([np.linspace(-2 * largest, 2 * largest, 2001), [-FARTHEST]])
    same = np.allclose(function(x), np.clip(x, 0, largest), rtol=1e-9, atol=1e-9 * largest)
    return largest if same else None


def tie_layers(layers: list[Planned]) -> list[list[int]]:
    """Groups of layers whose channels may be scaled. The layers of a group share their factors.

    Layers are counted from 1.
    """
    parent = list(range(len(layers) + 1))
    fixed = {0, len(layers)}

    def root(k: int) -> int:
        return k if parent[k] == k else root(parent[k])

    for k, layer in enumerate(layers, start=1):
        if layer.product or layer.softmax or find_degree_or_cap(layer.function) is None:
            fixed.update((k, *(layer.product or ())))
        for term in layer.form.terms:
            if isinstance(term.map, Window):
                whole = term.map.first == 0 and term.channels == layer.form.shape[0]
                if whole and find_degree(layer.function) == 1:
                    parent[root(term.source)] = root(k)
                else:
                    fixed.update((k, term.source))
            elif term.map.steps is not None:  # keeps the model's own grid of weights
                fixed.add(term.source)
    still = {root(k) for k in fixed}
    groups: dict[int, list[int]] = {}
    for k in range(1, len(layers) + 1):
        if root(k) not in still:
            groups.setdefault(root(k), []).append(k)
    return list(groups.values())


FARTHEST: Final = 1e9
"""A value beyond the largest value of any function."""


def find_degree_or_cap(function: Expression | None) -> int | None:
    """As :func:`find_degree`, and 1 for a ReLU with a largest value."""
    return 1 if find_cap(function) is not None else find_degree(function)


DEGREES: Final = (1, 2, 3, 4)


def find_degree(function: Expression | None) -> int | None:
    """The ``d`` with ``f(s x) = s^d f(x)`` for ``s > 0``, if there is one and no grid."""
    if function is None or function.grid() is not None:
        return None
    x = np.linspace(-8, 8, 2001)
    once = function(x)
    scaled = {s: function(s * x) for s in (0.01, 0.37, 30.0)}
    return next((d for d in DEGREES if once.any() and all(
        np.allclose(values, s**d * once, rtol=1e-9, atol=1e-9 * s**d)
        for s, values in scaled.items())), None)  # fmt: skip


class ErrorModel:
    """Predicts the error of rounding: noise to signal before the functions of the next layers."""

    def __init__(
        self,
        layers: list[Planned],
        statistics: list[ChannelStatistics],
        scales: list[Array],
        settings: Settings,
    ) -> None:
        self.layers, self.statistics, self.scales = layers, statistics, scales
        self.settings = settings
        self.degrees = [1, *(find_degree_or_cap(layer.function) or 1 for layer in layers)]
        """The degree of each layer's function, layers from index 1. Factors apply after it."""
        self.readers: list[list[int]] = [[] for _ in range(len(layers) + 1)]
        for k, layer in enumerate(layers, start=1):
            for source in {term.source for term in layer.form.terms}:
                self.readers[source].append(k)

    def predict(self, group: list[int], scale: Array) -> float:
        """The error in the layers that read a group whose channels have the factors ``scale``.

        Three roundings cause it: of the group's weights, of its values, and of the weights of the
        layers that read it.
        """
        chosen = dict.fromkeys(group, scale)
        readers = sorted({reader for k in group for reader in self.readers[k]})
        noise = {k: self.predict_value_noise(k, chosen) for k in group}
        return sum(self.predict_input_noise(k, noise, chosen) for k in readers)

    def predict_value_noise(self, k: int, chosen: dict[int, Array]) -> Array:
        """The variance of the rounding error of each channel, after the function."""
        here, rows = self.statistics[k], self.get_factors(k, chosen)
        bits, slope = self.settings.activations, here.active
        step = (rows * here.top).max() / (2**bits - 1) / rows
        if (d := self.degrees[k]) > 1:  # the function's steepest slope on the data
            slope = np.square(d * here.top / np.where(here.reach > 0, here.reach, 1))
        variance: Array = step**2 / 12 * here.varies + self.predict_weight_noise(k, chosen) * slope
        return variance

    def predict_weight_noise(self, k: int, chosen: dict[int, Array]) -> Array:
        """The variance that rounded weights add to each channel, before the function."""
        layer, here = self.layers[k - 1], self.statistics[k]
        rows = elementary.power(self.get_factors(k, chosen), 1 / self.degrees[k])
        finest = (rows * here.reach).max() * self.settings.headroom / self.settings.limit
        noise = np.zeros(len(rows))
        for term in layer.form.terms:
            if isinstance(term.map, Window):
                continue
            columns = self.get_factors(term.source, chosen)
            widest = rows * self.find_largest(term, 1 / columns)
            if not self.settings.per_channel:
                widest = np.full_like(widest, widest.max())
            asked = widest / largest_level(self.settings.weights)
            # Steps are whole units. The limit allows no finer unit.
            steps = np.maximum(np.ceil(asked / (finest or 1.0)), 1) * finest / rows
            power = (columns**2 * self.statistics[term.source].power).mean() * term.map.weights[
                0
            ].size
            noise += steps**2 / 12 * power
        return noise

    def find_largest(self, term: Term, factor: Array) -> Array:
        """The largest weight of each output channel. Inputs that are constant do not count."""
        counted = drop_inputs(term, ~self.statistics[term.source].varies)
        largest: Array = measure_weights(counted, factor)[1].max(axis=1)
        return largest

    def predict_input_noise(
        self, k: int, noise: dict[int, Array], chosen: dict[int, Array]
    ) -> float:
        """Noise to signal before a layer's function: the mean over its channels."""
        layer, here = self.layers[k - 1], self.statistics[k]
        total = np.zeros(len(here.low)) if k in chosen else self.predict_weight_noise(k, chosen)
        for term in layer.form.terms:
            added = noise.get(term.source)
            if added is None:
                continue
            if isinstance(term.map, Window):
                span = slice(term.map.first, term.map.first + term.channels)
                total[span] += np.square(term.map.taps).sum() * added
            else:
                one = np.ones(len(added))
                squares = measure_weights(term, one)[0]
                groups = term.map.groups if isinstance(term.map, Conv) else 1
                each = added.reshape(groups, -1).repeat(len(squares) // groups, axis=0)
                total += (squares * each).sum(axis=1)
        counted = here.variance > 0
        return float(np.mean(total[counted] / here.variance[counted])) if counted.any() else 0.0

    def get_factors(self, k: int, chosen: dict[int, Array]) -> Array:
        return chosen.get(k, self.scales[k])
