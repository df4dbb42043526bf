"""How a kernel slides over the rows and columns of an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


@dataclass(frozen=True)
class Geometry:
    """Kernel, stride and dilation as (rows, columns); pads as (top, left, bottom, right).

    Padding adds zeros, negative padding cuts off.
    """

    kernel: Pair = (1, 1)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)

    @property
    def span(self) -> Pair:
        """Rows and columns from the kernel's first tap to its last, both counted."""
        rows, columns = ((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))
        return rows, columns

    @property
    def padded(self) -> bool:
        return any(pad > 0 for pad in self.pads)

    @property
    def pointwise(self) -> bool:
        """Kernel 1x1 at every position: output and input have the same rows and columns."""
        return self.kernel == (1, 1) == self.stride and not any(self.pads)

    def output(self, size: Pair) -> Pair:
        """Rows and columns of the output for an input of ``size``; below 1 if it does not fit."""
        top, left, bottom, right = self.pads
        rows = (size[0] + top + bottom - self.span[0]) // self.stride[0] + 1
        columns = (size[1] + left + right - self.span[1]) // self.stride[1] + 1
        return rows, columns

    def windows(self, x: Array, fill: float = 0.0) -> Array:
        """Views of shape (N, C, rows, columns, *kernel) into ``x`` of shape (N, C, H, W)."""
        top, left, bottom, right = self.pads
        x = x[:, :, max(-top, 0) : x.shape[2] - max(-bottom, 0)]
        x = x[:, :, :, max(-left, 0) : x.shape[3] - max(-right, 0)]
        rows, columns = (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0))
        if any((*rows, *columns)):
            x = np.pad(x, ((0, 0), (0, 0), rows, columns), constant_values=fill)
        views = np.lib.stride_tricks.sliding_window_view(x, self.span, axis=(2, 3))
        (down, across), (apart, aside) = self.stride, self.dilation
        return views[:, :, ::down, ::across, ::apart, ::aside]

    def with_pads(self, pads: Pads) -> Geometry:
        return replace(self, pads=pads)


def add_pads(a: Pads, b: Pads) -> Pads:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


def convolve(x: Array, weights: Array, geometry: Geometry, groups: int = 1) -> Array:
    """Grouped cross-correlation.

    Shape
    -----
    - x: (N, C, H, W)
    - weights: (K, C / groups, *kernel)
    - result: (N, K, H', W'), in the type of ``x`` and ``weights``
    """
    kernels = weights.shape[0]
    matrix = weights.reshape(groups, kernels // groups, -1)
    step = max(1, 2**22 // max(1, x[0].size * weights[0, 0].size))  # keeps the copies in cache
    parts = []
    for start in range(0, len(x), step):
        views = geometry.windows(x[start : start + step])
        count, _, rows, columns = views.shape[:4]
        taps = views.transpose(0, 1, 4, 5, 2, 3).reshape(count, groups, -1, rows * columns)
        parts.append(np.matmul(matrix, taps).reshape(count, kernels, rows, columns))
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def slide(x: Array, taps: Array, geometry: Geometry) -> Array:
    """The same kernel ``taps`` over every channel by itself: (N, C, H, W) to (N, C, H', W')."""
    views = geometry.windows(x)
    total = np.zeros(views.shape[:4], dtype=np.result_type(x, taps))
    for row, column in np.argwhere(taps):
        total += taps[row, column] * views[..., row, column]
    return total
