"""The movement of a kernel over the rows and columns of an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.nn.floats.exact_sums import split_factors

Array = npt.NDArray[Any]
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


@dataclass(frozen=True)
class Geometry:
    """Kernel, stride and dilation as (rows, columns); pads as (top, left, bottom, right).

    Padding adds zeros. Negative padding cuts off.
    """

    kernel: Pair = (1, 1)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)

    @property
    def span(self) -> Pair:
        """Number of rows and columns from the kernel's first tap to its last."""
        rows, columns = ((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))
        return rows, columns

    @property
    def padded(self) -> bool:
        return any(pad > 0 for pad in self.pads)

    @property
    def pointwise(self) -> bool:
        """True if the kernel is 1x1 at every position: output and input have the same size."""
        return self.kernel == (1, 1) == self.stride and not any(self.pads)

    def output(self, size: Pair) -> Pair:
        """Rows and columns of the output for an input of ``size``. Below 1 if the kernel does not
        fit."""
        top, left, bottom, right = self.pads
        rows = (size[0] + top + bottom - self.span[0]) // self.stride[0] + 1
        columns = (size[1] + left + right - self.span[1]) // self.stride[1] + 1
        return rows, columns

    def windows(self, x: Array, fill: float = 0.0) -> Array:
        """Views of shape (N, C, rows, columns, *kernel) into ``x`` of shape (N, C, H, W)."""
        x = self.padded_image(x, fill)
        views = np.lib.stride_tricks.sliding_window_view(x, self.span, axis=(2, 3))
        (down, across), (apart, aside) = self.stride, self.dilation
        return views[:, :, ::down, ::across, ::apart, ::aside]

    def padded_image(self, x: Array, fill: float = 0.0) -> Array:
        """``x`` of shape (N, C, H, W) with its pads added or cut off."""
        top, left, bottom, right = self.pads
        x = x[:, :, max(-top, 0) : x.shape[2] - max(-bottom, 0)]
        x = x[:, :, :, max(-left, 0) : x.shape[3] - max(-right, 0)]
        rows, columns = (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0))
        if any((*rows, *columns)):
            x = np.pad(x, ((0, 0), (0, 0), rows, columns), constant_values=fill)
        return x

    def with_pads(self, pads: Pads) -> Geometry:
        return replace(self, pads=pads)


def add_pads(a: Pads, b: Pads) -> Pads:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


TILE: Final = 1 << 18
"""Largest number of multiplications in one product of matrices. OpenBLAS does up to this many on
the calling thread. With more, its threads wait for each other in loops: to quantise ResNet-32 on
two busy cores then takes 156 CPU seconds instead of 24."""


def convolve(x: Array, weights: Array, geometry: Geometry, groups: int = 1) -> Array:
    """Grouped cross-correlation.

    Shape
    -----
    - x: (N, C, H, W)
    - weights: (K, C / groups, *kernel)
    - result: (N, K, H', W'), in the type of ``x`` and ``weights``

    Sums are those of :func:`split_factors`: the same on every machine.
    """
    kernels, (rows, columns) = weights.shape[0], geometry.output((x.shape[2], x.shape[3]))
    x = geometry.padded_image(x)
    found = np.zeros((len(x), kernels, rows, columns), np.result_type(x, weights, np.float32))
    for pair in split_factors(weights, x, groups):
        matrix = pair.weights.reshape(groups, kernels // groups, -1)
        add_products(found, matrix, pair.values, geometry)
    return found


def add_products(found: Array, matrix: Array, x: Array, geometry: Geometry) -> None:
    """Adds the products of a kernel's weights with a padded image to ``found``.

    Shape
    -----
    - found: (N, K, H', W')
    - matrix: (groups, K / groups, C / groups * taps)
    - x: (N, C, H, W)
    """
    groups, (kernels, rows, columns) = len(matrix), found.shape[1:]
    pitch = x.shape[3] if geometry.stride == (1, 1) else columns
    tall = max(count for count in range(1, 17) if matrix.shape[1] % count == 0)
    wide = min(max(TILE // (tall * matrix.shape[2]), 16), rows * pitch)
    for image, patches in enumerate(gathered(x, geometry, wide, matrix.dtype)):
        tiles = patches.reshape(groups, 1, matrix.shape[2], -1, wide).swapaxes(2, 3)
        sums = np.matmul(matrix.reshape(groups, -1, 1, tall, matrix.shape[2]), tiles)
        sums = sums.swapaxes(2, 3).reshape(kernels, -1)
        found[image] += sums[:, : rows * pitch].reshape(kernels, rows, pitch)[:, :, :columns]


def gathered(x: Array, geometry: Geometry, multiple: int, kind: npt.DTypeLike) -> Iterator[Array]:
    """The input of each tap of a kernel for each padded image: (channels, taps, positions).

    With stride 1, positions are the positions of whole rows of the image, so that a tap reads one
    piece of memory. Otherwise they are the positions of the output. Zeros fill them up to a
    multiple of ``multiple``. The array has the type ``kind``, and is reused.
    """
    _, channels, height, width = x.shape
    rows, columns = geometry.with_pads((0, 0, 0, 0)).output((height, width))
    whole = geometry.stride == (1, 1)
    positions = rows * (width if whole else columns)
    taps = list(np.ndindex(*geometry.kernel))
    patches = np.zeros((channels, len(taps), -(-positions // multiple) * multiple), kind)
    (down, across), (apart, aside) = geometry.stride, geometry.dilation
    for image in x:
        lines = image.reshape(channels, -1)
        for tap, (row, column) in enumerate(taps):
            top, left = row * apart, column * aside
            if whole:
                seen = lines[:, top * width + left :][:, :positions]
            else:
                below, beside = top + rows * down, left + columns * across
                seen = image[:, top:below:down, left:beside:across].reshape(channels, -1)
            patches[:, tap, : seen.shape[1]] = seen
        yield patches


def slide(x: Array, taps: Array, geometry: Geometry) -> Array:
    """Apply the kernel ``taps`` to every channel alone: (N, C, H, W) to (N, C, H', W')."""
    views = geometry.windows(x)
    total = np.zeros(views.shape[:4], dtype=np.result_type(x, taps))
    for row, column in np.argwhere(taps):
        total += taps[row, column] * views[..., row, column]
    return total
