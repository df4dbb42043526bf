"""Values moved into the arrangement that an operator works on.

Labels move elements for free. An operator on images needs a node whose own order is (channels,
rows, columns). If the labels give another order, one linear node moves the elements. It is chosen
by the places of the elements: a window if all channels move alike, otherwise a convolution whose
kernels hold a single 1. If neither fits, the whole operator becomes a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np

from palladion.nn.floats.expression import Expression, X
from palladion.nn.floats.geometry import Geometry, Pair
from palladion.nn.floats.graph import Conv, Dense, Node, Shape, Window
from palladion.nn.importer import phases
from palladion.nn.importer.context import Array, Op, Value, in_order

MAX_WEIGHTS = 1 << 24
"""Largest number of weights of a matrix or convolution that only moves elements."""
MAX_ELEMENTS = 1 << 13
"""Largest number of elements of a value whose matrix is found from single elements."""
STEP = 256
"""Number of elements that are examined at once."""


def as_image(labels: Array) -> Array:
    """Labels as (channels, rows, columns). Axes between the first and the last become rows."""
    if labels.ndim <= 1:
        return labels.reshape(-1, 1, 1)
    return labels.reshape(labels.shape[0], -1, labels.shape[-1])


def flat(labels: Array) -> Array:
    """Labels as a vector of features."""
    return labels.reshape(-1, 1, 1)


def arranged(op: Op, value: Value, wanted: Iterable[Array]) -> tuple[int, int] | None:
    """The first wanted arrangement that exists, and the node that has it.

    Arrangements that cost nothing come before arrangements that need a node. ``None`` if no wanted
    arrangement exists.
    """
    candidates = list(wanted)
    shape = op.builder.shape(value)
    for place, labels in enumerate(candidates):
        if labels.shape == shape and np.array_equal(labels, in_order(shape)):
            return place, value.node
    for place, labels in enumerate(candidates):
        found = moved(op, value.node, labels)
        if found is not None:
            op.builder.moved += found.weights.size if isinstance(found, Conv | Dense) else 0
            return place, op.builder.add(found).node
    return None


def image(op: Op, value: Value, labels: Array) -> int | None:
    """The node whose own order has the values at ``labels``, or ``None`` if none is possible."""
    found = arranged(op, value, [labels])
    return None if found is None else found[1]


def moved(op: Op, node: int, labels: Array) -> Node | None:
    """A linear node that moves the elements of another node to their places in ``labels``."""
    if min(labels.shape) < 1:
        op.fail("leaves nothing")
    shape, output = op.builder.nodes[node].shape, labels_shape(labels)
    moves, name = Moves.of(shape, labels), f"{op.name}.moved"
    if moves is None:
        if output[1:] != (1, 1) or labels.size * prod(shape) > MAX_WEIGHTS:
            return None
        weights = scattered(np.eye(labels.size), labels, prod(shape))
        return Dense(name, (node,), output, weights, np.zeros(labels.size))
    first, geometry = moves.window(shape[0]), moves.geometry(shape, output)
    if first is not None:
        return Window(name, (node,), output, np.ones(moves.spread), geometry, first)
    groups = shape[0] if moves.channels.tolist() == list(range(shape[0])) else 1
    if output[0] * shape[0] // groups * prod(geometry.kernel) > MAX_WEIGHTS:
        return None
    weights = moves.kernels(shape[0] // groups, geometry.kernel)
    return Conv(name, (node,), output, weights, np.zeros(output[0]), geometry, groups)


def labels_shape(labels: Array) -> Shape:
    channels, rows, columns = labels.shape
    return channels, rows, columns


@dataclass(frozen=True)
class Moves:
    """Output ``[k, i, j]`` is input ``[channels[k], stride i + offset[k], ...]``, 0 outside.

    Channel -1 is all 0. Along an axis with ``spread`` above 1, one row (column) of the input is
    repeated ``spread`` times.
    """

    channels: Array
    offsets: Array  # (2, K): rows, columns
    stride: Pair
    spread: Pair

    @staticmethod
    def of(shape: Shape, labels: Array) -> Moves | None:
        """The moves that the labels describe, if they are of this kind."""
        spread = [1, 1]
        for axis in (1, 2):
            first = labels.take([0], axis)
            if shape[axis] == 1 < labels.shape[axis] and np.all(labels == first):
                spread[axis - 1], labels = labels.shape[axis], first
        channel, *places = np.unravel_index(np.maximum(labels, 0), shape)
        there = labels >= 0
        known = there.any(axis=(1, 2))
        at = there.reshape(len(labels), -1).argmax(axis=1)
        channels = channel.reshape(len(labels), -1)[np.arange(len(labels)), at]
        indices = np.indices(labels.shape)[1:]
        stride, offsets = [], []
        for index, place in zip(indices, places, strict=True):
            step = common_step(index, place, there)
            stride.append(step)
            offset = (place - step * index).reshape(len(labels), -1)[np.arange(len(labels)), at]
            offsets.append(np.where(known, offset, offset[known].min() if known.any() else 0))
        found = Moves(
            np.where(known, channels, -1), np.stack(offsets), (stride[0], stride[1]), (1, 1)
        )
        if not np.array_equal(found.labels(shape, labels.shape), labels):
            return None
        return replace(found, spread=(spread[0], spread[1]))

    def labels(self, shape: Shape, output: Sequence[int]) -> Array:
        """The place from which each output comes, before any spread."""
        _, rows, columns = np.indices(output)
        rows = rows * self.stride[0] + self.offsets[0][:, None, None]
        columns = columns * self.stride[1] + self.offsets[1][:, None, None]
        channels = self.channels[:, None, None]
        inside = (channels >= 0) & (rows >= 0) & (rows < shape[1]) & (columns >= 0)
        inside &= columns < shape[2]
        return np.where(inside, (channels * shape[1] + rows) * shape[2] + columns, -1)

    def window(self, channels: int) -> int | None:
        """The first of the source's channels, if they are adjacent and move alike."""
        known = np.flatnonzero(self.channels >= 0)
        if len(known) != channels or not np.array_equal(self.channels[known], np.arange(channels)):
            return None
        alike = np.all(self.offsets[:, known] == self.offsets[:, known[:1]])
        return int(known[0]) if alike and known[-1] - known[0] == channels - 1 else None

    def geometry(self, shape: Shape, output: Shape) -> Geometry:
        """The kernel that covers all offsets, and the pads that give the output its size."""
        kernel, pads = [], []
        for axis, (offset, spread) in enumerate(zip(self.offsets, self.spread, strict=True)):
            if spread > 1:
                kernel.append(spread)
                pads.append((spread - 1, spread - 1))
                continue
            span, before = int(offset.max() - offset.min()) + 1, -int(offset.min())
            reach = (output[axis + 1] - 1) * self.stride[axis] + span
            kernel.append(span)
            pads.append((before, reach - shape[axis + 1] - before))
        (top, bottom), (left, right) = pads
        return Geometry((kernel[0], kernel[1]), self.stride, pads=(top, left, bottom, right))

    def kernels(self, channels: int, kernel: Pair) -> Array:
        """Weights (K, channels, *kernel), with a single 1 in each kernel unless it is spread."""
        weights = np.zeros((len(self.channels), channels, *kernel))
        rows, columns = self.offsets - self.offsets.min(axis=1, keepdims=True)
        for k, channel in enumerate(self.channels):
            if channel >= 0:
                down = slice(None) if self.spread[0] > 1 else slice(rows[k], rows[k] + 1)
                across = slice(None) if self.spread[1] > 1 else slice(columns[k], columns[k] + 1)
                weights[k, channel if channels > 1 else 0, down, across] = 1
        return weights


def common_step(index: Array, place: Array, there: Array) -> int:
    """The stride from an index to its place, in the first channel that shows one."""
    for i, p, t in zip(index, place, there, strict=True):
        known_i, known_p = i[t], p[t]
        if known_i.size and known_i.max() > known_i.min():
            low, high = known_i.argmin(), known_i.argmax()
            return max(1, int((known_p[high] - known_p[low]) // (known_i[high] - known_i[low])))
    return 1


def scattered(weights: Array, labels: Array, size: int) -> Array:
    """Columns of a matrix on labelled elements, moved to the places of these elements in the
    node."""
    found = np.zeros((len(weights), size))
    there = labels.ravel() >= 0
    np.add.at(found.T, labels.ravel()[there], weights[:, there].T)
    return found


def matrix(op: Op, value: Value, function: Callable[[Array], Array]) -> Value:
    """A linear operator (with a constant part) as a matrix, found from its values on single
    elements.

    ``function`` takes values of shape (N, *labels.shape), for any N.
    """
    shape, size = value.labels.shape, value.labels.size
    least = function(np.zeros((1, *shape)))
    outputs, whole = least.size, prod(op.builder.shape(value))
    if size > MAX_ELEMENTS or max(size, whole) * outputs > MAX_WEIGHTS:
        op.fail(f"would need a matrix of {outputs} x {whole} weights, the most are {MAX_WEIGHTS}: "
                "only on (N, C, L) and (N, C, H, W), in this order, is it cheaper")  # fmt: skip
    weights = np.empty((outputs, size))
    for start in range(0, size, STEP):
        count = min(STEP, size - start)
        basis = np.zeros((count, size))
        basis[np.arange(count), start + np.arange(count)] = 1
        found = function(basis.reshape(count, *shape))
        for place in (0, count - 1) if start in (0, size - count) else ():
            twice = function(np.stack([basis[place], basis[place]]).reshape(2, *shape))
            whole_batch = found.shape == (count, *least.shape[1:])
            if not whole_batch or not np.allclose(twice, found[place]):
                op.fail("mixes the images of a batch: each must stay by itself")
        found = found - least
        weights[:, start : start + count] = found.reshape(count, outputs).T
    ordered = scattered(weights, value.labels, whole)
    node = Dense(op.name, (value.node,), (outputs, 1, 1), ordered, least.ravel().astype(np.float64))
    made = op.builder.add(node)
    op.builder.moved += ordered.size
    return made.seen(made.labels.reshape(least.shape[1:]))


def filled(op: Op, value: Value) -> Value:
    """The value with its zeros in its node, so that no label is -1 and each occurs once."""
    labels = value.labels
    found = image(op, value, as_image(labels))
    if found is None:
        found = image(op, value, flat(labels))
    if found is None:
        op.fail(f"its input of shape {('N', *labels.shape)} is put together from elements of "
                "another value in a way that needs too large a matrix")  # fmt: skip
    return replace(value, node=found, labels=in_order(labels.shape))


Extend = Callable[[Expression], Expression]


def function_of(op: Op, value: Value, extend: Extend, kind: str = "") -> Value:
    """A function of each element, composed with the function already applied."""
    if (value.labels < 0).any() and extend(X)(np.zeros(())) != 0:
        value = filled(op, value)
    _, inner = op.builder.expression(value)
    found = op.builder.elementwise(op.name, value, extend(inner))
    return replace(found, kind=kind or value.kind)


def together(op: Op, left: Value, right: Value) -> tuple[int, int, Array]:
    """Nodes of the same shape that hold two values in one order, and the labels of both."""
    shapes = [("N", *value.labels.shape) for value in (left, right)]
    try:
        labels = np.broadcast_arrays(left.labels, right.labels)
    except ValueError:
        op.fail(f"its inputs have shapes {shapes[0]} and {shapes[1]}, which do not fit each other")
    a, b = left.seen(labels[0]), right.seen(labels[1])
    same = op.builder.shape(a) == op.builder.shape(b)
    if same and np.array_equal(a.labels, b.labels) and labels[0].min() >= 0:
        return a.node, b.node, a.labels
    for one, other, turned in ((a, b, False), (b, a, True)):
        shape = op.builder.shape(one)
        if one.labels.size == prod(shape) == len(np.unique(one.labels)) and one.labels.min() >= 0:
            back = np.empty(one.labels.size, dtype=np.int64)
            back[one.labels.ravel()] = np.arange(one.labels.size)
            found = image(op, other, other.labels.ravel()[back].reshape(shape))
            if found is not None:
                pair = (found, one.node) if turned else (one.node, found)
                return *pair, one.labels

    def both(arrange: Callable[[Array], Array]) -> tuple[int, int] | None:
        nodes = [image(op, value, arrange(value.labels)) for value in (a, b)]
        return None if nodes[0] is None or nodes[1] is None else (nodes[0], nodes[1])

    nodes = both(as_image)
    if nodes is None:
        for _, factors in phases.arrangements(a.labels):
            nodes = both(partial(phases.apart, factors=factors))
            if nodes is not None:
                own = op.builder.nodes[nodes[0]].shape
                return *nodes, phases.interleaved(in_order(own), factors)
        nodes = both(flat)
    if nodes is not None:
        return *nodes, in_order(a.labels.shape)
    raise op.refusal(f"its inputs of shapes {shapes[0]} and {shapes[1]} lie in different orders, "
                     "and a matrix between them is too large")  # fmt: skip
