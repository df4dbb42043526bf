"""The definition of ``docs/int-network.md`` written out in numpy, independent of the core."""

from __future__ import annotations

import numpy as np
from palladion.nn.network import Conv, Dense, IntNetwork, Ints, Lut, Window


def evaluate(network: IntNetwork, image: Ints) -> tuple[list[Ints], list[Ints]]:
    """Accumulators and outputs of each layer, for one image."""
    values = [image.reshape(network.input.shape)]
    accumulators = []
    for layer in network.layers:
        acc = sum(apply(term.linear, values[term.source]) for term in layer.terms)
        assert isinstance(acc, np.ndarray)
        acc = acc + layer.bias[:, None, None]
        accumulators.append(acc.ravel())
        values.append(acc if layer.lut is None else look_up(layer.lut, layer.bound, acc))
    return accumulators, [value.ravel() for value in values[1:]]


def look_up(lut: Lut, bound: int, accumulators: Ints) -> Ints:
    """The table written out, and clamped to its ends."""
    ends = [*lut.starts[1:].tolist(), bound + 1]
    table = np.concatenate(
        [
            np.full(end - start, value)
            for start, end, value in zip(lut.starts, ends, lut.values, strict=True)
        ]
    )
    found: Ints = table[np.clip(accumulators, -bound, bound) + bound]
    return found


def apply(linear: Conv | Dense | Window, x: Ints) -> Ints:
    """What a map makes of a source of shape (channels, height, width)."""
    if isinstance(linear, Dense):
        return (linear.weights @ x.ravel())[:, None, None]
    channels = len(x)
    if isinstance(linear, Window):
        kernels = np.zeros((linear.channels, channels, *linear.weights.shape), dtype=np.int64)
        for channel in range(channels):
            kernels[linear.first + channel, channel] = linear.weights
    else:
        count, per_group = linear.weights.shape[:2]
        kernels = np.zeros((count, channels, *linear.weights.shape[2:]), dtype=np.int64)
        for k in range(count):
            first = k // (count // linear.groups) * per_group
            kernels[k, first : first + per_group] = linear.weights[k]
    return slide(linear, kernels, pad(x, linear.pads))


def pad(x: Ints, pads: tuple[int, int, int, int]) -> Ints:
    """Zeros around, or rows and columns cut off."""
    top, left, bottom, right = pads
    added = [max(n, 0) for n in pads]
    x = np.pad(x, ((0, 0), (added[0], added[2]), (added[1], added[3])))
    _, height, width = x.shape
    rows = slice(max(-top, 0), height - max(-bottom, 0))
    return x[:, rows, max(-left, 0) : width - max(-right, 0)]


def slide(linear: Conv | Window, kernels: Ints, x: Ints) -> Ints:
    _, height, width = x.shape
    rows, columns = kernels.shape[2:]
    down, across = linear.dilation
    span = (down * (rows - 1) + 1, across * (columns - 1) + 1)
    tops = range(0, height - span[0] + 1, linear.stride[0])
    lefts = range(0, width - span[1] + 1, linear.stride[1])
    out = np.zeros((len(kernels), len(tops), len(lefts)), dtype=np.int64)
    for i, top in enumerate(tops):
        for j, left in enumerate(lefts):
            seen = x[:, top : top + span[0] : down, left : left + span[1] : across]
            out[:, i, j] = (kernels * seen).sum(axis=(1, 2, 3))
    return out
