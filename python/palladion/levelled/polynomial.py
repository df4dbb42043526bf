"""Functions of a network that are polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.nn.floats.expression import Expression

Floats = npt.NDArray[np.float64]

MOST: int = 16
"""The highest degree. Each doubling of it takes a level."""


def coefficients(function: Expression) -> Floats | None:
    """The coefficients of a polynomial, the constant one first. ``None`` for another function."""
    polynomial = _coefficients(function)
    return None if polynomial is None else np.trim_zeros(polynomial, "b")


def _coefficients(function: Expression) -> Floats | None:
    if function.operation == "x":
        return np.array([0.0, 1.0])
    if function.operation == "constant":
        return np.array([function.parameters[0]])
    parts = [_coefficients(argument) for argument in function.arguments]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    first, last = known[0], known[-1]
    match function.operation:
        case "neg":
            return 0 - first
        case "add":
            return padded(first, len(last)) + padded(last, len(first))
        case "sub":
            return padded(first, len(last)) - padded(last, len(first))
        case "mul" if len(first) + len(last) - 2 <= MOST:
            product: Floats = np.convolve(first, last)
            return product
        case "div" if len(last) == 1 and last[0]:
            quotient: Floats = first / last[0]
            return quotient
        case "power":
            return power(first, function.parameters[0])
        case _:
            return None


def power(base: Floats, exponent: float) -> Floats | None:
    """The polynomial to a whole power, if its degree is not too high."""
    if not (float(exponent).is_integer() and 0 <= exponent * (len(base) - 1) <= MOST):
        return None
    result = np.ones(1)
    for _ in range(int(min(exponent, MOST))):
        result = np.convolve(result, base)
    return result


def padded(polynomial: Floats, length: int) -> Floats:
    """The polynomial with at least ``length`` coefficients."""
    return np.pad(polynomial, (0, max(length - len(polynomial), 0)))


def size(polynomial: Floats, bound: npt.NDArray[Any]) -> Floats:
    """A bound of ``|p(z)| - |p(0)|`` for all ``|z| <= bound``."""
    powers = np.power.outer(bound, np.arange(1, len(polynomial)))
    sizes: Floats = powers @ np.abs(polynomial[1:])
    return sizes
