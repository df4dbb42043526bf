"""Linear maps of an integer network in JAX. They are exact on integers if sums stay below 2^24."""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from palladion.nn.integers.linear_maps import Conv, Dense, Linear, Pads, Window

EXACT: Final = jax.lax.Precision.HIGHEST
"""Products in full single precision, which accelerators do not use by default."""


def apply(linear: Linear, weights: Any, x: jax.Array) -> jax.Array:
    """Apply a map with the given weights to values of shape (N, C, H, W), giving (N, K, H', W')."""
    if isinstance(linear, Dense):
        flat = x.reshape(len(x), -1)
        return jnp.matmul(flat, weights.T, precision=EXACT)[:, :, None, None]
    x = padded(x, linear.pads)
    if isinstance(linear, Conv):
        return jax.lax.conv_general_dilated(
            x, weights, linear.stride, "VALID", rhs_dilation=linear.dilation,
            feature_group_count=linear.groups, precision=EXACT,
        )  # fmt: skip
    return slide(linear, x)


def padded(x: jax.Array, pads: Pads) -> jax.Array:
    """Add zeros around, or cut off rows and columns."""
    top, left, bottom, right = pads
    return jax.lax.pad(x, 0.0, ((0, 0, 0), (0, 0, 0), (top, bottom, 0), (left, right, 0)))


def slide(window: Window, x: jax.Array) -> jax.Array:
    """Apply one kernel to each channel, and place the result among the output's channels."""
    sizes = [
        (size - (taps - 1) * apart - 1) // stride + 1
        for size, taps, apart, stride in zip(
            x.shape[2:], window.weights.shape, window.dilation, window.stride, strict=True
        )
    ]
    total: Any = jnp.zeros((*x.shape[:2], *sizes), x.dtype)
    for row, column in np.argwhere(window.weights):
        first = (int(row) * window.dilation[0], int(column) * window.dilation[1])
        slices = [
            slice(start, start + (count - 1) * stride + 1, stride)
            for start, count, stride in zip(first, sizes, window.stride, strict=True)
        ]
        total = total + float(window.weights[row, column]) * x[:, :, slices[0], slices[1]]
    after = window.channels - window.first - x.shape[1]
    return jnp.pad(total, ((0, 0), (window.first, after), (0, 0), (0, 0)))
