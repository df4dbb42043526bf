"""Runs the phases of quantisation, and quantises one layer after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.floats.expression import Grid
from palladion.nn.floats.graph import Array, Graph
from palladion.nn.integers.network import IntNetwork, Layer
from palladion.nn.quantisation.collect import data_notes
from palladion.nn.quantisation.collect.features import normalise_features
from palladion.nn.quantisation.collect.statistics import collect_statistics, evaluate_form
from palladion.nn.quantisation.compare import improve
from palladion.nn.quantisation.compare.answers import Answers, compare_answers
from palladion.nn.quantisation.grids.exact_layer import quantise_exactly
from palladion.nn.quantisation.grids.lattice import Integers
from palladion.nn.quantisation.plan import dead, equalise, softmax
from palladion.nn.quantisation.plan.planner import Planned, plan
from palladion.nn.quantisation.rounding import scales
from palladion.nn.quantisation.rounding.rounded_layer import quantise_by_rounding
from palladion.nn.quantisation.settings import Settings
from palladion.nn.quantisation.values import Group, IntegerLayer, Value
from palladion.nn.quantisation.write import document
from palladion.nn.quantisation.write.layer_report import (
    LayerReport,
    refuse_warned,
    report_layer,
    warn_of_layer,
    warn_of_softmax,
)

FACTOR_BITS: Final = 7
"""Bits of each factor of a product, whatever the settings are. A product of two such factors keeps
the limit, and is large compared with the rounding noise of a run. A product has no weights that
could enlarge it."""

RANDOM_INPUTS: Final = 256
"""Number of random inputs that replace calibration data. A model that has its own grids for all
values needs no data."""

STATISTICS_INPUTS: Final = 256
"""Number of inputs on which the statistics of channels are collected."""

ADVICE_INPUTS: Final = 128
"""Number of inputs on which a warning's advice tries other settings."""


@dataclass(frozen=True)
class Quantised:
    """The integer network with its layers, reports and warnings."""

    network: IntNetwork
    layers: tuple[LayerReport, ...]
    planned: tuple[Planned, ...]
    """The planned layers, in floats."""
    groups: tuple[Group, ...]
    """The linear form of each layer in integers, with its unit and grids."""
    notes: tuple[str, ...] = ()
    """Notes on unusual calibration data."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user, each with the layer and a number."""
    output_scale: tuple[float, ...] = (1.0,)
    """Real value of the integer 1 in the output, for each channel or for all."""
    output_shift: tuple[float, ...] = (0.0,)
    """The number that the client adds to the output, for each channel or for all."""
    answers: Answers | None = None
    """The comparison with the float model's answers on the calibration data, if there are data."""


def quantise(
    graph: Graph, data: Array | None = None, settings: Settings | None = None
) -> Quantised:
    """Quantise a float graph, on inputs of the model in real numbers.

    A model with its own grids for its input and after each layer needs no data.

    Raises
    ------
    NetworkError
        If the graph has a part that no integer network can hold, if the data have another shape or
        are missing, or if ``settings.strict`` is set and there is a warning.
    """
    settings = settings or Settings()
    model_input, has_data = graph.input, data is not None
    if data is not None:
        data = graph.arranged(data)
        graph = normalise_features(graph, data)
        model_input = graph.input
        inputs = (
            replace(model_input, grid=None).evaluate(data.astype(np.float32)).astype(np.float32)
        )
    elif model_input.grid is not None:
        inputs = draw_inputs(model_input.shape, model_input.grid)
        data = inputs * model_input.std[:, None, None] + model_input.mean[:, None, None]
    else:
        raise NetworkError(f"the input {model_input.name} has no grid of the model's own: give "
                           "calibration data (--data, or `calibrate` in Python)")  # fmt: skip
    grid = model_input.grid or choose_input_grid(inputs, settings)
    first = make_input_value(inputs, grid, own=model_input.grid is not None)
    layers = plan(graph, data, settings)
    layers, factors, warned = prepare_layers(layers, first, settings, has_data=has_data)
    computed = quantise_layers(layers, first, settings, has_data=has_data)
    answers = None
    if has_data:
        graph = guard_domains(graph, factors.restore(computed[-1]))
        judge = Judge(graph, first, factors, settings)
        layers, computed, answers = improve.widen_last_inputs(
            layers, computed, judge.compute, judge.compare
        )
    entries = [write_layer(*pair) for pair in zip(layers, computed, strict=True)]
    scale, shift = factors.interpret(computed[-1])
    interface = document.write_interface(graph, scale, shift)
    network = IntNetwork(
        graph.name, document.write_input(model_input, grid), tuple(entries), interface
    )
    sigmas = [*network.sigmas(), 0.0]
    reports = [report_layer(*of) for of in zip(layers, computed, sigmas, strict=True)]
    for planned, report, layer in zip(layers, reports, computed, strict=True):
        inside = planned.softmax is not None
        warned += [
            *layer.warnings,
            *warn_of_layer(report, last=layer.table is None, softmax=inside),
        ]
    warned += warn_of_softmax(layers, reports)
    if answers is not None and answers.differ:
        warned.append(f"the answers differ from the float model's: {answers}; "
                      f"{improve.advise(settings, judge.try_settings)}")  # fmt: skip
    refuse_warned(warned, strict=settings.strict)
    network = replace(network, interface=replace(interface, warnings=tuple(warned)))
    return Quantised(
        network,
        tuple(reports),
        tuple(layers),
        tuple(layer.group for layer in computed),
        () if not has_data else data_notes.note_data_range(graph, data),
        tuple(warned),
        scale,
        shift,
        answers,
    )


@dataclass(frozen=True)
class Judge:
    """Compares the answers of layers in integers with the answers of the float network."""

    graph: Graph
    first: Value
    outputs: Outputs
    settings: Settings

    def compute(
        self, layers: Sequence[Planned], known: Sequence[IntegerLayer]
    ) -> list[IntegerLayer]:
        """Returns all layers in integers. ``known`` holds the first ones, already quantised."""
        return quantise_layers(layers, self.first, self.settings, has_data=True, known=known)

    def compare(self, computed: Sequence[IntegerLayer]) -> Answers:
        """Compares the last layer's answers with the float network's."""
        last = computed[-1]
        ends = document.write_interface(self.graph, *self.outputs.interpret(last))
        return compare_answers(ends, last.accumulators, self.outputs.restore(last))

    def try_settings(self, settings: Settings) -> Answers:
        """Quantises with other settings on a few inputs, and compares the answers."""
        settings = replace(settings, strict=False)
        inputs = self.first.reference[:: max(1, len(self.first.reference) // ADVICE_INPUTS)]
        own = self.first.own_grid
        grid = self.graph.input.grid or choose_input_grid(inputs, settings)
        first = make_input_value(inputs, grid, own=own)
        data = inputs * self.graph.input.std[:, None, None] + self.graph.input.mean[:, None, None]
        layers, outputs, _ = prepare_layers(
            plan(self.graph, data, settings), first, settings, has_data=True
        )
        judge = Judge(self.graph, first, outputs, settings)
        computed = quantise_layers(layers, first, settings, has_data=True)
        return improve.widen_last_inputs(layers, computed, judge.compute, judge.compare)[2]


@dataclass(frozen=True)
class Outputs:
    """The client's correction of the last layer's channels: it divides by ``rows``, then adds
    ``shift``."""

    rows: Array
    shift: Array

    def restore(self, last: IntegerLayer) -> Array:
        """Returns the float network's last values, corrected as the client corrects them."""
        rows, shift = (part[:, None, None] for part in (self.rows, self.shift))
        restored: Array = last.value.reference / rows + shift
        return restored

    def interpret(self, last: IntegerLayer) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Returns scale and shift of the outputs, for each channel or one for all."""
        scale, shift = last.output_scale, last.output_shift
        if not np.all(self.rows == 1):
            scale, shift = (tuple((np.array(p) / self.rows).tolist()) for p in (scale, shift))
        if self.shift.any():
            shift = tuple((np.array(shift) + self.shift).tolist())
        return scale, shift


def guard_domains(graph: Graph, reference: Array) -> Graph:
    """The graph with guards, so that the client's functions stay in their domains.

    ``reference`` holds the float network's last values.
    """
    from palladion.nn.quantisation.write.guard import add_guards  # needs ONNX

    ends = graph.ends
    gives = add_guards(ends.gives, reference.reshape(len(reference), -1))
    return replace(graph, interface=replace(ends, gives=gives))


def draw_inputs(shape: tuple[int, int, int], grid: Grid) -> Array:
    """Inputs drawn uniformly from the integers of a grid."""
    rng = np.random.default_rng(1)
    drawn: Array = (
        rng.integers(grid.lo, grid.hi, (RANDOM_INPUTS, *shape), endpoint=True) * grid.scale
    )
    return drawn.astype(np.float32)


def make_input_value(inputs: Array, grid: Grid, *, own: bool) -> Value:
    """The input on its grid. With ``own``, it is the model's, which rounds the input itself."""
    integers = to_integers(inputs, grid)
    reference = integers.astype(np.float64) * grid.scale if own else inputs
    reach = Integers.alike(inputs.shape[1], int(grid.lo), int(grid.hi))
    return Value(integers, reference, grid.scale, reach, own)


def prepare_layers(
    layers: list[Planned], first: Value, settings: Settings, *, has_data: bool
) -> tuple[list[Planned], Outputs, list[str]]:
    """Removes constant channels and scales the others to similar sizes.

    Returns the layers, the client's correction of the outputs, and warnings.
    """
    sample = first.reference[:: max(1, len(first.reference) // STATISTICS_INPUTS)]
    statistics = collect_statistics(layers, sample, settings)
    ends = [(float(e.least.min(initial=0)), float(e.most.max(initial=0))) for e in statistics]
    ends[0] = (
        float(first.reach.low.min() * first.scale),
        float(first.reach.high.max() * first.scale),
    )
    exact = first.own_grid and settings.exact  # for any input, not only for these
    layers, gone = dead.fold_constants(layers, statistics, ends, measured=has_data and not exact)
    if gone:
        statistics = collect_statistics(layers, sample, settings)
    warned = [warning for entry in gone if (warning := entry.warning())]
    layers, shift = equalise.centre_outputs(
        equalise.equalise(layers, statistics, settings), statistics
    )
    if shift.any():
        statistics[-1] = replace(
            statistics[-1], low=statistics[-1].low - shift, high=statistics[-1].high - shift
        )
    layers, rows = equalise.equalise_outputs(layers, statistics)
    return layers, Outputs(rows, shift), warned


def quantise_layers(
    layers: Sequence[Planned],
    first: Value,
    settings: Settings,
    *,
    has_data: bool,
    known: Sequence[IntegerLayer] = (),
) -> list[IntegerLayer]:
    """Quantises each layer on the outputs of the integer layers before it.

    ``known`` holds the first layers, if they are quantised already.
    """
    values = {0: first}
    last_use = {s: i for i, planned in enumerate(layers) for s in planned.sources}
    factors = {s for planned in layers for s in planned.product or ()}
    computed: list[IntegerLayer] = []
    for index, planned in enumerate(layers):
        if index < len(known):
            layer = known[index]
        else:
            if planned.softmax is not None:
                planned = calibrate_softmax(planned, values, settings)
            elif index + 1 in factors:
                planned = replace(planned, bits=FACTOR_BITS)
            layer = quantise_layer(planned, values, settings, has_data=has_data)
        computed.append(layer)
        values[index + 1] = layer.value
        for source in [s for s in values if last_use.get(s, -1) == index]:
            del values[source]
    return computed


def quantise_layer(
    planned: Planned, values: dict[int, Value], settings: Settings, *, has_data: bool
) -> IntegerLayer:
    """Makes an exact layer if the model's own grids allow it, otherwise one of rounded weights."""
    if planned.function is not None:
        settings = settings.limit_to_samples(planned.samples)
    sources = {source: values[source] for source in planned.sources}
    exact = quantise_exactly(planned, sources, settings, has_data=has_data)
    if isinstance(exact, IntegerLayer):
        return exact
    needs_data = planned.function is not None and planned.function.grid() is None
    if not has_data and (needs_data or planned.softmax):
        raise NetworkError(f"layer {planned.name}: has no grid of the model's own, give "
                           "calibration data, --data")  # fmt: skip
    layer = quantise_by_rounding(planned, sources, settings, has_data=has_data)
    on_own = settings.exact and any(value.own_grid for value in sources.values())
    return replace(layer, why=exact) if on_own else layer


def calibrate_softmax(planned: Planned, values: dict[int, Value], settings: Settings) -> Planned:
    """A softmax's exponential or inverse with its function and grid, chosen on the data."""
    form = planned.form
    if planned.softmax == "exponential":
        references = {s: values[s].reference for s in planned.sources}
        before = evaluate_form(form, references, form.bias)
        function, grid = softmax.make_exponential(before, settings)
    else:
        (source,) = planned.sources
        function, grid = softmax.make_inverse(values[source].scale, settings)
    return replace(planned, function=function, grid=grid)


def choose_input_grid(inputs: Array, settings: Settings) -> Grid:
    """The grid of the input: unsigned if no input is negative, otherwise symmetric.

    Inputs that are small whole numbers become integers of the grid, so comparisons stay exact.
    """
    if inputs.min() >= 0:
        most = 2**settings.inputs - 1
        largest = float(inputs.max()) or 1.0
        if largest <= most and np.array_equal(inputs, np.rint(inputs)):
            return Grid(1 / int(most // largest), 0, most)
        return Grid(largest / most, 0, most)
    return scales.make_symmetric_grid(inputs, settings.inputs)


def to_integers(inputs: Array, grid: Grid) -> Array:
    """The nearest integers of the grid, as float32, which holds them exactly."""
    integers: Array = np.clip(np.rint(inputs / grid.scale), grid.lo, grid.hi).astype(np.float32)
    return integers


def write_layer(planned: Planned, layer: IntegerLayer) -> Layer:
    """The layer as an integer network has it."""
    pairs = zip(planned.form.terms, layer.group.maps, strict=True)
    terms = tuple(document.write_term(t, m.map) for t, m in pairs)
    bias, lut = document.write_integers(layer.group.bias), document.write_table(layer.table)
    scale = float(layer.value.scale)
    return Layer(planned.name, terms, bias, layer.bound, lut, scale, planned.product)
