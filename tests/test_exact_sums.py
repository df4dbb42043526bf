"""Sums, products and functions that are the same on every machine."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from palladion.nn.floats import elementary
from palladion.nn.floats.exact_sums import add_up, average, multiply, split_factors
from palladion.nn.floats.geometry import Geometry, convolve

Array = npt.NDArray[Any]


def multiply_exactly(left: Array, right: Array) -> list[list[Fraction]]:
    """The definition, in fractions."""
    return [
        [sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, column, strict=True)),
             Fraction(0)) for column in right.T]
        for row in left
    ]  # fmt: skip


@pytest.mark.parametrize(("kind", "bits"), [(np.float32, 19), (np.float64, 50)])
def test_products_are_near_their_definition(
    rng: np.random.Generator, kind: type, bits: int
) -> None:
    left: Array = rng.normal(size=(5, 40)).astype(kind)
    right: Array = rng.normal(size=(40, 3)).astype(kind)
    wanted = multiply_exactly(left, right)
    found = multiply(left, right)
    assert found.dtype == kind
    for n, row in enumerate(wanted):
        for k, sum_ in enumerate(row):
            terms = np.abs(left[n].astype(float) * right[:, k]).max()
            assert abs(Fraction(float(found[n, k])) - sum_) < Fraction(float(terms)) / 2**bits


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_every_pair_is_exact_in_any_order(rng: np.random.Generator, kind: type) -> None:
    sizes = 10.0 ** rng.integers(-6, 6, 300)
    values: Array = (rng.normal(size=(4, 300)) * sizes).astype(kind)
    weights: Array = (rng.normal(size=(3, 300)) / sizes).astype(kind)
    for pair in split_factors(weights, values):
        orders = [np.arange(300), np.arange(300)[::-1], rng.permutation(300)]
        sums = [
            np.cumsum(pair.weights[:, None, order] * pair.values[None, :, order].astype(float),
                      axis=2)[:, :, -1]
            for order in orders
        ]  # fmt: skip
        wanted = multiply_exactly(pair.weights, pair.values.T)
        for found in sums:
            assert [[Fraction(float(x)) for x in row] for row in found] == wanted


def test_integers_are_not_rounded(rng: np.random.Generator) -> None:
    left = rng.integers(-(2**11), 2**11, (6, 200)).astype(np.float32)
    right = rng.integers(-(2**11), 2**11, (200, 4)).astype(np.float32)
    found = multiply(left, right)
    assert np.array_equal(found, (left.astype(int) @ right.astype(int)).astype(np.float32))


def test_single_elements_show_the_weights(rng: np.random.Generator) -> None:
    weights = rng.normal(size=(7, 30))
    assert np.array_equal(multiply(np.eye(30), weights.T), weights.T)


def test_small_channels_and_small_inputs_keep_their_digits() -> None:
    large, small = np.array([[1e6, 3e-6]], np.float32), np.array([[1e-9], [1.1]], np.float32)
    assert np.isclose(multiply(large, small)[0, 0], 1e-3 + 3.3e-6, rtol=1e-6)
    powers = np.exp(np.array([[1, 20], [55, 60], [2, 3]], np.float32))
    ones = np.ones((2, 1), np.float32)
    assert np.allclose(multiply(powers, ones)[:, 0], powers.sum(axis=1), rtol=1e-6)


def test_numbers_beyond_the_range_stay_so() -> None:
    with np.errstate(invalid="ignore"):
        found = multiply(np.array([[np.inf, 1.0], [np.nan, 1.0]]), np.ones((2, 1)))
    assert np.isinf(found[0, 0])
    assert np.isnan(found[1, 0])


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(rng: np.random.Generator, groups: int) -> None:
    x = rng.normal(size=(2, 4, 5, 6)).astype(np.float32)
    weights = rng.normal(size=(6, 4 // groups, 3, 2)).astype(np.float32)
    geometry = Geometry((3, 2), (2, 1), pads=(1, 0, 1, 1))
    found = convolve(x, weights, geometry, groups)
    views = geometry.windows(x.astype(np.float64)).reshape(2, groups, 4 // groups, 3, 6, 3, 2)
    kernels = weights.astype(np.float64).reshape(groups, 6 // groups, 4 // groups, 3, 2)
    wanted = np.einsum("ngcyxij,gkcij->ngkyx", views, kernels).reshape(found.shape)
    assert np.allclose(found, wanted, rtol=0, atol=1e-5)


def test_sums_have_no_order(rng: np.random.Generator) -> None:
    values = rng.normal(size=(1000, 3)) * 10.0 ** rng.integers(-3, 3, (1000, 3))
    found = add_up(values, axis=0)
    assert np.array_equal(add_up(rng.permutation(values), axis=0), found)
    wanted = [math.fsum(column) for column in values.T]
    assert np.allclose(found, wanted, rtol=0, atol=1000 * 2.0**-41 * np.abs(values).max())
    assert np.array_equal(average(values, 0), found / 1000)


FUNCTIONS = {
    "exp": (math.exp, -80, 80), "expm1": (math.expm1, -3, 3), "tanh": (math.tanh, -9, 9),
    "log1p": (math.log1p, -0.9, 5), "sinh": (math.sinh, -9, 9), "cosh": (math.cosh, -9, 9),
    "asinh": (math.asinh, -99, 99), "atanh": (math.atanh, -0.99, 0.99), "erf": (math.erf, -7, 7),
    "atan": (math.atan, -99, 99), "asin": (math.asin, -1, 1), "sin": (math.sin, -99, 99),
    "acos": (math.acos, -1, 1), "cos": (math.cos, -99, 99), "acosh": (math.acosh, 1, 99),
    "log": (math.log, 1e-9, 99), "tan": (math.tan, -1.5, 1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_near_those_of_the_system(name: str) -> None:
    function, low, high = FUNCTIONS[name]
    x = np.linspace(low, high, 20_001)  # more than a block
    wanted = np.array([function(float(number)) for number in x])
    assert np.allclose(getattr(elementary, name)(x), wanted, rtol=2e-15, atol=1e-15)


def test_powers_and_spaces() -> None:
    x = np.array([0.0, 0.3, 2.0, 1e5])
    for exponent in (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.7, 7.0):
        assert np.allclose(elementary.power(x, exponent), x**exponent, rtol=1e-13, atol=0)
    assert np.array_equal(elementary.power(-x, 3), -(x * x * x))
    spaces = elementary.space_geometrically(0.15, 1, 60)
    assert np.allclose(spaces, np.geomspace(0.15, 1, 60), rtol=1e-15)
