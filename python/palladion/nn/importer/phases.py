"""Images with interleaved rows and columns, as upsampling and transposed convolutions give them.

Every ``f``-th row and column of an image is a *phase*: an image of its own, ``f`` times smaller.
Taken as channels, the phases of an upsampled image are copies of the small image, and the phases
of a transposed convolution are plain convolutions of it. A convolution of the large image is a
convolution from phases to phases. The network therefore needs no matrix, and the rows are
interleaved by labels alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Final

import numpy as np

from palladion.nn.floats.geometry import Geometry, Pair
from palladion.nn.floats.graph import Conv
from palladion.nn.importer.context import Array, Op, Value, in_order

FACTORS: Final[tuple[Pair, ...]] = ((2, 2), (1, 2), (2, 1), (4, 4), (1, 4), (4, 1), (8, 8))
"""Rows and columns of phases that are tried."""

MOST_WEIGHTS: Final = 1 << 24


def apart(labels: Array, factors: Pair) -> Array:
    """(C, H, W) as phases: (C * rows * columns of phases, H / rows, W / columns)."""
    (channels, height, width), (down, across) = labels.shape, factors
    parts = labels.reshape(channels, height // down, down, width // across, across)
    return parts.transpose(0, 2, 4, 1, 3).reshape(-1, height // down, width // across)


def interleaved(phases: Array, factors: Pair) -> Array:
    """The inverse of :func:`apart`."""
    (count, height, width), (down, across) = phases.shape, factors
    parts = phases.reshape(count // (down * across), down, across, height, width)
    return parts.transpose(0, 3, 1, 4, 2).reshape(-1, height * down, width * across)


def arrangements(labels: Array) -> Iterator[tuple[Array, Pair]]:
    """The phases of an image of shape (C, H, W) that its sides allow: images of several places."""
    if labels.ndim != 3:
        return
    for down, across in FACTORS:
        pairs = (labels.shape[1], down), (labels.shape[2], across)
        if all(factor == 1 or (side % factor == 0 and side > factor) for side, factor in pairs):
            yield apart(labels, (down, across)), (down, across)


@dataclass(frozen=True)
class Axis:
    """One axis of a convolution from phases to phases.

    Output phase ``q`` reads, by tap ``i`` of the kernel, phase ``phase[q, i]`` of the input,
    ``offset[q, i]`` places after its own place times ``stride``.
    """

    phase: Array
    offset: Array
    stride: int
    outputs: int

    @classmethod
    def of(cls, node: Conv, axis: int, factor: int) -> Axis | None:
        """The axis for this number of phases, or ``None`` if the stride does not fit them."""
        stride, taps = node.geometry.stride[axis], node.geometry.kernel[axis]
        if factor % stride and stride % factor:
            return None
        count = max(factor // stride, 1)
        start = np.arange(count)[:, None] * stride - node.geometry.pads[axis]
        place = start + np.arange(taps) * node.geometry.dilation[axis]
        offset = place // factor
        return cls(place - offset * factor, offset, max(stride // factor, 1), count)

    @property
    def before(self) -> int:
        return -int(self.offset.min())

    @property
    def kernel(self) -> int:
        return int(self.offset.max() - self.offset.min()) + 1


def convolved(
    node: Conv, size: Pair, factors: Pair, *, step: Pair = (1, 1)
) -> tuple[Conv, Pair] | None:
    """A convolution of an image of rows and columns ``size`` as one from phases to phases.

    Rows and columns of phases that are no multiples of ``step`` are 0 in the input, and are left
    out. Also returns the rows and columns of phases of the output. ``None`` if its stride does not
    fit the phases, or if it would be too large.
    """
    axes = [Axis.of(node, axis, factors[axis]) for axis in (0, 1)]
    rows, columns = axes
    if rows is None or columns is None:
        return None
    kernels, per_group = node.weights.shape[:2]
    outputs = kernels * rows.outputs * columns.outputs
    kept = factors[0] // step[0], factors[1] // step[1]
    held = (per_group, *kept, rows.kernel, columns.kernel)
    if outputs * prod(held) > MOST_WEIGHTS:
        return None
    weights: Array = np.zeros((kernels, rows.outputs, columns.outputs, *held))
    for y, x, i, j in np.ndindex(rows.outputs, columns.outputs, *node.geometry.kernel):
        phase = rows.phase[y, i], columns.phase[x, j]
        if phase[0] % step[0] or phase[1] % step[1]:
            continue
        place = phase[0] // step[0], phase[1] // step[1]
        at = rows.offset[y, i] + rows.before, columns.offset[x, j] + columns.before
        weights[:, y, x, :, place[0], place[1], at[0], at[1]] += node.weights[:, :, i, j]
    weights = weights.reshape(outputs, -1, rows.kernel, columns.kernel)
    small = tuple(-(-side // factor) for side, factor in zip(size, factors, strict=True))
    sides, after = [], []
    for axis, along, side in zip((rows, columns), (0, 1), small, strict=True):
        count = -(-node.shape[1 + along] // axis.outputs)
        sides.append(count)
        after.append((count - 1) * axis.stride + axis.kernel - side - axis.before)
    geometry = Geometry(
        (rows.kernel, columns.kernel), (rows.stride, columns.stride),
        pads=(rows.before, columns.before, after[0], after[1]),
    )  # fmt: skip
    each = rows.outputs * columns.outputs
    steps = None if node.steps is None else np.repeat(node.steps, each)
    made = Conv(node.name, (), (outputs, sides[0], sides[1]), weights, np.repeat(node.bias, each),
                geometry, node.groups, steps)  # fmt: skip
    return made, (rows.outputs, columns.outputs)


def added(op: Op, source: int, found: tuple[Conv, Pair], node: Conv) -> Value:
    """The value of ``node`` from the phases of ``source``, as :func:`convolved` found it."""
    made, phases = found
    value = op.builder.add(replace(made, sources=(source,)))
    labels = interleaved(in_order(made.shape), phases)
    return value.seen(labels[:, : node.shape[1], : node.shape[2]])
