"""Makes layers with rounded weights: unit, integers, bound and table, chosen on the data."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.floats.exact_sums import average
from palladion.nn.floats.expression import Expression, Grid
from palladion.nn.floats.graph import Array, Window
from palladion.nn.quantisation.collect.statistics import evaluate_form
from palladion.nn.quantisation.grids import lattice
from palladion.nn.quantisation.grids.lattice import Integers
from palladion.nn.quantisation.plan.form import Form, drop_inputs
from palladion.nn.quantisation.plan.planner import Planned, normalise_sign
from palladion.nn.quantisation.rounding import scales, units
from palladion.nn.quantisation.settings import LIMIT, Settings
from palladion.nn.quantisation.values import Group, IntegerLayer, Value, look_up
from palladion.nn.quantisation.write.layer_report import make_bound_error, make_limit_error

Sources = dict[int, Value]


def quantise_by_rounding(
    planned: Planned, sources: Sources, settings: Settings, *, has_data: bool
) -> IntegerLayer:
    """Makes a layer with rounded weights. Bounds hold for the data, or without data for all inputs.

    Raises
    ------
    NetworkError
        If the accumulators cannot keep the limit.
    """
    if planned.function is not None and planned.product is None:
        form, function = normalise_sign(planned.form, planned.function)
        planned = replace(planned, form=form, function=function)
    accumulate = accumulate_form if planned.product is None else multiply_factors
    group, accumulators, before = accumulate(planned, sources, settings)
    if has_data or planned.product is not None or planned.largest is not None:
        known = (planned.largest or 0.0) / group.unit.value
        largest = max(float(np.abs(accumulators).max()), known)
        bound = max(1, min(ceil(largest * settings.headroom), settings.limit))
    else:
        bound = find_worst_case(planned, group, sources, settings)
    channels = planned.form.shape[0]
    lost = (0.0, 0.0) if planned.product else measure_costs(planned, group, sources, settings)
    if planned.function is None:
        scale = group.unit.value
        value = Value(accumulators, before, scale, Integers.alike(channels, -bound, bound))
        return IntegerLayer(group, accumulators, None, bound, value, before,
                    output_scale=(scale,), costs=lost)  # fmt: skip
    after = planned.function(group.unit.value * np.clip(accumulators, -bound, bound))
    grid = choose_output_grid(planned, group.unit, after, settings)
    every = np.arange(-bound, bound + 1, dtype=np.float64) * group.unit.value
    table = np.clip(np.rint(planned.function(every) / grid.scale), grid.lo, grid.hi)
    outputs = look_up(table, bound, accumulators)
    wanted = planned.function(before).astype(np.float32)
    reach = Integers.alike(channels, int(table.min()), int(table.max()))
    own_grid = planned.function.grid() is not None
    value = Value(outputs, wanted, grid.scale, reach, own_grid)
    return IntegerLayer(group, accumulators, table, bound, value, before, costs=lost)


def find_worst_case(planned: Planned, group: Group, sources: Sources, settings: Settings) -> int:
    """The largest accumulator that any input can cause."""
    pairs = zip(planned.form.terms, group.maps, strict=True)
    terms = tuple(replace(t, map=m.map) for t, m in pairs)
    reach = {s: v.reach for s, v in sources.items()}
    low, high, _ = lattice.bound_sums(terms, planned.form.shape[0], reach)
    needed = int(np.abs(np.stack([low, high]) + group.bias).max())
    if needed > settings.limit:
        raise make_bound_error(planned.name, needed, settings)
    return max(needed, 1)


COST_INPUTS: Final = 64
"""Number of inputs on which the error of rounded weights is measured."""


def measure_costs(
    planned: Planned, group: Group, sources: Sources, settings: Settings
) -> tuple[float, float]:
    """Measures the relative error of rounded weights: RMS of the error over RMS of the values.

    Returns the error with these settings, and with a step for each channel and no limit.
    """
    form = planned.form
    few = {s: v.integers[:COST_INPUTS] for s, v in sources.items()}
    steps = {s: v.scale for s, v in sources.items()}
    exact = evaluate_form(form, {s: x * steps[s] for s, x in few.items()}, form.bias)
    signal = float(np.sqrt(np.mean(np.square(exact, dtype=np.float64)))) or 1.0

    def measure_error(unit: units.Unit, maps: list[units.RoundedMap]) -> float:
        terms = (replace(t, map=m.map) for t, m in zip(form.terms, maps, strict=True))
        whole = Form(form.shape, tuple(terms), form.bias / unit.value)
        difference = (evaluate_form(whole, few, whole.bias) * unit.value - exact).astype(np.float64)
        difference -= difference.mean(
            axis=(0, 2, 3), keepdims=True
        )  # biases compensate for the mean
        return float(np.sqrt(np.mean(np.square(difference)))) / signal

    now = measure_error(group.unit, list(group.maps))
    if group.unit.coarsened <= 1 and settings.per_channel:
        return now, now
    free = replace(settings, per_channel=True, limit=LIMIT)
    counted = drop_constant_inputs(form, sources)
    unit = units.choose_unit(form, counted, steps, 0.0, free)
    pairs = zip(form.terms, counted.terms, strict=True)
    return now, measure_error(
        unit, [units.round_map(t, steps[t.source], unit, free, c) for t, c in pairs]
    )


def drop_constant_inputs(form: Form, sources: Sources) -> Form:
    """The form without input channels that are constant on the data.

    Such a channel acts like a bias. Its weights need not determine the unit.
    """
    terms = []
    for term in form.terms:
        varies = sources[term.source].varies
        keep = isinstance(term.map, Window) or varies.all() or not varies.any()
        terms.append(term if keep else drop_inputs(term, ~varies))
    return replace(form, terms=tuple(terms))


def accumulate_form(
    planned: Planned, sources: Sources, settings: Settings
) -> tuple[Group, Array, Array]:
    """The integers of a linear form, its accumulators, and the float network's values of it."""
    form = planned.form
    reference = evaluate_form(form, {s: v.reference for s, v in sources.items()}, form.bias)
    finest, unit = choose_units(planned, sources, reference, settings)
    if planned.softmax == "exponential" and not unit.exact:
        unit = replace(unit, value=finest, wanted=finest)  # noise matters in the exponent
    if planned.largest is not None and not unit.exact:
        unit = units.Unit(finest, finest, finest)  # as many bits as fit for every input
    group, accumulators = fit_weights(planned, sources, reference, unit, settings)
    parts = count_parts(planned, group.unit, accumulators, finest, settings)
    if parts > 1:
        group, accumulators = fit_weights(planned, sources, reference, unit.divide(parts), settings)
    return group, accumulators, reference


def multiply_factors(
    planned: Planned, sources: Sources, settings: Settings
) -> tuple[Group, Array, Array]:
    """The accumulators of a product and the float network's values of it.

    Its unit is the product of the units of its factors. It has no maps.
    """
    assert planned.product is not None, "the caller has checked it"
    left, right = (sources[source] for source in planned.product)
    accumulators = left.integers * right.integers  # below 2^24 if they keep the limit
    largest = float(np.abs(accumulators).max())
    if largest > settings.limit:
        raise NetworkError(f"layer {planned.name}: its products reach {largest:.0f}, the limit is "
                           f"{settings.limit}; give activations fewer bits")  # fmt: skip
    unit = units.Unit(left.scale * right.scale, left.scale * right.scale)
    bias = np.zeros(planned.form.shape[0])
    return Group(unit, (), bias), accumulators, left.reference * right.reference


def choose_units(
    planned: Planned, sources: Sources, reference: Array, settings: Settings
) -> tuple[float, units.Unit]:
    """The finest unit with which accumulators and biases keep the limit, and the unit to try."""
    largest = float(np.abs(reference).max()) if planned.largest is None else planned.largest
    finest = max(largest * settings.headroom, np.abs(planned.form.bias).max()) / settings.limit
    scales_of = {s: v.scale for s, v in sources.items()}
    counted = drop_constant_inputs(planned.form, sources)
    unit = units.choose_unit(planned.form, counted, scales_of, finest, settings)
    if settings.strict and unit.coarsened > 1:
        raise make_limit_error(planned.name, settings.limit * unit.coarsened, settings)
    return finest, unit


def count_parts(
    planned: Planned, unit: units.Unit, accumulators: Array, finest: float, settings: Settings
) -> int:
    """The number of parts into which to divide an exact unit, so that noise changes no outputs."""
    if planned.function is None or not unit.exact:
        return 1
    step = unit.step if planned.threshold else None
    if step is None:
        after = planned.function(unit.value * accumulators)
        step = choose_output_grid(planned, unit, after, settings).scale
    wanted = ceil(settings.resolution * unit.value / step)
    return max(1, min(wanted, int(unit.value / finest) if finest else wanted))


def fit_weights(
    planned: Planned,
    sources: Sources,
    reference: Array,
    unit: units.Unit,
    settings: Settings,
) -> tuple[Group, Array]:
    """Rounds weights and biases in a unit, or in the first coarser unit that keeps the limit.

    Returns the form in integers and its accumulators on the calibration data.
    """
    form, steps = planned.form, {s: v.scale for s, v in sources.items()}
    counted = drop_constant_inputs(form, sources)
    while True:
        maps = tuple(
            units.round_map(t, steps[t.source], unit, settings, c)
            for t, c in zip(form.terms, counted.terms, strict=True)
        )
        whole = replace(form, terms=tuple(
            replace(t, map=m.map) for t, m in zip(form.terms, maps, strict=True)))  # fmt: skip
        sums = evaluate_form(
            whole, {s: v.integers for s, v in sources.items()}, np.zeros(form.shape[0])
        )
        bias = form.bias / unit.value
        if settings.correct_bias and not unit.exact:
            bias = average(reference / unit.value - sums, axis=(0, 2, 3))
        bias = np.rint(bias)
        if planned.threshold and unit.step is not None:
            bias = centre_sign_bias(form.bias, unit)
        accumulators = sums + bias.astype(np.float32)[:, None, None]
        largest = float(np.abs(accumulators).max())
        if largest <= settings.limit:
            return Group(unit, maps, bias), accumulators
        if unit.exact or unit.coarsened > 1e4:
            raise make_limit_error(planned.name, largest, settings)
        unit = replace(unit, value=unit.value * 1.05)


def centre_sign_bias(bias: Array, unit: units.Unit) -> Array:
    """Biases of a sign. They put 0 halfway between the two possible sums around it."""
    assert unit.step is not None, "the caller has checked it"
    parts = round(unit.step / unit.value)
    centred: Array = np.floor(bias / unit.step + units.TINY) * parts + parts // 2
    return centred


def choose_output_grid(
    planned: Planned, unit: units.Unit, after: Array, settings: Settings
) -> Grid:
    """The model's own grid, the accumulator's unit if that is exact, or a calibrated grid."""
    assert planned.function is not None, "the last layer has no table"
    known_grid = planned.grid or planned.function.grid() or find_level_grid(planned.function)
    if known_grid is not None:
        return known_grid
    if unit.step is not None:
        whole = after / unit.step
        lo, hi = min(float(whole.min()), 0.0), float(whole.max())
        spare = 2**settings.activations - 1 - int(np.rint(hi - lo))
        if planned.exact:
            spare = max(spare, 2 * int(np.rint(hi - lo)))
        if spare >= 0 and np.allclose(whole, np.rint(whole), rtol=0, atol=1e-3):
            low = int(np.rint(lo)) - (spare // 2 if lo < 0 else 0)
            return Grid(unit.step, low, low + int(np.rint(hi - lo)) + spare)
    return scales.choose_grid(after, planned.bits or settings.activations, settings)


MOST_LEVELS: Final = 16
"""A function with at most this many values has a grid that holds them exactly."""


def find_level_grid(function: Expression) -> Grid | None:
    """The grid of a step function, such as a comparison, if its values are a few small integers.

    The function is sampled in narrow and in wide ranges: a ReLU6 has few values only in wide ones.
    """
    near = [np.linspace(-reach, reach, 4001) for reach in (1e-3, 0.37, 9.1, 307.3, 1e4)]
    values = np.unique(function(np.concatenate([*near, [-1e9, 0, 1e9]])))
    if len(values) > MOST_LEVELS or len(values) < 2 or not np.array_equal(values, np.rint(values)):
        return None
    low, high = min(values[0], 0.0), max(values[-1], 0.0)
    return Grid(1.0, int(low), int(high)) if high - low <= MOST_LEVELS else None
