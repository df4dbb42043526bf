"""Folding: affine maps into their neighbours, padding into convolutions; removal of unused nodes.

Every rule merges a node with a source that no other node reads. Rules are applied until none fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from palladion.nn.ends.interface import Interface
from palladion.nn.floats.exact_sums import add_up
from palladion.nn.floats.expression import Expression, Grid, X, apply, constant
from palladion.nn.floats.geometry import add_pads
from palladion.nn.floats.graph import (
    Activation,
    Add,
    Affine,
    Array,
    Conv,
    Dense,
    Graph,
    Input,
    MaxPool,
    Node,
    Window,
)


def simplify(name: str, nodes: Sequence[Node], notes: Sequence[str], interface: Interface) -> Graph:
    """The same function with fewer nodes. The last node is the output."""
    graph = pruned(Graph(name, tuple(nodes), tuple(notes), interface))
    while (smaller := input_on_grid(graph) or fold_one(graph)) is not None:
        graph = pruned(smaller)
    return graph


def pruned(graph: Graph) -> Graph:
    """The graph without nodes on which the output does not depend, numbered anew."""
    needed = {len(graph.nodes) - 1}
    for index in range(len(graph.nodes) - 1, -1, -1):
        if index in needed:
            needed.update(graph.nodes[index].sources)
    first = next(i for i in sorted(needed) if isinstance(graph.nodes[i], Input))
    order = [first, *sorted(needed - {first})]
    number = {old: new for new, old in enumerate(order)}
    nodes = [
        replace(graph.nodes[old], sources=tuple(number[s] for s in graph.nodes[old].sources))
        for old in order
    ]
    return replace(graph, nodes=tuple(nodes))


def fold_one(graph: Graph) -> Graph | None:
    """The graph after the first possible merge, or ``None`` if none is possible."""
    consumers = graph.consumers()
    for index, node in enumerate(graph.nodes):
        for source in dict.fromkeys(node.sources):
            if len(consumers[source]) != 1:
                continue
            for rule in RULES:
                merged = rule(graph, source, node)
                if merged is not None:
                    nodes = (*graph.nodes[:index], merged, *graph.nodes[index + 1 :])
                    return replace(graph, nodes=nodes)
    return None


def into_input(graph: Graph, source: int, node: Node) -> Node | None:
    """An affine map of the input becomes part of the encoding of inputs."""
    before = graph.nodes[source]
    if not isinstance(before, Input) or before.grid is not None:
        return None
    if isinstance(node, Affine) and np.all(node.scale != 0):
        mean = before.mean - node.shift * before.std / node.scale
        return replace(before, mean=mean, std=before.std / node.scale)
    return None


def input_on_grid(graph: Graph) -> Graph | None:
    """The model's own rounding of its input becomes the input's grid, if nothing else reads it.

    An input is rounded to the nearest integer, halves to even. Other roundings become the rounding
    of a shifted value, followed by an affine map.
    """
    before, readers = graph.input, graph.consumers()[0]
    if before.grid is not None or len(readers) != 1:
        return None
    node = graph.nodes[readers[0]]
    found = moved_rounding(node.function) if isinstance(node, Activation) else None
    if found is None or not isinstance(node, Activation):
        return None
    inner, (move, grid, scale, shift) = node.function.arguments[0].affine(), found
    if inner is None or not inner[0]:
        return None
    a, b = inner
    std = before.std / a
    mean = before.mean - (b + move) * std
    rounded = replace(before, mean=mean, std=std, grid=grid)
    nodes = [rounded, *graph.nodes[1:]]
    nodes[readers[0]] = rounded
    if (scale, shift) != (1, 0):
        parts = (np.full(before.shape[0], part) for part in (scale, shift))
        nodes[readers[0]] = Affine(node.name, (0,), node.shape, *parts)
    return replace(graph, nodes=tuple(nodes))


def moved_rounding(function: Expression) -> tuple[float, Grid, float, float] | None:
    """A rounding as ``scale * nearest(x + move) + shift`` on a grid, if it is one."""
    if function.operation == "bipolar":
        (size,) = function.parameters
        tiny = 2.0**-20  # numbers near 0 are not lost when 1.5 is added
        return 1.5 * tiny, Grid(tiny, 1, 2), 2 * size / tiny, -3 * size
    if not function.operation.startswith("quantise_"):
        return None
    step, zero, lo, hi = function.parameters
    most = max(abs(lo), abs(hi), 1.0)
    half = (0.5 - most * 2.0**-22) * step  # close to a half in single precision
    moves = {"quantise_round": 0.0, "quantise_floor": -half, "quantise_ceil": half}
    if function.operation not in moves or not zero.is_integer():
        return None
    odd = zero % 2 if function.operation == "quantise_round" else 0.0  # moves halves
    move = moves[function.operation] + odd * step
    return move, Grid(step, int(lo - zero + odd), int(hi - zero + odd)), 1.0, -odd * step


def affine_after(graph: Graph, source: int, node: Node) -> Node | None:
    """Merge a linear map with a factor and a shift per channel after it."""
    before = graph.nodes[source]
    if not isinstance(node, Affine):
        return None
    if isinstance(before, Conv):
        factor = node.scale[:, None, None, None]
        weights, bias = before.weights * factor, before.bias * node.scale + node.shift
        steps = scaled(before.steps, node.scale)
        return replace(before, weights=weights, bias=bias, steps=steps)
    if isinstance(before, Dense):
        weights = before.weights * node.scale[:, None]
        bias = before.bias * node.scale + node.shift
        return replace(before, weights=weights, bias=bias, steps=scaled(before.steps, node.scale))
    if isinstance(before, Affine):
        shift = before.shift * node.scale + node.shift
        return replace(before, scale=before.scale * node.scale, shift=shift)
    if isinstance(before, Window) and uniform(node.scale) and not node.shift.any():
        return replace(before, taps=before.taps * node.scale[0])
    return None


def affine_before(graph: Graph, source: int, node: Node) -> Node | None:
    """Merge a factor and a shift per channel into the map after it, if its padding does not see
    them."""
    before = graph.nodes[source]
    if not isinstance(before, Affine):
        return None
    scale, shift = before.scale, before.shift
    if isinstance(node, Dense):
        each = before.shape[1] * before.shape[2]
        bias = node.bias + add_up(node.weights * np.repeat(shift, each), axis=1)
        weights, steps = node.weights * np.repeat(scale, each), rescaled(node.steps, scale)
        return replace(node, sources=before.sources, weights=weights, bias=bias, steps=steps)
    if isinstance(node, Conv) and not (node.geometry.padded and shift.any()):
        spread = node.weights.shape[0], node.weights.shape[1]
        per_group = scale.reshape(node.groups, -1).repeat(spread[0] // node.groups, axis=0)
        shifts = shift.reshape(node.groups, -1).repeat(spread[0] // node.groups, axis=0)
        bias = node.bias + add_up(node.weights * shifts[:, :, None, None], axis=(1, 2, 3))
        weights, steps = node.weights * per_group[:, :, None, None], rescaled(node.steps, scale)
        return replace(node, sources=before.sources, weights=weights, bias=bias, steps=steps)
    if isinstance(node, Activation) and uniform(scale) and uniform(shift):
        inner = apply("add", apply("mul", X, constant(scale[0])), constant(shift[0]))
        function = node.function.substitute(inner)
        return replace(node, sources=before.sources, function=function)
    return None


def move_before(graph: Graph, source: int, node: Node) -> Node | None:
    """Merge a choice of channels with a convolution, or a move of elements with a pointwise one."""
    before = graph.nodes[source]
    if not (isinstance(before, Conv) and isinstance(node, Conv)):
        return None
    if not moves_only(before) or before.groups != 1 or node.groups != 1:
        return None
    if before.geometry.pointwise:
        weights = np.einsum("kcij,cs->ksij", node.weights, before.weights[:, :, 0, 0])
        return replace(node, sources=before.sources, weights=weights)
    if node.geometry.pointwise:
        weights = np.einsum("kc,csij->ksij", node.weights[:, :, 0, 0], before.weights)
        return replace(node, sources=before.sources, weights=weights, geometry=before.geometry)
    return None


def placed(graph: Graph, source: int, node: Node) -> Node | None:
    """Merge a linear map with a choice of the channels among which its own lie, as in a
    concatenation."""
    before = graph.nodes[source]
    if not isinstance(node, Window) or not node.geometry.pointwise or node.taps[0, 0] != 1:
        return None
    if not isinstance(before, Dense) and not (isinstance(before, Conv) and before.groups == 1):
        return None
    channels = len(before.bias)
    around = node.first, node.shape[0] - node.first - channels
    weights = np.pad(before.weights, [around, *[(0, 0)] * (before.weights.ndim - 1)])
    steps = before.steps
    if steps is not None:
        steps = np.pad(steps, around, mode="edge")  # any grid has the zeros
    bias = np.pad(before.bias, around)
    return replace(before, shape=node.shape, weights=weights, bias=bias, steps=steps)


def added(graph: Graph, source: int, node: Node) -> Node | None:
    """Merge a sum of dense layers of the same values."""
    if not isinstance(node, Add) or len(set(node.sources)) != len(node.sources):
        return None
    consumers = graph.consumers()
    parts = [graph.nodes[index] for index in node.sources]
    dense = [part for part in parts if isinstance(part, Dense) and part.steps is None]
    if len(dense) != len(parts) or len({part.sources for part in parts}) != 1:
        return None
    if any(len(consumers[index]) != 1 for index in node.sources):
        return None
    weights, bias = np.zeros_like(dense[0].weights), np.zeros_like(dense[0].bias)
    for sign, part in zip(node.signs, dense, strict=True):
        weights, bias = weights + sign * part.weights, bias + sign * part.bias
    return replace(dense[0], name=node.name, weights=weights, bias=bias)


def moves_only(node: Conv) -> bool:
    """True if every output equals one input, or is 0."""
    kernels = node.weights.reshape(len(node.weights), -1)
    ones = np.all((kernels == 0) | (kernels == 1)) and np.all(kernels.sum(axis=1) <= 1)
    return bool(ones) and not node.bias.any()


def pads_before(graph: Graph, source: int, node: Node) -> Node | None:
    """Merge zeros around an image with a kernel that pads with zeros."""
    before = graph.nodes[source]
    if not isinstance(before, Window) or not isinstance(node, Conv | Window):
        return None
    plain = before.geometry.kernel == (1, 1) == before.geometry.stride
    whole = before.first == 0 and before.shape[0] == graph.nodes[before.sources[0]].shape[0]
    zeros = min(*before.geometry.pads, *node.geometry.pads) >= 0
    if not (plain and whole and zeros and before.taps[0, 0] == 1):
        return None
    geometry = node.geometry.with_pads(add_pads(before.geometry.pads, node.geometry.pads))
    return replace(node, sources=before.sources, geometry=geometry)


def rounding_again(graph: Graph, source: int, node: Node) -> Node | None:
    """Drop a rounding to a grid on which the values already lie."""
    before = graph.nodes[source]
    if not isinstance(before, Activation) or not before.function.rounds_only():
        return None
    (behind,) = before.sources
    given, wanted = lies_on(graph, behind), before.function.grid()
    if given is None or wanted is None or given.scale != wanted.scale:
        return None
    if given.lo < wanted.lo or given.hi > wanted.hi:
        return None
    return replace(node, sources=tuple(behind if s == source else s for s in node.sources))


def lies_on(graph: Graph, index: int) -> Grid | None:
    """The grid of a node's values, also through nodes that only move and choose them."""
    node = graph.nodes[index]
    if isinstance(node, Activation):
        return node.function.grid()
    if isinstance(node, Input):
        return node.grid
    moves = isinstance(node, Window) and node.taps.shape == (1, 1) and node.taps[0, 0] == 1
    return lies_on(graph, node.sources[0]) if moves or isinstance(node, MaxPool) else None


Rule = Callable[[Graph, int, Node], Node | None]
RULES: tuple[Rule, ...] = (
    into_input,
    affine_after,
    affine_before,
    move_before,
    placed,
    added,
    pads_before,
    rounding_again,
)


def uniform(values: Array) -> bool:
    return bool(np.all(values == values[0]))


def scaled(steps: Array | None, scale: Array) -> Array | None:
    """The steps of rows, each multiplied by a factor."""
    return None if steps is None or not np.all(scale) else steps * np.abs(scale)


def rescaled(steps: Array | None, scale: Array) -> Array | None:
    """The steps of rows whose columns are multiplied by factors. Kept if all factors are equal."""
    return scaled(steps, scale[:1]) if uniform(scale) else None
