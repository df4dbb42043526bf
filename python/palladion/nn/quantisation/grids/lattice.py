"""Linear forms with weights on grids: integer maps, and the possible values of their sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from palladion.nn.floats.graph import Array, Conv, Dense, Window
from palladion.nn.quantisation.plan.form import Form, Linear, Term, to_conv
from palladion.nn.quantisation.rounding.units import TINY

COMMON_PARTS: Final = 64
"""The largest number by which the smaller of two steps is divided in search of a common step."""


@dataclass(frozen=True)
class Integers:
    """The possible integers of a value: ``low`` to ``high`` of each channel, in equal strides."""

    low: Array
    high: Array
    stride: int = 1

    @classmethod
    def alike(cls, channels: int, low: int, high: int) -> Integers:
        return cls(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


@dataclass(frozen=True)
class Lattice:
    """A form in integers: channel ``c`` is exactly ``scale_c * sum + bias_c``.

    For any input, the sum is one of ``low, low + stride, ... high``.
    """

    terms: tuple[Term, ...]
    scale: Array
    low: Array
    high: Array
    stride: Array


def make_lattice(
    form: Form, scales: dict[int, float], values: dict[int, Integers]
) -> Lattice | str:
    """The form in integers, or the reason why there is none.

    ``scales`` and ``values`` have the scale and the possible integers of each source.
    """
    steps = []
    for term in form.terms:
        own_steps = find_steps(term.map, form.shape[0])
        if own_steps is None:
            return "its weights lie on no grid"
        if isinstance(term.map, Window):
            reach = np.zeros(form.shape[0])
            reach[term.map.first : term.map.first + term.channels] = 1
            own_steps = own_steps * reach
        steps.append(own_steps * scales[term.source])
    scale = steps[0]
    for other in steps[1:]:
        common = find_common_steps(scale, other)
        if common is None:
            return "it adds values whose scales have no common step"
        scale = common
    scale = np.where(scale > 0, scale, 1.0)
    terms = [round_weights(t, scale / scales[t.source], form.shape[0]) for t in form.terms]
    divisor = np.gcd.reduce([find_row_divisors(t, form.shape[0]) for t in terms])
    divisor = np.maximum(divisor, 1)
    if np.any(divisor > 1):
        terms = [divide_weights(t, divisor) for t in terms]
        scale = scale * divisor
    low, high, stride = bound_sums(tuple(terms), form.shape[0], values)
    return Lattice(tuple(terms), scale, low, high, stride)


def find_steps(map_: Linear, channels: int) -> Array | None:
    """The step of each output channel, of which its weights are multiples; 0 if they are all 0.

    ``None`` if a channel has no step.
    """
    if isinstance(map_, Window):
        step = find_common_divisor(np.abs(map_.taps).ravel())
        return None if step is None else np.full(channels, step)
    flat = np.abs(map_.weights).reshape(channels, -1)
    if map_.steps is not None:
        parts = flat / map_.steps[:, None]
        if np.allclose(parts, np.rint(parts), rtol=TINY, atol=TINY):
            return np.where(flat.any(axis=1), map_.steps, 0.0)
    divisors = [find_common_divisor(row) for row in flat]
    return None if any(step is None for step in divisors) else np.array(divisors, dtype=np.float64)


def find_common_divisor(values: Array) -> float | None:
    """The largest step of which all values are multiples; ``None`` if it would be tiny."""
    positive = np.unique(values[values > 0])
    if not len(positive):
        return 0.0
    if positive[-1] >= 2**15 * positive[0]:
        return None
    for parts in range(1, 9):
        step = float(positive[0]) / parts
        if np.allclose(positive / step, np.rint(positive / step), rtol=TINY, atol=0):
            return step
    return None


def find_common_steps(left: Array, right: Array) -> Array | None:
    """A common step for each channel, or ``None``. A channel without weights has the step 0."""
    common = np.zeros(len(left))
    for c, (a, b) in enumerate(zip(left, right, strict=True)):
        if not a or not b:
            common[c] = a or b
            continue
        small, large = sorted((a, b))
        for parts in range(1, COMMON_PARTS + 1):
            ratio = large * parts / small
            if abs(ratio - np.rint(ratio)) < TINY * ratio:
                common[c] = small / parts
                break
        else:
            return None
    return common


def round_weights(term: Term, step: Array, channels: int) -> Term:
    """The term with integer weights: multiples of each output channel's step."""
    map_ = term.map
    if isinstance(map_, Window):
        if np.all(step == step[0]):
            return replace(term, map=replace(map_, taps=np.rint(map_.taps / step[0])))
        map_ = to_conv(map_, 1 / step, term.channels)
        return replace(term, map=replace(map_, weights=np.rint(map_.weights)))
    factor = step.reshape(-1, *[1] * (map_.weights.ndim - 1))
    return replace(term, map=replace(map_, weights=np.rint(map_.weights / factor), steps=None))


def find_row_divisors(term: Term, channels: int) -> Array:
    """Greatest common divisor of each output channel's weights, or 0 if all are 0."""
    map_ = term.map
    if isinstance(map_, Window):
        window_divisors = np.zeros(channels, np.int64)
        taps = np.gcd.reduce(map_.taps.astype(np.int64).ravel())
        window_divisors[map_.first : map_.first + term.channels] = taps
        return window_divisors
    flat = map_.weights.astype(np.int64).reshape(channels, -1)
    divisors: Array = np.gcd.reduce(flat, axis=1)
    return divisors


def divide_weights(term: Term, divisor: Array) -> Term:
    """The term with the weights of each output channel divided by its divisor."""
    map_ = term.map
    if isinstance(map_, Window):
        if np.all(divisor == divisor[0]):
            return replace(term, map=replace(map_, taps=map_.taps / divisor[0]))
        map_ = to_conv(map_, 1 / divisor, term.channels)
        return replace(term, map=replace(map_, weights=np.rint(map_.weights)))
    factor = divisor.reshape(-1, *[1] * (map_.weights.ndim - 1))
    return replace(term, map=replace(map_, weights=map_.weights / factor))


def bound_sums(
    terms: tuple[Term, ...], channels: int, values: dict[int, Integers]
) -> tuple[Array, Array, Array]:
    """The smallest and largest sum of each channel and their stride, by interval arithmetic."""
    low, high = np.zeros(channels), np.zeros(channels)
    stride = np.zeros(channels, np.int64)
    for term in terms:
        possible, map_ = values[term.source], term.map
        least, most, each = possible.low, possible.high, possible.stride
        padded = not isinstance(map_, Dense) and map_.geometry.padded
        if padded:  # a sum may also read zeros of the padding
            each = int(np.gcd.reduce([each, *np.unique(np.abs(least))]))
            least, most = np.minimum(least, 0), np.maximum(most, 0)
        below, above = bound_term(term, channels, least, most)
        low, high = low + below, high + above
        stride = np.gcd(stride, find_row_divisors(term, channels) * each)
    return low.astype(np.int64), high.astype(np.int64), np.maximum(stride, 1)


def bound_term(term: Term, channels: int, least: Array, most: Array) -> tuple[Array, Array]:
    """The smallest and the largest sum of one term."""
    map_ = term.map
    if isinstance(map_, Window):
        below, above = np.zeros(channels), np.zeros(channels)
        up, down = np.maximum(map_.taps, 0).sum(), np.minimum(map_.taps, 0).sum()
        span = slice(map_.first, map_.first + term.channels)
        below[span], above[span] = up * least + down * most, up * most + down * least
        return below, above
    if isinstance(map_, Dense):
        each = map_.weights.shape[1] // term.channels
        left, right = np.repeat(least, each), np.repeat(most, each)
        flat = map_.weights
    else:
        assert isinstance(map_, Conv), "the three kinds of maps"
        count = map_.weights.shape[0] // map_.groups
        taps = map_.geometry.kernel[0] * map_.geometry.kernel[1]
        left, right = (
            side.reshape(map_.groups, -1).repeat(taps, axis=1).repeat(count, axis=0)
            for side in (least, most)
        )
        flat = map_.weights.reshape(channels, -1)
    up, down = np.maximum(flat, 0), np.minimum(flat, 0)
    return (up * left + down * right).sum(axis=1), (up * right + down * left).sum(axis=1)
