"""The definition of ``docs/int-network.md`` written out in numpy, independent of the core."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from palladion.nn.integers.network import Conv, Dense, IntNetwork, Ints, Layer, Window


def encode(network: IntNetwork, x: npt.NDArray[Any]) -> Ints:
    """Integers for inputs (N, C, H, W), or (N, features), as the model takes them."""
    given = network.input
    x = x.reshape(len(x), *given.shape)
    mean, std = (np.reshape(part, (1, -1, 1, 1)) for part in (given.mean or 0, given.std or 1))
    rounded = np.clip(np.rint((x - mean) / std / given.scale), given.min, given.max)
    found: Ints = rounded.reshape(len(x), -1).astype(np.int64)
    return found


def logits(network: IntNetwork, x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Real logits of shape (N, outputs)."""
    whole = evaluate(network, encode(network, x))[0][-1]
    found: npt.NDArray[np.float64] = whole.astype(np.float64) * network.layers[-1].scale
    return found


def evaluate(network: IntNetwork, images: Ints) -> tuple[list[Ints], list[Ints]]:
    """Accumulators and outputs of each layer, of shape (N, values) as the images."""
    count = len(images)
    values = [images.reshape(count, *network.input.shape)]
    accumulators = []
    for layer in network.layers:
        parts = [apply(term.linear, values[term.source]) for term in layer.terms]
        if layer.product is not None:
            left, right = layer.product
            parts.append(values[left] * values[right])
        acc = sum(parts)
        assert isinstance(acc, np.ndarray)
        acc = acc + layer.bias[:, None, None]
        accumulators.append(acc.reshape(count, -1))
        values.append(look_up(layer, acc))
    return accumulators, [value.reshape(count, -1) for value in values[1:]]


def look_up(layer: Layer, accumulators: Ints) -> Ints:
    """The table written out, and clamped to its ends; the last layer has none."""
    lut, bound = layer.lut, layer.bound
    if lut is None:
        return accumulators
    ends = [*lut.starts[1:].tolist(), bound + 1]
    runs = zip(lut.starts, ends, lut.values, strict=True)
    table = np.concatenate([np.full(end - start, value) for start, end, value in runs])
    assert len(table) == 2 * bound + 1
    found: Ints = table[np.clip(accumulators, -bound, bound) + bound]
    return found


def apply(linear: Conv | Dense | Window, x: Ints) -> Ints:
    """The result of a map on a source of shape (N, channels, height, width)."""
    if isinstance(linear, Dense):
        return (x.reshape(len(x), -1) @ linear.weights.T)[:, :, None, None]
    channels = x.shape[1]
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
    x = np.pad(x, ((0, 0), (0, 0), (added[0], added[2]), (added[1], added[3])))
    height, width = x.shape[2:]
    rows = slice(max(-top, 0), height - max(-bottom, 0))
    return x[:, :, rows, max(-left, 0) : width - max(-right, 0)]


def slide(linear: Conv | Window, kernels: Ints, x: Ints) -> Ints:
    height, width = x.shape[2:]
    rows, columns = kernels.shape[2:]
    down, across = linear.dilation
    span = (down * (rows - 1) + 1, across * (columns - 1) + 1)
    tops = range(0, height - span[0] + 1, linear.stride[0])
    lefts = range(0, width - span[1] + 1, linear.stride[1])
    out = np.zeros((len(x), len(kernels), len(tops), len(lefts)), dtype=np.int64)
    flat = kernels.reshape(len(kernels), -1)
    for i, top in enumerate(tops):
        for j, left in enumerate(lefts):
            seen = x[:, :, top : top + span[0] : down, left : left + span[1] : across]
            out[:, :, i, j] = seen.reshape(len(x), -1) @ flat.T
    return out
