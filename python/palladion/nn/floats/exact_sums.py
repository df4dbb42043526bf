"""Sums and products of matrices that are the same under every BLAS, processor and thread count.

A sum of floating-point numbers depends on its order, and each BLAS chooses another one. Here the
operands are first rounded to multiples of a common step, so few bits that every partial sum is
exact. An exact sum has no order: docs/adr/0039-quantisation-is-the-same-on-every-machine.md.

The idea of the splitting is that of Ozaki, Ogita, Oishi and Rump, "Error-free transformations of
matrix multiplication by using fast routines of matrix multiplication and its applications",
Numerical Algorithms 59 (2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SIGNIFICAND: Final = 53
"""Bits of double precision. Integers up to ``2**53`` are exact."""

PARTS: Final = {"float32": (1, 2), "float64": (3, 3)}
"""The number of parts of weights and of values, by the type of the result. A part has about 21
bits. Values of very different sizes get one more, since a function such as a logarithm may follow
the smallest sum."""

LOST: Final = 2.0**-10
"""Values get their second part if more than :data:`SHARE` of them lose more than this of their size
without it."""

SHARE: Final = 1 / 16

MOST: Final = 1000
"""Largest exponent of two in double precision whose inverse is no less exact."""


@dataclass(frozen=True)
class Pair:
    """Weights and values whose products and all partial sums of them are exact in their type."""

    weights: Array
    values: Array


def split_factors(weights: Array, values: Array, groups: int = 1) -> list[Pair]:
    """Splits the factors of a linear map. The map is the sum over pairs, in order.

    In single precision, a weight is rounded by ``2**-21`` of the largest of its row, and a value by
    ``2**-22`` of the largest of its input, or ``2**-42`` if many are small. In double precision,
    rounding changes less than the result shows. Integers stay as they are.

    Shape
    -----
    - weights: (K, C / groups, ...)
    - values: (N, C, ...)
    """
    kind = np.result_type(weights, values, np.float32)
    length = max(weights[0].size, 1)
    if are_exact(weights, values, kind) or not (are_finite(weights) and are_finite(values)):
        return [Pair(weights.astype(kind, copy=False), values.astype(kind, copy=False))]
    weights, values = balance(weights, values, groups)
    bits = SIGNIFICAND - (length - 1).bit_length()
    most_left, most_right = PARTS[kind.name]
    left = split(
        weights, find_exponents(weights, tuple(range(1, weights.ndim))), bits // 2, most_left
    )
    pointwise = weights[0, 0].size == 1  # then a sum reads one place
    axes = (1,) if pointwise else tuple(range(1, values.ndim))
    right = split(values, find_exponents(values, axes), bits - bits // 2, most_right)
    if kind == np.float32:
        if len(right) > 1:
            small = np.count_nonzero(np.abs(values - right[0]) > LOST * np.abs(values))
            right = right[: 2 if small > SHARE * np.count_nonzero(values) else 1]
        right = [part.astype(np.float32) for part in right]  # at most 24 bits
    return [
        Pair(left[total - j], right[j])
        for total in range(max(most_left, most_right))
        for j in range(total + 1)
        if total - j < len(left) and j < len(right)
    ]


def are_exact(weights: Array, values: Array, kind: np.dtype[Any]) -> bool:
    """True if weights and values are integers so small that all partial sums are exact."""
    if not (are_integers(weights) and are_integers(values)):
        return False
    rows = np.abs(weights).reshape(len(weights), -1).astype(np.float64).sum(axis=1)
    largest = float(np.abs(values).max(initial=0)) * float(rows.max(initial=0))
    return largest <= 2.0 ** (np.finfo(kind).nmant + 1)


def are_integers(values: Array) -> bool:
    """True if all values are integers. The first ones usually decide."""
    few = values.ravel()[:64]
    return bool(np.array_equal(few, np.rint(few))) and bool(np.array_equal(values, np.rint(values)))


def are_finite(values: Array) -> bool:
    return bool(np.isfinite(values).all())


def balance(weights: Array, values: Array, groups: int) -> tuple[Array, Array]:
    """Moves the size of each channel from the values to the weights, as a power of two.

    Then no value is above 1, and a weight's size is that of its largest term in a sum.
    """
    largest = np.abs(values).max(axis=(0, *range(2, values.ndim)), initial=0).astype(np.float64)
    exponents = np.clip(np.frexp(largest)[1], -MOST, MOST)
    values = values * np.ldexp(1.0, -exponents).reshape(1, -1, *[1] * (values.ndim - 2))
    size = np.where(largest > 0, np.ldexp(1.0, exponents), 0.0)
    spread = size.reshape(groups, -1).repeat(len(weights) // groups, axis=0)
    return weights * spread.reshape(*weights.shape[:2], *[1] * (weights.ndim - 2)), values


def find_exponents(values: Array, axes: tuple[int, ...]) -> Array:
    """Exponents of two above all numbers along the axes."""
    largest = np.maximum(values.max(axis=axes, keepdims=True, initial=0),
                         -values.min(axis=axes, keepdims=True, initial=0))  # fmt: skip
    return np.asarray(np.frexp(largest)[1])


def split(values: Array, exponents: Array, bits: int, parts: int) -> list[Array]:
    """Splits values of at most ``2**exponents`` into parts, until nothing is left.

    Part ``p`` from 0 holds multiples of ``2**(exponents - (p + 1) * bits)``, at most ``2**bits`` of
    them.
    """
    found = []
    for part in range(parts):
        rounded = round_to_step(values, exponents - (part + 1) * bits)
        found.append(rounded)
        if part + 1 < parts:
            values = values - rounded
            if not values.any():
                break
    return found


def round_to_step(values: Array, exponents: Array) -> Array:
    """The nearest multiples of ``2**exponents``, for values of less than ``2**51`` of them."""
    # Beside this number, double precision has the wanted step.
    large = np.ldexp(1.5, exponents + (SIGNIFICAND - 1))
    rounded: Array = values + large
    rounded -= large
    return rounded


def multiply(left: Array, right: Array) -> Array:
    """The product of matrices (N, C) and (C, K), in their common type."""
    found = np.zeros((len(left), right.shape[1]), np.result_type(left, right, np.float32))
    for pair in split_factors(right.T, left):
        found += np.matmul(pair.values.astype(pair.weights.dtype), pair.weights.T)
    return found


def add_up(values: Array, axis: int | tuple[int, ...], *, keepdims: bool = False) -> Array:
    """The sum along axes in double precision.

    Each of ``n`` values is rounded to ``2**-(52 - log2(n))`` of the largest one.
    """
    values = np.asarray(values, dtype=np.float64)
    largest = np.maximum(values.max(axis=axis, keepdims=True, initial=0),
                         -values.min(axis=axis, keepdims=True, initial=0))  # fmt: skip
    count = max(values.size // max(largest.size, 1), 1)
    if np.isfinite(largest).all():
        bits = SIGNIFICAND - (count - 1).bit_length()
        values = round_to_step(values, np.frexp(largest)[1] - bits)
    total: Array = values.sum(axis=axis, keepdims=keepdims)
    return total


def average(values: Array, axis: int | tuple[int, ...]) -> Array:
    """The mean along axes, which :func:`add_up` sums."""
    total = add_up(values, axis)
    mean: Array = total / (np.size(values) // max(np.size(total), 1))
    return mean
