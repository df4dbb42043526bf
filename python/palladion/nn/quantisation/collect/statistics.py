"""Evaluates the planned layers in real numbers, and collects statistics of each channel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from palladion.nn.floats.expression import Expression, apply, constant
from palladion.nn.floats.graph import Array, Window
from palladion.nn.quantisation.plan import softmax
from palladion.nn.quantisation.plan.form import Form
from palladion.nn.quantisation.plan.planner import Planned
from palladion.nn.quantisation.settings import Settings


@dataclass(frozen=True)
class ChannelStatistics:
    """Statistics of the channels of one layer, each an array of shape (C,).

    Before the function: ``low`` and ``high`` are the smallest and the largest value, and
    ``variance`` that of all values. After it: ``least`` and ``most`` are the smallest and the
    largest value, ``power`` is the mean square, ``active`` is the share of values that are not 0.
    """

    low: Array
    high: Array
    variance: Array
    least: Array
    most: Array
    power: Array
    active: Array

    @property
    def varies(self) -> Array:
        """For each channel, whether its values after the function differ."""
        varies: Array = self.most > self.least
        return varies

    @property
    def top(self) -> Array:
        """Largest absolute value after the function."""
        top: Array = np.maximum(np.abs(self.least), np.abs(self.most))
        return top

    @property
    def reach(self) -> Array:
        """Largest absolute value before the function."""
        reach: Array = np.maximum(np.abs(self.low), np.abs(self.high))
        return reach


def collect_statistics(
    layers: list[Planned], inputs: Array, settings: Settings
) -> list[ChannelStatistics]:
    """Statistics of the input and of each layer. ``inputs`` are real numbers, (N, C, H, W)."""
    statistics = [measure_channels(inputs, inputs)]
    statistics += [
        measure_channels(before, after)
        for before, after in evaluate_layers(layers, inputs, settings)
    ]
    return statistics


def measure_channels(before: Array, after: Array) -> ChannelStatistics:
    axes = (0, 2, 3)
    return ChannelStatistics(
        low=before.min(axis=axes).astype(np.float64),
        high=before.max(axis=axes).astype(np.float64),
        variance=before.var(axis=axes, dtype=np.float64),
        least=after.min(axis=axes).astype(np.float64),
        most=after.max(axis=axes).astype(np.float64),
        power=np.square(after, dtype=np.float64).mean(axis=axes),
        active=np.mean(after != 0, axis=axes),
    )


def evaluate_layers(
    layers: list[Planned], inputs: Array, settings: Settings
) -> Iterator[tuple[Array, Array]]:
    """Yields each layer's values before and after its function."""
    values = {0: inputs}
    last_use = {s: i for i, planned in enumerate(layers) for s in planned.sources}
    for index, planned in enumerate(layers):
        if planned.product is not None:
            left, right = planned.product
            before = values[left] * values[right]
        else:
            before = evaluate_form(planned.form, values, planned.form.bias)
        function = choose_float_function(planned, before, settings)
        after = before if function is None else function(before).astype(before.dtype)
        yield before, after
        values[index + 1] = after
        for source in [s for s in values if last_use.get(s, -1) == index]:
            del values[source]


def choose_float_function(planned: Planned, before: Array, settings: Settings) -> Expression | None:
    """The function of a layer. That of a softmax's exponential depends on its inputs ``before``."""
    if planned.softmax == "exponential":
        return softmax.make_exponential(before, settings)[0]
    if planned.softmax == "inverse":
        return apply("div", constant(1), apply("max", Expression("x"), constant(1e-9)))
    return planned.function


def evaluate_form(form: Form, inputs: dict[int, Array], bias: Array) -> Array:
    """The values of a form. ``inputs`` holds its sources' values, and sets the precision."""
    first = inputs[form.terms[0].source]
    total = np.zeros((len(first), *form.shape), dtype=first.dtype)
    for term in form.terms:
        map_ = term.map
        if not isinstance(map_, Window):
            map_ = replace(map_, bias=np.zeros(form.shape[0]))
        total += map_.evaluate(inputs[term.source])
    total += bias.astype(first.dtype)[:, None, None]
    return total
