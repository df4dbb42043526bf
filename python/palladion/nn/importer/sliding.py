"""Kernel, stride, dilation and pads of one or two axes, from an operator's attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from palladion.nn.floats.geometry import Geometry, Pads, Pair
from palladion.nn.floats.graph import Conv, Node, Shape
from palladion.nn.importer import phases
from palladion.nn.importer.arrange import arranged, image, matrix
from palladion.nn.importer.context import Array, Op, Value


@dataclass(frozen=True)
class Picture:
    """A value as (channels, rows, columns), and the node that has it in this order, if any.

    ``axes`` is 2 if the value is (N, C, H, W). If it is (N, C, L), ``axes`` is 1 if L are the
    columns, and 0 if they are the rows.
    """

    node: int | None
    shape: Shape
    axes: int

    @property
    def size(self) -> Pair:
        """Rows and columns."""
        return self.shape[1:]

    @property
    def rank(self) -> int:
        """Number of axes of the model after the channels."""
        return 2 if self.axes == 2 else 1

    def pair(self, given: Sequence[int], other: int) -> Pair:
        """(rows, columns), from one number for each of the model's axes."""
        if self.axes == 2:
            return given[0], given[1]
        return (other, given[0]) if self.axes == 1 else (given[0], other)

    def kernel(self, weights: Array) -> Array:
        """Weights (K, C, *kernel), where the kernel has rows and columns."""
        return weights if self.axes == 2 else np.expand_dims(weights, 2 if self.axes == 1 else 3)

    def as_model(self, found: Value) -> Value:
        """A node's value with the axes of the model."""
        if self.axes == 2:
            return found
        return found.seen(np.squeeze(found.labels, 1 if self.axes == 1 else 2))


def picture(op: Op, value: Value) -> Picture:
    """The picture over which a kernel slides."""
    labels = value.labels
    if labels.ndim not in (2, 3):
        op.fail(f"is over an input of shape {('N', *labels.shape)}, supported are (N, C, L) and "
                "(N, C, H, W)")  # fmt: skip
    wanted = [labels] if labels.ndim == 3 else [labels[:, None, :], labels[:, :, None]]
    found = arranged(op, value, wanted)
    place, node = (0, None) if found is None else found
    channels, rows, columns = wanted[place].shape
    return Picture(node, (channels, rows, columns), 2 if labels.ndim == 3 else 1 - place)


def placed(op: Op, value: Value, over: Picture, node: Node) -> Value:
    """A linear node over a picture. If no node has the picture in its own order, a convolution of
    its phases, or a matrix."""
    if over.node is not None:
        return over.as_model(op.builder.add(replace(node, sources=(over.node,))))
    seen = value.seen(value.labels.reshape(over.shape))
    if not isinstance(node, Conv):
        return over.as_model(matrix(op, seen, node.evaluate))
    for labels, factors in phases.arrangements(seen.labels):
        found = phases.convolved(node, over.size, factors)
        source = None if found is None else image(op, seen, labels)
        if found is not None and source is not None:
            return over.as_model(phases.added(op, source, found, node))
    return over.as_model(matrix(op, seen, node.evaluate))


def geometry(op: Op, over: Picture, kernel: list[int]) -> Geometry:
    """Kernel, stride, dilation and pads from the attributes, auto_pad resolved."""
    rank = over.rank
    given = [int(v) for v in op.attributes.get("kernel_shape", kernel)]
    stride = [int(v) for v in op.attributes.get("strides", (1,) * rank)]
    dilation = [int(v) for v in op.attributes.get("dilations", (1,) * rank)]
    if not len(given) == len(stride) == len(dilation) == rank or given != kernel:
        op.fail(f"has kernel_shape {given}, strides {stride}, dilations {dilation}, expected "
                f"{rank} of each, and the kernel of the weights")  # fmt: skip
    if min(*given, *stride, *dilation) < 1:
        op.fail("has a kernel, stride or dilation below 1")
    found = Geometry(over.pair(given, 1), over.pair(stride, 1), over.pair(dilation, 1))
    found = found.with_pads(pads(op, over, found))
    if min(found.output(over.size)) < 1:
        op.fail(f"its kernel {tuple(given)} with pads {found.pads} does not fit {over.size}")
    return found


def pads(op: Op, over: Picture, geometry: Geometry) -> Pads:
    """Explicit pads, or the pads of auto_pad."""
    mode = op.text("auto_pad", "NOTSET")
    rank = over.rank
    if mode in ("NOTSET", ""):
        given = [int(v) for v in op.attributes.get("pads", (0,) * 2 * rank)]
        if len(given) != 2 * rank:
            op.fail(f"has pads {given}, expected {2 * rank}")
        (top, left), (bottom, right) = over.pair(given[:rank], 0), over.pair(given[rank:], 0)
        return top, left, bottom, right
    if mode == "VALID":
        return 0, 0, 0, 0
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        op.fail(f"has auto_pad {mode}, supported are NOTSET, VALID, SAME_UPPER and SAME_LOWER")
    before, after = [], []
    for length, stride, span in zip(over.size, geometry.stride, geometry.span, strict=True):
        total = max((ceil(length / stride) - 1) * stride + span - length, 0)
        less, more = total // 2, total - total // 2
        before.append(less if mode == "SAME_UPPER" else more)
        after.append(more if mode == "SAME_UPPER" else less)
    return before[0], before[1], after[0], after[1]


def rounded_up(op: Op, size: Pair, geometry: Geometry) -> Geometry:
    """With ceil_mode, add padding at the end, so that the last windows are whole."""
    if not op.attributes.get("ceil_mode", 0):
        return geometry
    top, left, bottom, right = geometry.pads
    more = []
    for axis, before, after in ((0, top, bottom), (1, left, right)):
        length, stride, span = size[axis], geometry.stride[axis], geometry.span[axis]
        windows = ceil((length + before + after - span) / stride)
        if windows * stride >= length + before:  # a window that starts in the padding is left out
            windows -= 1
        more.append(max(0, windows * stride + span - length - before - after))
    return geometry.with_pads((top, left, bottom + more[0], right + more[1]))


def kernel_shape(op: Op) -> list[int]:
    found = [int(v) for v in op.attributes.get("kernel_shape", ())]
    if not found:
        op.fail("has no kernel_shape")
    return found


def counts(over: Picture, explicit: Geometry, whole: Geometry, *, padded: bool) -> Array:
    """The number of values by which an average divides at each position.

    ``explicit`` has the model's pads, which count if ``padded``. ``whole`` also has the
    pads of ceil_mode, which never count.
    """
    counted = np.ones((1, 1, *over.size))
    geometry = whole
    if padded:
        top, left, bottom, right = explicit.pads
        counted = np.pad(counted, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=1)
        beyond = np.subtract(whole.pads, explicit.pads)
        geometry = whole.with_pads((0, 0, int(beyond[2]), int(beyond[3])))
    found: Array = geometry.windows(counted).sum(axis=(4, 5))[0, 0]
    return found


def uniform(values: Array) -> bool:
    return bool(np.all(values == values.flat[0]))
