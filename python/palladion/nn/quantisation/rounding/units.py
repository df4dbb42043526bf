"""Rounds weights: chooses one unit for all terms of a layer, and the integers in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palladion.nn.floats.exact_sums import add_up
from palladion.nn.floats.graph import Array, Window
from palladion.nn.quantisation.plan.form import Form, Linear, Term
from palladion.nn.quantisation.settings import Settings

Scales = dict[int, float]
"""Real value of the integer 1 in the output of each source."""

WEAKEST = 16
"""A channel whose weights are smaller than the largest by this factor does not set the unit."""

TINY = 1e-6
"""Largest relative difference between weights and multiples of a step: float32's rounding."""


@dataclass(frozen=True)
class Unit:
    """The real value of one unit of a layer's accumulators.

    ``wanted`` is the unit with which weights have the width in the settings. ``value`` is larger if
    the limit on accumulators allows only a larger unit. ``step`` is a number of which all weights
    are multiples, if there is one. Then the unit is an integer fraction of it, and all weights are
    exact.
    """

    value: float
    wanted: float
    step: float | None = None

    @property
    def exact(self) -> bool:
        """True if rounding the weights loses nothing."""
        return self.step is not None

    def divide(self, parts: int) -> Unit:
        """An exact unit divided by ``parts``."""
        return replace(self, value=self.value / parts, wanted=self.wanted / parts)

    @property
    def coarsened(self) -> float:
        """The factor by which the unit is larger than the wanted one. At least 1."""
        return self.value / self.wanted


def choose_unit(
    form: Form, counted: Form, scales: Scales, finest: float, settings: Settings
) -> Unit:
    """Chooses the unit of a form. No finer unit than ``finest`` keeps the limit of accumulators.

    ``counted`` is the form with only the weights that must have the width in the settings.
    """
    multiple = find_common_step(form, scales)
    if multiple is not None and multiple[0] >= finest:
        step, most = multiple
        if not are_multiples(form.bias, step):
            # A fraction of the step rounds biases less. Width and limit bound its denominator.
            parts = min(largest_level(settings.weights) // most, step / max(finest, TINY * step))
            return Unit(step, step, step).divide(max(1, int(parts)))
        return Unit(step, step, step)
    wanted = max(find_wanted_unit(term, scales[term.source], settings) for term in counted.terms)
    if settings.per_channel:
        every = [
            find_channel_units(term.map, scales[term.source], settings) for term in counted.terms
        ]
        channels = np.concatenate(every)
        mattering = channels[channels > channels.max(initial=0) / WEAKEST]
        wanted = min([wanted, *mattering.tolist()])
    wanted = wanted or 1.0
    return Unit(max(wanted, finest), wanted)


def find_common_step(form: Form, scales: Scales) -> tuple[float, int] | None:
    """A step of which every weight times its source's scale is a small multiple, if there is one.

    Returns the step and the largest multiple.
    """
    every = [np.abs(get_weights(t.map)).ravel() * scales[t.source] for t in form.terms]
    products = np.concatenate([weights[weights > 0] for weights in every])
    if not len(products):
        return 1.0, 1
    step, most = float(products.min()), float(products.max())
    if most >= 256 * step or not np.allclose(
        products / step, np.rint(products / step), rtol=TINY, atol=0
    ):
        return None
    return step, int(np.rint(most / step))


def are_multiples(biases: Array, step: float) -> bool:
    """True if biases are integer multiples of a step, up to negligible differences."""
    return np.allclose(biases / step, np.rint(biases / step), rtol=0, atol=1e-3)


def get_weights(map_: Linear) -> Array:
    """The weights of a map, or the taps of a window."""
    return map_.taps if isinstance(map_, Window) else map_.weights


def largest_level(bits: int) -> int:
    """The largest integer of a symmetric grid."""
    return int(2 ** (bits - 1) - 1)


def find_wanted_unit(term: Term, scale: float, settings: Settings) -> float:
    """The unit in which the term's largest weight has the width in the settings."""
    return float(np.abs(get_weights(term.map)).max()) * scale / largest_level(settings.weights)


def find_channel_units(map_: Linear, scale: float, settings: Settings) -> Array:
    """The preferred unit of each output channel: the model's step, or a step by the width."""
    if isinstance(map_, Window):
        return np.zeros(0)
    if map_.steps is not None:
        own_steps: Array = map_.steps * scale
        return own_steps
    weights = np.abs(map_.weights).reshape(len(map_.weights), -1).max(axis=1)
    units: Array = weights * scale / largest_level(settings.weights)
    return units


@dataclass(frozen=True)
class RoundedMap:
    """A map with integer weights. In output channel ``k`` they are multiples of ``steps[k]``, by at
    most ``most``. A window's taps have no grid of their own: their steps are 1."""

    map: Linear
    steps: Array
    most: int
    bits: float
    """Bits of the weights in steps, including the sign."""


def round_map(
    term: Term, scale: float, unit: Unit, settings: Settings, counted: Term
) -> RoundedMap:
    """Rounds weights. A weight that is 0 in ``counted`` may be clipped to the width."""
    map_, factor = term.map, scale / unit.value
    if isinstance(map_, Window):
        taps = np.rint(map_.taps * factor)
        most = int(np.abs(taps).max())
        return RoundedMap(replace(map_, taps=taps), np.ones(map_.shape[0]), most, count_bits(taps))
    flat = map_.weights.reshape(len(map_.weights), -1) * factor
    if unit.exact:
        rounded, steps = np.rint(flat), np.ones((len(flat), 1))
    elif not settings.per_channel and map_.steps is None:
        largest = int(np.abs(np.rint(flatten_weights(counted) * factor)).max())
        end = max(largest_level(settings.weights), largest)
        rounded, steps = np.clip(np.rint(flat), -end, end), np.ones((len(flat), 1))
    else:
        wanted = find_channel_units(counted.map, factor, settings)
        rounded, steps = round_to_channel_grids(
            flat, wanted, flatten_weights(counted) != 0, (map_.steps, settings)
        )
    most = max(
        int(np.abs(rounded / steps).max()), 0 if unit.exact else largest_level(settings.weights)
    )
    whole = replace(map_, weights=rounded.reshape(map_.weights.shape))
    return RoundedMap(whole, steps[:, 0], most, count_bits(rounded / steps))


def flatten_weights(term: Term) -> Array:
    """The weights, one row for each output channel."""
    weights = get_weights(term.map)
    return weights.reshape(len(weights), -1)


def round_to_channel_grids(
    flat: Array, wanted: Array, counted: Array, widths: tuple[Array | None, Settings]
) -> tuple[Array, Array]:
    """Rounds weights to ``m q``: ``m`` is an integer of the channel, ``q`` has the weights' width.

    A channel takes one of the two integers next to its wanted step, the one with the smaller error
    in the weights that are counted. ``widths`` has the model's steps and the settings. Returns the
    rounded weights and the integers ``m``.
    """
    own_steps, settings = widths
    most = largest_level(settings.weights if own_steps is None else 8)
    best, steps = np.zeros_like(flat), np.ones((len(flat), 1))
    least = np.full((len(flat), 1), np.inf)
    for rounding in (np.floor, np.ceil):
        m = np.maximum(rounding(wanted - 1e-9), 1)[:, None]
        rounded = np.clip(np.rint(flat / m), -most, most) * m
        error = add_up((rounded - flat) ** 2 * counted, axis=1, keepdims=True)
        best = np.where(error < least, rounded, best)
        steps = np.where(error < least, m, steps)
        least = np.minimum(error, least)
    return best, steps


def count_bits(weights: Array) -> float:
    """Bits of integers with their sign: ``1 + log2(largest + 1)``."""
    return 1 + float(np.log2(np.abs(weights).max() + 1))
