"""Elementary functions that give the same bits on every machine.

The functions of numpy and of the system's library differ in their last bits between processors and
systems. These use only operations that IEEE 754 rounds exactly: sums, products, quotients, square
roots and powers of two. Results are in double precision, with relative errors of a few ``2**-52``
unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import factorial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LN2: Final = (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33"))
"""The logarithm of 2 as a sum. The first part has 32 bits, so that its multiples are exact."""

HALF_PI: Final = (
    float.fromhex("0x1.921fb544p+0"),
    float.fromhex("0x1.0b4611a4p-34"),
    float.fromhex("0x1.13198a2e03707p-65"),
)
"""Half of pi as a sum. The first two parts have few bits, so that their multiples are exact."""

PI_2: Final = float.fromhex("0x1.921fb54442d18p+0")
"""Half of pi in double precision."""

FAR: Final = 2.0**20
"""Sine and cosine first reduce a larger number by the nearest double to ``2 pi``."""

ERF_FAR: Final = 2.0
"""From here on, the error function is computed from its complement."""

ERF_ENDS: Final = 6.0
"""From here on, the error function is 1 in double precision."""

ERF_TERMS: Final = 40
"""Terms of the error function's series. Those left out are below ``2**-60`` of the sum."""

ERF_FRACTIONS: Final = 50
"""Fractions of its complement. The others change the complement by less than ``2**-50`` of it."""

ROOT_PI: Final = 0.5641895835477563
"""1 over the square root of pi."""

BLOCK: Final = 1 << 14
"""Numbers that a function works on at once: they stay in the processor's cache."""

POLYNOMIAL_POWERS: Final = 64
"""Largest exponent of a power that is a product."""


Function = Callable[[Array], Array]


def by_blocks(function: Function) -> Function:
    """The function of double precision, computed block by block."""

    @wraps(function)
    def compute(x: Array) -> Array:
        x = np.asarray(x, dtype=np.float64)
        if x.size <= BLOCK:
            return function(x)
        flat, result = x.reshape(-1), np.empty(x.size)
        for start in range(0, x.size, BLOCK):
            result[start : start + BLOCK] = function(flat[start : start + BLOCK])
        return result.reshape(x.shape)

    return compute


def sum_series(x: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial with these coefficients, constant first, by Horner's rule."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


EXPM1_SERIES: Final = [1 / factorial(k) for k in range(2, 15)]
LOG_SERIES: Final = [1 / (2 * k + 1) for k in range(1, 13)]
SIN_SERIES: Final = [(-1) ** k / factorial(2 * k + 1) for k in range(1, 10)]
COS_SERIES: Final = [(-1) ** k / factorial(2 * k) for k in range(2, 11)]
ATAN_SERIES: Final = [(-1) ** k / (2 * k + 1) for k in range(1, 13)]


def reduce_exponent(x: Array) -> tuple[Array, Array]:
    """``exp(x)`` as ``2**k (1 + p)``: returns ``p`` and ``k``. ``|p|`` is below 0.42."""
    x = np.clip(x, -746, 710)  # beyond, it is 0 or infinite
    count = np.rint(x * 1.4426950408889634)
    rest = (x - count * LN2[0]) - count * LN2[1]
    power = rest + rest * rest * sum_series(rest, EXPM1_SERIES)
    return power, np.nan_to_num(count).astype(np.int64)


@by_blocks
def exp(x: Array) -> Array:
    power, count = reduce_exponent(x)
    result: Array = np.ldexp(1 + power, count)
    return result


@by_blocks
def expm1(x: Array) -> Array:
    """``exp(x) - 1``, for ``x`` up to 709."""
    power, count = reduce_exponent(x)
    result: Array = np.ldexp(power, count) + (np.ldexp(1.0, count) - 1)
    return result


@by_blocks
def log(x: Array) -> Array:
    """The natural logarithm of numbers above 0."""
    mantissa, count = np.frexp(x)
    low = mantissa < 0.7071067811865476
    mantissa, count = np.where(low, 2 * mantissa, mantissa), count - low
    # log(m) = 2 artanh((m - 1) / (m + 1))
    part = (mantissa - 1) / (mantissa + 1)
    square = part * part
    inner = 2 * part + 2 * part * square * sum_series(square, LOG_SERIES)
    result: Array = count * LN2[0] + (inner + count * LN2[1])
    return result


@by_blocks
def log1p(x: Array) -> Array:
    """``log(1 + x)``, for ``x`` above -1. The factor corrects the rounding of ``1 + x``."""
    above = 1 + x
    moved = np.where(above == 1, 1.0, above - 1)
    return np.where(above == 1, x, log(above) * (x / moved))


@by_blocks
def tanh(x: Array) -> Array:
    less = expm1(2 * np.minimum(np.abs(x), 22.0))  # beyond, it is 1
    result: Array = np.copysign(less / (less + 2), x)
    return result


@by_blocks
def sinh(x: Array) -> Array:
    less = expm1(np.abs(x))
    result: Array = np.copysign((less + less / (less + 1)) / 2, x)
    return result


@by_blocks
def cosh(x: Array) -> Array:
    power = exp(np.abs(x))
    result: Array = (power + 1 / power) / 2
    return result


@by_blocks
def asinh(x: Array) -> Array:
    size = np.abs(x)
    square = size * size
    return np.copysign(log1p(size + square / (1 + np.sqrt(1 + square))), x)


@by_blocks
def acosh(x: Array) -> Array:
    """For numbers of at least 1."""
    above = x - 1
    return log1p(above + np.sqrt(above * (2 + above)))


@by_blocks
def atanh(x: Array) -> Array:
    """For numbers between -1 and 1."""
    size = np.abs(x)
    return np.copysign(0.5 * log1p(2 * size / (1 - size)), x)


def turn(x: Array) -> tuple[Array, Array, Array]:
    """Sine and cosine of the rest of ``x`` after whole quarter turns, and the number of these.

    Absolute errors are below ``2**-50``, and beyond :data:`FAR` below ``2**-53 |x|``.
    """
    x = np.where(np.abs(x) > FAR, np.fmod(x, 4 * PI_2), x)
    count = np.rint(x / PI_2)
    rest = ((x - count * HALF_PI[0]) - count * HALF_PI[1]) - count * HALF_PI[2]
    square = rest * rest
    sine = rest + rest * square * sum_series(square, SIN_SERIES)
    cosine = (1 - square / 2) + square * square * sum_series(square, COS_SERIES)
    return sine, cosine, np.nan_to_num(count).astype(np.int64) % 4


@by_blocks
def sin(x: Array) -> Array:
    sine, cosine, quarter = turn(x)
    result = np.where(quarter % 2 == 1, cosine, sine)
    return np.where(quarter >= 2, -result, result)


@by_blocks
def cos(x: Array) -> Array:
    sine, cosine, quarter = turn(x)
    result = np.where(quarter % 2 == 1, sine, cosine)
    return np.where((quarter == 1) | (quarter == 2), -result, result)


@by_blocks
def tan(x: Array) -> Array:
    sine, cosine, quarter = turn(x)
    odd = quarter % 2 == 1
    result: Array = np.where(odd, -cosine, sine) / np.where(odd, sine, cosine)
    return result


@by_blocks
def atan(x: Array) -> Array:
    size = np.abs(x)
    over = size > 1
    part = np.where(over, 1 / np.where(over, size, 1.0), size)
    for _ in range(2):  # atan(x) = 2 atan(x / (1 + sqrt(1 + x^2)))
        part = part / (1 + np.sqrt(1 + part * part))
    square = part * part
    result = 4 * (part + part * square * sum_series(square, ATAN_SERIES))
    turned: Array = np.copysign(np.where(over, PI_2 - result, result), x)
    return turned


@by_blocks
def asin(x: Array) -> Array:
    """For numbers from -1 to 1."""
    beside = np.sqrt((1 - x) * (1 + x))
    end = beside == 0
    return np.where(end, np.copysign(PI_2, x), atan(x / np.where(end, 1.0, beside)))


@by_blocks
def acos(x: Array) -> Array:
    """For numbers from -1 to 1."""
    end = x == -1
    return np.where(end, 2 * PI_2, 2 * atan(np.sqrt((1 - x) / np.where(end, 1.0, 1 + x))))


@by_blocks
def erf(x: Array) -> Array:
    """The error function. Near 1 and -1 it is as exact as double precision.

    Near 0 it is ``2 / sqrt(pi) exp(-x^2)`` times the sum over ``n`` of
    ``2^n x^(2n+1) / (1 3 .. (2n+1))``, whose terms have one sign (DLMF 7.6.2). Beyond, it is 1 less
    the continued fraction of its complement (DLMF 7.9.1).
    """
    size = np.minimum(np.abs(x), ERF_ENDS)
    near, far = np.minimum(size, ERF_FAR), np.maximum(size, ERF_FAR)
    total, double = np.ones_like(near), 2 * near * near
    for n in range(ERF_TERMS, 0, -1):
        total = 1 + total * double / (2 * n + 1)
    below = far
    for n in range(ERF_FRACTIONS, 0, -1):
        below = far + n / 2 / below
    factor = ROOT_PI * exp(-size * size)
    value = np.where(size < ERF_FAR, 2 * near * total * factor, 1 - factor / below)
    return np.copysign(value, x)


def power(x: Array, exponent: float) -> Array:
    """``x`` to a constant power of at least 0. Numbers below 0 have only integer powers.

    Whole powers up to :data:`POLYNOMIAL_POWERS` are products, so squares are exact. The relative
    error of others is below ``2**-45`` as long as the result is in the range of single precision.
    """
    x = np.asarray(x, dtype=np.float64)
    if exponent == 0.5:
        return np.sqrt(x)
    whole = float(exponent).is_integer()
    if whole and exponent <= POLYNOMIAL_POWERS:
        return multiply_repeatedly(x, int(exponent))
    size = np.abs(x)
    result = exp(exponent * log(np.where(size > 0, size, 1.0)))
    result = np.where(size > 0, result, 0.0)
    return np.where(x < 0, -result, result) if whole and exponent % 2 == 1 else result


def multiply_repeatedly(x: Array, exponent: int) -> Array:
    """``x`` to a whole power of at least 0, by squaring."""
    total = np.ones_like(x)
    while exponent:
        if exponent % 2:
            total = total * x
        exponent //= 2
        if exponent:
            x = x * x
    return total


def space_geometrically(first: float, last: float, count: int) -> Array:
    """``count`` numbers above 0 of equal ratios, from ``first`` to ``last``."""
    ends = log(np.array([first, last]))
    numbers = exp(np.linspace(ends[0], ends[1], count))
    numbers[0], numbers[-1] = first, last
    return numbers
