"""Derivatives for rounding and tables, which have none, and the rounding noise of a run."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from palladion.nn.integers.network import Layer

Floats = np.ndarray[Any, np.dtype[np.float32]]

QUANTILES: Final = 2**16
"""Number of equally likely noise values. The outermost lie at 4.3 deviations."""


def straight_round(x: jax.Array) -> jax.Array:
    """Rounding, halves to even, with a derivative of 1.

    Bengio, Leonard, Courville, "Estimating or propagating gradients through stochastic neurons",
    2013: the straight-through estimator.
    """
    return x + jax.lax.stop_gradient(jnp.rint(x) - x)


def table(layer: Layer) -> Floats:
    """A layer's table as a list of values for accumulators ``-bound`` to ``bound``."""
    assert layer.lut is not None, "the last layer is not asked"
    lengths = np.diff([*layer.lut.starts.tolist(), layer.bound + 1])
    return np.repeat(layer.lut.values, lengths).astype(np.float32)


def slope(values: Floats) -> Floats:
    """Derivative of a table smoothed by a Gaussian that is one step wide.

    A step is the median length of the runs between the first and the last. Smoothing turns a
    rounded line back into the line, so this is straight-through rounding for any function.
    """
    inner = np.diff(np.flatnonzero(np.diff(values)))
    width = float(np.median(inner)) if len(inner) else 1.0
    reach = min(math.ceil(4 * width), len(values) - 1)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    jumps = np.diff(values.astype(np.float64), prepend=float(values[0]))
    size = 1 << (len(values) + len(kernel)).bit_length()
    whole = np.fft.irfft(np.fft.rfft(jumps, size) * np.fft.rfft(kernel / kernel.sum(), size), size)
    return whole[reach : reach + len(values)].astype(np.float32)


def places(values: jax.Array, accumulators: jax.Array) -> jax.Array:
    """The place of an accumulator's value in a table. Beyond the ends it is the end."""
    bound = len(values) // 2
    return jnp.clip(accumulators, -bound, bound).astype(jnp.int32) + bound


def _look_up(values: jax.Array, slopes: jax.Array, accumulators: jax.Array) -> jax.Array:
    """Values of a table at integers. The derivative is looked up in ``slopes``."""
    del slopes
    return values[places(values, accumulators)]


def _forward(values: jax.Array, slopes: jax.Array, accumulators: jax.Array) -> tuple[Any, Any]:
    found = places(values, accumulators)
    return values[found], (values, slopes, found)


def _backward(kept: Any, gradient: jax.Array) -> tuple[Any, Any, Any]:
    values, slopes, found = kept
    return jnp.zeros_like(values), jnp.zeros_like(slopes), gradient * slopes[found]


look_up = jax.custom_vjp(_look_up)
look_up.defvjp(_forward, _backward)


def noise(sigma: float) -> Floats:
    """Quantiles of a rounded Gaussian of deviation ``sigma``, above 0, for :func:`draw`."""
    normal = NormalDist(0, sigma)
    found = [normal.inv_cdf((i + 0.5) / QUANTILES) for i in range(QUANTILES)]
    return np.rint(found).astype(np.float32)


def draw(quantiles: jax.Array, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Noise of a given shape. Ten times faster than normal numbers on a CPU."""
    return quantiles[jax.random.bits(key, shape, jnp.uint16)]
