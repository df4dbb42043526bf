"""Cuts a float graph into layers of one linear form and one function, in real numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.floats.expression import Expression, Grid, X, apply, constant
from palladion.nn.floats.graph import (
    Activation,
    Add,
    Affine,
    Array,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Mul,
    Shape,
    Softmax,
    Window,
)
from palladion.nn.quantisation.grids.lattice import find_steps
from palladion.nn.quantisation.plan.form import Form, add_forms, wrap_map, wrap_value
from palladion.nn.quantisation.plan.maximum import plan_maximum
from palladion.nn.quantisation.plan.softmax import mix_channels, needs_shift, subtract_largest
from palladion.nn.quantisation.settings import Settings


@dataclass(frozen=True)
class Planned:
    """A layer to quantise. The last layer has no function.

    ``exact`` asks for a table that keeps the accumulator's unit, as differences of a maximum need.
    ``product`` has the two factors of a layer that multiplies. Then the form has no terms.
    ``softmax`` is set in the first two steps of a softmax. Their function and ``grid`` come from
    the calibration data. ``bits`` is the width of the table's output, if it is not the width in the
    settings. ``largest`` is the last layer's largest absolute value over all inputs, if known.
    """

    name: str
    form: Form
    function: Expression | None
    exact: bool = False
    product: tuple[int, int] | None = None
    softmax: Literal["exponential", "inverse"] | None = None
    grid: Grid | None = None
    bits: int | None = None
    largest: float | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        """The sources that the layer reads, in its form or as factors."""
        return (*(term.source for term in self.form.terms), *(self.product or ()))

    @property
    def samples(self) -> int:
        """Number of samples in an accumulator of an encrypted run: one per term, and one per
        product."""
        return len(self.form.terms) + (self.product is not None)

    @property
    def threshold(self) -> bool:
        """True if only the sign of an accumulator matters."""
        return self.function is not None and is_sign(self.function)


def is_sign(function: Expression) -> bool:
    return function.operation == "bipolar" and function.arguments == (X,)


def normalise_sign(form: Form, function: Expression) -> tuple[Form, Expression]:
    """Turns a sign of ``a x + b`` into a sign of ``x``, with a largest weight of 1 in each channel.

    A positive factor does not change a sign, so channels of different scales become exact. Form
    and function stay unchanged if the function is no sign.
    """
    inner = function.arguments[0].affine() if function.operation == "bipolar" else None
    if inner is None:
        return form, function
    scale, shift = (np.full(form.shape[0], part) for part in inner)
    scaled = form.scale_and_shift(scale, shift)
    scaled = scaled.scale_and_shift(1 / scaled.largest_weights(), np.zeros(form.shape[0]))
    return scaled, Expression("bipolar", (X,), function.parameters)


def plan(graph: Graph, data: Array, settings: Settings) -> list[Planned]:
    """The layers of a graph, in the order of evaluation.

    ``data`` of shape (N, C, H, W) show how far apart the values of a softmax are.

    Raises
    ------
    NetworkError
        If the graph has the logarithm of a softmax.
    """
    return Planner(graph, data, settings).run()


class Planner:
    """Visits the nodes in order. A linear node stays a form until a layer needs its value."""

    def __init__(self, graph: Graph, data: Array, settings: Settings) -> None:
        self.graph = graph
        self.data, self.settings = data, settings
        self.readers = graph.consumers()
        self.layers: list[Planned] = []
        self.forms: dict[int, Form] = {}
        self.values: dict[int, int] = {0: 0}  # from nodes to source numbers of terms
        self.products: dict[int, tuple[int, int]] = {}

    def run(self) -> list[Planned]:
        for index in range(1, len(self.graph.nodes)):
            self.visit(index)
        last = len(self.graph.nodes) - 1
        name = self.graph.nodes[last].name
        if last in self.products:
            self.layers.append(self.plan_product(last, name, None))
        else:
            self.layers.append(Planned(name, self.get_form(last), None, largest=self.graph.largest))
        names = make_unique([layer.name for layer in self.layers])
        pairs = zip(self.layers, names, strict=True)
        return [replace(layer, name=name) for layer, name in pairs]

    def visit(self, index: int) -> None:
        node = self.graph.nodes[index]
        if isinstance(node, Activation) and self.merges_rounding(index, node):
            self.forms[index] = self.get_form(node.sources[0])
        elif isinstance(node, Activation) and self.is_product_read_once(node.sources[0]):
            self.layers.append(self.plan_product(node.sources[0], node.name, node.function))
            self.values[index] = len(self.layers)
        elif isinstance(node, Activation):
            form = self.get_form(node.sources[0])
            self.values[index] = self.emit(node.name, form, node.function)
        elif isinstance(node, Affine):
            self.forms[index] = self.get_operand(node.sources[0]).scale_and_shift(
                node.scale, node.shift
            )
        elif isinstance(node, Add):
            self.forms[index] = add_forms([self.get_operand(s) for s in node.sources], node.signs)
        elif isinstance(node, Conv | Dense | Window):
            self.forms[index] = self.apply_linear(node)
        elif isinstance(node, MaxPool):
            self.forms[index] = self.plan_pool(node)
        elif isinstance(node, Mul):
            left, right = (self.emit_factor(source) for source in node.sources)
            self.products[index] = (left, right)
        else:
            assert isinstance(node, Softmax), "every node is handled"
            self.products[index] = self.plan_softmax(node)

    def merges_rounding(self, index: int, node: Activation) -> bool:
        """True if a rounding between a map and a sum may go. Then both are one accumulation.

        The rounding stays if it can be exact, so if the map's sums keep the limit for every input.
        """
        (source,), readers = node.sources, self.readers[index]
        between = len(readers) == 1 and isinstance(self.graph.nodes[readers[0]], Add)
        if not (between and node.function.rounds_only() and len(self.readers[source]) == 1):
            return False
        form = self.forms.get(source)
        return form is not None and not (self.settings.exact and self.fits_limit(form))

    def fits_limit(self, form: Form) -> bool:
        """True if a form of values on grids has integer sums within the limit."""
        total = np.zeros(form.shape[0])
        for term in form.terms:
            before = self.layers[term.source - 1].function if term.source else None
            grid = before.grid() if before else self.graph.input.grid if not term.source else None
            steps = find_steps(term.map, form.shape[0])
            if grid is None or steps is None:
                return False
            if isinstance(term.map, Window):
                sums = np.abs(term.map.taps).sum() * np.ones_like(steps)
            else:
                sums = np.abs(term.map.weights).reshape(len(steps), -1).sum(axis=1)
            total += sums / np.where(steps > 0, steps, 1) * max(abs(grid.lo), abs(grid.hi))
        return bool(total.max() <= self.settings.limit)

    def plan_softmax(self, node: Softmax) -> tuple[int, int]:
        """Adds the layers of a softmax's exponentials and of the inverse of their sum."""
        if node.log:
            raise NetworkError(f"node {node.name} (LogSoftmax): stands before the end of the "
                               "network, supported there is Softmax")  # fmt: skip
        (source,) = node.sources
        form = self.get_operand(source)
        before = replace(self.graph, nodes=self.graph.nodes[: source + 1])
        if needs_shift(before.evaluate(self.data).max(axis=1), self.settings):
            placed = source in self.values and self.values[source] > 0
            value = self.values[source] if placed else self.emit(f"{node.name}.value", form, X)
            form = subtract_largest(form, value, node.name, self.emit_relu)
        self.layers.append(Planned(f"{node.name}.exp", form, None, softmax="exponential"))
        powers = len(self.layers)
        ones = mix_channels(f"{node.name}.sum", node.shape, np.ones((1, node.shape[0])))
        total = wrap_map(powers, node.shape[0], ones)
        self.layers.append(Planned(f"{node.name}.inverse", total, None, softmax="inverse"))
        return powers, len(self.layers)

    def emit_relu(self, name: str, form: Form) -> int:
        """Adds a layer ``relu(form)`` that keeps the form's unit."""
        self.layers.append(Planned(name, form, apply("relu", X), exact=True))
        return len(self.layers)

    def emit_factor(self, index: int) -> int:
        """The layer whose output is a factor of a product. If there is none, it is added."""
        source = self.emit_value(index)
        if source:
            return source
        node = self.graph.nodes[index]
        return self.emit(f"{node.name}.factor", wrap_value(source, node.shape), X)

    def is_product_read_once(self, index: int) -> bool:
        """True if a node is a product that exactly one other node reads."""
        pending = index in self.products and index not in self.values
        return pending and len(self.readers[index]) == 1

    def plan_product(self, index: int, name: str, function: Expression | None) -> Planned:
        """The layer that computes a function of a product."""
        form = make_empty_form(self.graph.nodes[index].shape)
        return Planned(name, form, function, product=self.products[index])

    def get_form(self, index: int) -> Form:
        """A node as a linear form of earlier layers' outputs."""
        if index in self.products:
            self.emit_value(index)
        if index in self.values:
            return wrap_value(self.values[index], self.graph.nodes[index].shape)
        return self.forms[index]

    def get_operand(self, index: int) -> Form:
        """A node as part of a larger form: its own form if no other node reads it."""
        if len(self.readers[index]) == 1:
            return self.get_form(index)
        self.emit_value(index)
        return self.get_form(index)

    def emit_value(self, index: int) -> int:
        """The layer that has a node's value. If there is none, one that requantises is added."""
        name = self.graph.nodes[index].name
        if index in self.products and index not in self.values:
            self.layers.append(self.plan_product(index, name, X))
            self.values[index] = len(self.layers)
        if index not in self.values:
            self.values[index] = self.emit(name, self.forms[index], X)
        return self.values[index]

    def apply_linear(self, node: Conv | Dense | Window) -> Form:
        (source,) = node.sources
        if source in self.forms and source not in self.values and len(self.readers[source]) == 1:
            composed = self.forms[source].compose(node)
            if composed is not None:
                return composed
        return wrap_map(self.emit_value(source), self.graph.nodes[source].shape[0], node)

    def plan_pool(self, node: MaxPool) -> Form:
        """Max pooling as a form. Padding is 0, so negative values are raised above 0 first."""
        (index,) = node.sources
        source, shape = self.emit_value(index), self.graph.nodes[index].shape
        least = 0.0
        if node.geometry.padded and not (
            source and is_nonnegative(self.layers[source - 1].function)
        ):
            least = self.find_least(index, source)
            source = self.raise_value(index, source, -least)

        def emit(name: str, form: Form) -> Form:
            return wrap_value(self.emit_relu(name, form), form.shape)

        pooled = plan_maximum(node.name, wrap_value(source, shape), node.geometry, emit)
        return pooled.scale_and_shift(np.ones(shape[0]), np.full(shape[0], least))

    def find_least(self, index: int, source: int) -> float:
        """The smallest value of a node by its grid, or else on the data. It is at most 0."""
        function = self.layers[source - 1].function if source else None
        grid = function.grid() if function else None if source else self.graph.input.grid
        if grid is not None:
            return min(grid.lo * grid.scale, 0.0)
        before = replace(self.graph, nodes=self.graph.nodes[: index + 1])
        return min(float(before.evaluate(self.data).min()), 0.0)

    def raise_value(self, index: int, source: int, more: float) -> int:
        """The layer that has a node's value plus ``more``, at least 0.

        It is the node's own layer, changed, if no other node reads it. Otherwise it is a new one.
        """
        node = self.graph.nodes[index]
        layer = self.layers[source - 1] if source else None
        if layer is None or layer.function is None or len(self.readers[index]) > 1:
            shift = np.full(node.shape[0], more)
            form = wrap_value(source, node.shape).scale_and_shift(np.ones(node.shape[0]), shift)
            return self.emit(f"{node.name}.raised", form, apply("relu", X))
        function = apply("add", layer.function, constant(more))
        if layer.function.grid() is None:
            function = apply("relu", function)
        self.layers[source - 1] = replace(layer, function=function)
        return source

    def emit(self, name: str, form: Form, function: Expression) -> int:
        self.layers.append(Planned(name, form, function))
        return len(self.layers)


def make_empty_form(shape: Shape) -> Form:
    """A form without terms."""
    return Form(shape, (), np.zeros(shape[0]))


def make_unique(names: list[str]) -> list[str]:
    """Makes names unique: a repeated name gets a number."""
    chosen: list[str] = []
    taken = set(names)
    for place, name in enumerate(names):
        word, count = name or f"layer{place + 1}", 1
        while word in chosen or (word != name and word in taken):
            count += 1
            word = f"{name or 'layer'}.{count}"
        chosen.append(word)
    return chosen


def is_nonnegative(function: Expression | None) -> bool:
    """True if a function is at least 0 at many points from -1000 to 1000."""
    samples = np.concatenate([np.linspace(-8, 8, 4001), np.linspace(-1000, 1000, 4001)])
    return function is not None and bool(np.min(function(samples)) >= 0)
