"""Operators that move elements: they change labels, or cut and pad images."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from palladion.nn.geometry import Geometry
from palladion.nn.graph import Conv, Window
from palladion.nn.importer.constants import shape_with_batch
from palladion.nn.importer.context import Handler, Op, Value


def tensor(op: Op) -> Value:
    """The first input, which may be between QuantizeLinear and DequantizeLinear."""
    found = op.tensor(0)
    return found if isinstance(found, Value) else op.value(0)


def identity(op: Op) -> Value:
    return tensor(op)


def reshaped(op: Op, value: Value, shape: list[int]) -> Value:
    """Labels in a new shape, whose first axis must stay the batch."""
    batch, *rest = shape
    if batch != op.builder.batch or prod(rest) != value.labels.size:
        before = ("N", *value.labels.shape)
        op.fail(f"makes {tuple(shape)} of {before}, supported are shapes that keep the batch axis")
    return replace(value, labels=value.labels.reshape(rest))


def reshape(op: Op) -> Value:
    value = tensor(op)
    before = shape_with_batch(op.builder, value)
    wanted = op.integers(1, "shape") or []
    if not op.attributes.get("allowzero", 0):
        kept = [before[i] if i < len(before) else 0 for i in range(len(wanted))]
        wanted = [k if w == 0 else w for w, k in zip(wanted, kept, strict=True)]
    known = prod(w for w in wanted if w != -1)
    if wanted.count(-1) > 1 or known <= 0 or (-1 in wanted and prod(before) % known):
        op.fail(f"cannot make {wanted} of {before}")
    return reshaped(op, value, [prod(before) // known if w == -1 else w for w in wanted])


def flatten(op: Op) -> Value:
    value = tensor(op)
    axis = int(op.attributes.get("axis", 1))
    if axis not in (1, -value.labels.ndim):
        op.fail(f"has axis {axis}, supported is 1, which keeps the batch axis")
    return replace(value, labels=value.labels.reshape(-1))


def squeeze(op: Op) -> Value:
    value = tensor(op)
    rank = value.labels.ndim + 1
    given = op.integers(1, "axes")
    sizes = shape_with_batch(op.builder, value)
    axes = [i for i in range(1, rank) if sizes[i] == 1] if given is None else given
    axes = [axis % rank for axis in axes]
    if 0 in axes or any(sizes[axis] != 1 for axis in axes):
        op.fail(f"drops axes {axes} of {('N', *sizes[1:])}, supported are axes of size 1 "
                "other than the batch axis")  # fmt: skip
    return replace(value, labels=np.squeeze(value.labels, tuple(axis - 1 for axis in axes)))


def unsqueeze(op: Op) -> Value:
    value = tensor(op)
    given = op.integers(1, "axes") or []
    rank = value.labels.ndim + 1 + len(given)
    axes = [axis % rank for axis in given]
    if 0 in axes:
        op.fail("adds an axis before the batch axis, supported are axes after it")
    return replace(value, labels=np.expand_dims(value.labels, tuple(axis - 1 for axis in axes)))


def transpose(op: Op) -> Value:
    value = tensor(op)
    rank = value.labels.ndim + 1
    permutation = op.integers(1, "perm") or list(range(rank))[::-1]
    if sorted(permutation) != list(range(rank)) or permutation[0] != 0:
        op.fail(f"has perm {permutation}, supported are permutations that keep the batch axis")
    return replace(value, labels=value.labels.transpose([axis - 1 for axis in permutation[1:]]))


def pad(op: Op) -> Value:
    """Zeros around rows and columns, and channels of zeros."""
    value = op.image()
    mode = op.text("mode", "constant")
    filling = float(op.numbers(2).reshape(-1)[0]) if op.has(2) else op.attributes.get("value", 0.0)
    if mode != "constant" or filling != 0:
        op.fail(f"has mode {mode} and value {filling:g}, supported is padding with zeros")
    given = op.integers(1, "pads") or []
    axes = [a % 4 for a in op.integers(3, "axes") or range(4)]
    if len(given) != 2 * len(axes):
        op.fail(f"has {len(given)} pads for {len(axes)} axes")
    before, after = [0] * 4, [0] * 4
    for position, axis in enumerate(axes):
        before[axis], after[axis] = given[position], given[position + len(axes)]
    if before[0] or after[0] or before[1] < 0 or after[1] < 0:
        op.fail("pads the batch axis or cuts off channels, supported are rows, columns, channels")
    channels, rows, columns = op.builder.shape(value)
    geometry = Geometry(pads=(before[2], before[3], after[2], after[3]))
    shape = (channels + before[1] + after[1], *geometry.output((rows, columns)))
    node = Window(op.name, (value.node,), shape, np.ones((1, 1)), geometry, before[1])
    return op.builder.add(node)


def slice_(op: Op) -> Value:
    """Part of the rows, columns and channels of an image, with steps."""
    value = op.value()
    vector = value.labels.ndim == 1 and op.builder.shape(value)[1:] == (1, 1)
    if not vector:
        op.image()
    shape = op.builder.shape(value)
    starts, ends = op.integers(1, "starts") or [], op.integers(2, "ends") or []
    axes = op.integers(3, "axes") or list(range(len(starts)))
    steps = (op.integers(4, "steps") if op.has(4) else None) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        op.fail("has starts, ends, axes and steps of different lengths")
    picked = [range(1), *(range(size) for size in shape)]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis %= value.labels.ndim + 1
        if step < 1 or axis == 0:
            op.fail(f"has step {step} on axis {axis}, supported are steps of at least 1 on "
                    "channels, rows and columns")  # fmt: skip
        picked[axis] = picked[axis][start:end:step]
    _, channels, rows, columns = picked
    if not (channels and rows and columns):
        op.fail("leaves nothing")
    if len(channels) != shape[0]:
        value = select(op, value, channels)
    if len(rows) != shape[1] or len(columns) != shape[2]:
        pads = (-rows[0], -columns[0], rows[-1] + 1 - shape[1], columns[-1] + 1 - shape[2])
        geometry = Geometry(stride=(rows.step, columns.step), pads=pads)
        shape = (len(channels), len(rows), len(columns))
        value = op.builder.add(Window(op.name, (value.node,), shape, np.ones((1, 1)), geometry))
    return replace(value, labels=value.labels.reshape(-1)) if vector else value


def select(op: Op, value: Value, channels: range) -> Value:
    """Some of the channels, by a kernel of ones and zeros."""
    shape = op.builder.shape(value)
    weights = np.eye(shape[0])[channels][:, :, None, None]
    bias = np.zeros(len(channels))
    sources, shape = (value.node,), (len(channels), *shape[1:])
    node = Conv(f"{op.name}.channels", sources, shape, weights, bias, Geometry())
    return op.builder.add(node)


def dropout(op: Op) -> Value:
    if len([name for name in op.proto.output if name]) > 1:
        op.fail("gives its mask, supported is the inference form with one output")
    return tensor(op)


HANDLERS: dict[str, Handler] = {
    "Identity": identity,
    "Cast": identity,
    "Dropout": dropout,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Pad": pad,
    "Slice": slice_,
}
