"""Layer after layer on calibration data: units, integers, biases, bounds, tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.expression import Grid
from palladion.nn.graph import Array, Graph, Window, check_inputs
from palladion.nn.network import IntNetwork, Layer
from palladion.nn.quantisation import document, ranges, scales, softmax, units
from palladion.nn.quantisation.form import Form
from palladion.nn.quantisation.plan import Planned, plan
from palladion.nn.quantisation.report import LayerReport, refuse
from palladion.nn.quantisation.settings import Settings

FACTOR_BITS: Final = 7
"""Bits of a product's factors, whatever is asked: their product fits the limit, and is large beside
the rounding noise of a run, since no weight can make it larger."""


@dataclass(frozen=True)
class Group:
    """A linear group in integers: the unit they count, and each term's map and grid."""

    unit: units.Unit
    maps: tuple[units.Rounded, ...]
    bias: Array

    @property
    def bits(self) -> float:
        """Bits of kernels' weights; of windows' taps where there is nothing else."""
        kernels = [m.bits for m in self.maps if not isinstance(m.map, Window)]
        return max(kernels or [m.bits for m in self.maps], default=0.0)


@dataclass(frozen=True)
class Quantised:
    """The integer network, and what became of each layer."""

    network: IntNetwork
    layers: tuple[LayerReport, ...]
    planned: tuple[Planned, ...]
    """The layers as they were planned, in floats."""
    groups: tuple[Group, ...]
    """How each layer's integers count."""
    notes: tuple[str, ...] = ()
    """What is odd about the calibration data."""


@dataclass(frozen=True)
class Calibrated:
    """A value on the calibration data: the integers, and what the float network has there."""

    integers: Array
    reference: Array
    scale: float


def quantise(graph: Graph, data: Array, settings: Settings | None = None) -> Quantised:
    """Quantise a float graph on real inputs of shape (N, C, H, W), as the model takes them.

    Raises
    ------
    NetworkError
        If the graph has a part that no integer network can hold, the data have another shape, or
        ``settings.strict`` and a layer does not fit.
    """
    settings = settings or Settings()
    check_inputs(data, graph.input.shape)
    layers = plan(graph, data, settings)
    given = graph.input
    real = replace(given, grid=None).evaluate(data.astype(np.float32)).astype(np.float32)
    grid = given.grid or input_grid(real, settings)
    values = {0: Calibrated(to_integers(real, grid), real, grid.scale)}
    last_use = {s: i for i, planned in enumerate(layers) for s in planned.sources}
    factors = {s for planned in layers for s in planned.product or ()}
    entries, reports, groups = [], [], []
    for index, planned in enumerate(layers):
        if planned.softmax is not None:
            planned = calibrated(planned, values, settings)
        elif index + 1 in factors:
            planned = replace(planned, bits=FACTOR_BITS)
        entry, found, report, group = layer(planned, values, settings)
        entries.append(entry)
        reports.append(report)
        groups.append(group)
        values[index + 1] = found
        for source in [s for s in values if last_use.get(s, -1) == index]:
            del values[source]
    interface = document.interface(graph, entries[-1].scale)
    network = IntNetwork(graph.name, document.input_of(given, grid), tuple(entries), interface)
    network.check()
    odd = ranges.notes(graph, data)
    return Quantised(network, tuple(reports), tuple(layers), tuple(groups), odd)


def calibrated(planned: Planned, values: dict[int, Calibrated], settings: Settings) -> Planned:
    """A step of a softmax with its function."""
    form = planned.form
    if planned.softmax == "exponential":
        references = {s: values[s].reference for s in planned.sources}
        function, grid = softmax.exponential(sum_of(form, references, form.bias), settings)
    else:
        (source,) = planned.sources
        function, grid = softmax.inverse(values[source].scale, settings)
    return replace(planned, function=function, grid=grid)


def input_grid(real: Array, settings: Settings) -> Grid:
    """Integers for the input: unsigned where it is never negative, else symmetric."""
    if real.min() >= 0:
        most = 2**settings.inputs - 1
        return Grid((float(real.max()) or 1.0) / most, 0, most)
    return scales.symmetric(real, settings.inputs)


def to_integers(real: Array, grid: Grid) -> Array:
    """Nearest integers of the grid, kept as float32, which is exact for them."""
    found: Array = np.clip(np.rint(real / grid.scale), grid.lo, grid.hi).astype(np.float32)
    return found


def layer(
    planned: Planned, values: dict[int, Calibrated], settings: Settings
) -> tuple[Layer, Calibrated, LayerReport, Group]:
    """Quantise one layer: the layer, its values, its report, its linear group."""
    sources = {source: values[source] for source in planned.sources}
    make = accumulated if planned.product is None else multiplied
    group, accumulators, reference = make(planned, sources, settings)
    largest = int(np.abs(accumulators).max())
    bound = max(1, min(ceil(largest * settings.headroom), settings.limit))
    real = group.unit.value * np.clip(accumulators, -bound, bound)
    function = planned.function
    if function is None:
        table, outputs, scale, wanted = None, accumulators, group.unit.value, reference
    else:
        after = function(real)
        grid = output_grid(planned, group.unit, after, settings)
        every = np.arange(-bound, bound + 1, dtype=np.float64) * group.unit.value
        table = np.clip(np.rint(function(every) / grid.scale), grid.lo, grid.hi)
        places = np.clip(accumulators, -bound, bound).astype(np.int64) + bound
        outputs, scale = table[places].astype(np.float32), grid.scale
        wanted = function(reference).astype(np.float32)
    signal = float(np.mean(np.square(wanted, dtype=np.float64))) or 1.0
    report = LayerReport(
        name=planned.name,
        shape=planned.form.shape,
        bound=bound,
        largest=largest,
        weight_bits=group.bits,
        coarsened=group.unit.coarsened,
        beyond=float(np.mean(np.abs(accumulators) > bound)),
        error=float(np.mean(np.square(outputs * scale - wanted, dtype=np.float64))) / signal,
    )
    pairs = zip(planned.form.terms, group.maps, strict=True)
    terms = tuple(document.term(t, m.map) for t, m in pairs)
    bias, lut = document.whole(group.bias), document.table(table)
    found = Layer(planned.name, terms, bias, bound, lut, float(scale), planned.product)
    return found, Calibrated(outputs, wanted, scale), report, group


def accumulated(
    planned: Planned, sources: dict[int, Calibrated], settings: Settings
) -> tuple[Group, Array, Array]:
    """The integers of a linear group, its accumulators, and what the float network has there."""
    form = planned.form
    reference = sum_of(form, {s: v.reference for s, v in sources.items()}, form.bias)
    finest, unit = units_of(planned, sources, settings)
    if planned.softmax == "exponential" and not unit.exact:
        unit = replace(unit, value=finest, wanted=finest)  # noise counts in the exponent
    group, accumulators = fit(planned, sources, reference, unit, settings)
    parts = resolving(planned, group.unit, accumulators, finest, settings)
    if parts > 1:
        group, accumulators = fit(planned, sources, reference, unit.divided(parts), settings)
    return group, accumulators, reference


def multiplied(
    planned: Planned, sources: dict[int, Calibrated], settings: Settings
) -> tuple[Group, Array, Array]:
    """The same of a product, whose unit is that of its factors."""
    assert planned.product is not None, "the caller has checked it"
    left, right = (sources[source] for source in planned.product)
    accumulators = left.integers * right.integers  # below 2^24 where they keep the limit
    largest = float(np.abs(accumulators).max())
    if largest > settings.limit:
        raise NetworkError(f"layer {planned.name}: its products reach {largest:.0f}, the limit is "
                           f"{settings.limit}; give activations fewer bits")  # fmt: skip
    unit = units.Unit(left.scale * right.scale, left.scale * right.scale)
    bias = np.zeros(planned.form.shape[0])
    return Group(unit, (), bias), accumulators, left.reference * right.reference


def units_of(
    planned: Planned, sources: dict[int, Calibrated], settings: Settings
) -> tuple[float, units.Unit]:
    """The finest unit with which accumulators keep the limit, and the one to begin with."""
    form = planned.form
    real = sum_of(form, {s: v.integers * v.scale for s, v in sources.items()}, form.bias)
    finest = float(np.abs(real).max()) * settings.headroom / settings.limit
    unit = units.choose(form, {s: v.scale for s, v in sources.items()}, finest, settings)
    if settings.strict and unit.coarsened > 1:
        raise refuse(planned.name, settings.limit * unit.coarsened, settings)
    return finest, unit


def resolving(
    planned: Planned, unit: units.Unit, accumulators: Array, finest: float, settings: Settings
) -> int:
    """Parts to divide an exact unit into, so that noise does not move outputs."""
    if planned.function is None or not unit.exact:
        return 1
    step = unit.step if planned.threshold else None
    if step is None:
        after = planned.function(unit.value * accumulators)
        step = output_grid(planned, unit, after, settings).scale
    wanted = ceil(settings.resolution * unit.value / step)
    return max(1, min(wanted, int(unit.value / finest) if finest else wanted))


def fit(
    planned: Planned,
    sources: dict[int, Calibrated],
    reference: Array,
    unit: units.Unit,
    settings: Settings,
) -> tuple[Group, Array]:
    """Integers in a unit, or in the next coarser one with which accumulators keep the limit.

    With them the accumulators on the calibration data.
    """
    form, steps = planned.form, {s: v.scale for s, v in sources.items()}
    while True:
        maps = tuple(units.integers(t, steps[t.source], unit, settings) for t in form.terms)
        whole = replace(form, terms=tuple(
            replace(t, map=m.map) for t, m in zip(form.terms, maps, strict=True)))  # fmt: skip
        sums = sum_of(whole, {s: v.integers for s, v in sources.items()}, np.zeros(form.shape[0]))
        bias = form.bias / unit.value
        if settings.correct_bias and not unit.exact:
            bias = (reference / unit.value - sums).mean(axis=(0, 2, 3), dtype=np.float64)
        bias = np.rint(bias)
        if planned.threshold and unit.step is not None:
            bias = between(form.bias, unit)
        accumulators = sums + bias.astype(np.float32)[:, None, None]
        largest = float(np.abs(accumulators).max())
        if largest <= settings.limit:
            return Group(unit, maps, bias), accumulators
        if unit.exact or unit.coarsened > 1e4:
            raise refuse(planned.name, largest, settings)
        unit = replace(unit, value=unit.value * 1.05)


def between(bias: Array, unit: units.Unit) -> Array:
    """Biases of a sign, with 0 halfway between the sums it divides, as far as sums are steps."""
    assert unit.step is not None, "the caller has checked it"
    parts = round(unit.step / unit.value)
    found: Array = np.floor(bias / unit.step + units.TINY) * parts + parts // 2
    return found


def output_grid(planned: Planned, unit: units.Unit, after: Array, settings: Settings) -> Grid:
    """The model's own grid, the accumulator's unit where that is exact, or a calibrated one."""
    assert planned.function is not None, "the last layer has no table"
    given = planned.grid or planned.function.grid()
    if given is not None:
        return given
    if unit.step is not None:
        whole = after / unit.step
        lo, hi = min(float(whole.min()), 0.0), float(whole.max())
        spare = 2**settings.activations - 1 - int(np.rint(hi - lo))
        if planned.exact:
            spare = max(spare, 2 * int(np.rint(hi - lo)))
        if spare >= 0 and np.allclose(whole, np.rint(whole), rtol=0, atol=1e-3):
            low = int(np.rint(lo)) - (spare // 2 if lo < 0 else 0)
            return Grid(unit.step, low, low + int(np.rint(hi - lo)) + spare)
    return scales.grid(after, planned.bits or settings.activations, settings)


def sum_of(form: Form, inputs: dict[int, Array], bias: Array) -> Array:
    """Accumulators, in single precision, or in double where integers could pass 2^24."""
    total = np.zeros((len(next(iter(inputs.values()))), *form.shape), dtype=np.float32)
    for term in form.terms:
        map_ = term.map
        if not isinstance(map_, Window):
            map_ = replace(map_, bias=np.zeros(form.shape[0]))
        total += map_.evaluate(inputs[term.source])
    return total + bias.astype(np.float32)[:, None, None]
