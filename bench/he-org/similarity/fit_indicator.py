#!/usr/bin/env python3
"""Fits the polynomials of indicator.json, and writes them. Needs scipy.

The first polynomial is near -1/2 for scores up to ``low``, and near 1/2 for scores from 0.8 on. The
second one brings both results closer to -1/2 and 1/2. Each is the best one of its degree, found as
a linear program on a grid. Both are written as products, for they need the fewest levels so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

Floats = npt.NDArray[np.float64]

LOWS = (0.7, 0.65)
"""The wider gap has the smaller error, which a million records need."""
HIGH = 0.8
EDGE = 1.02
"""Scores are at most this, in absolute value: 1, with rounding of vectors and noise."""
DEGREE = 15
SLACK = 0.01
"""Room for noise between the first polynomial's results and the interval of the second."""


def chebyshev_points(a: float, b: float, count: int = 800) -> Floats:
    """Points between ``a`` and ``b``, with both ends, denser near the ends."""
    points = np.cos(np.pi * np.linspace(0, 1, count))
    return np.asarray((a + b) / 2 + (b - a) / 2 * points)


def best_roots(pieces: list[tuple[Floats, float]], *, odd: bool) -> tuple[Floats, float, float]:
    """Roots, leading coefficient and error of the best polynomial with given values on pieces."""
    x = np.concatenate([points for points, _ in pieces])
    y = np.concatenate([np.full(points.size, value) for points, value in pieces])
    radius = np.abs(x).max()
    basis = chebyshev.chebvander(x / radius, DEGREE)[:, odd :: 1 + odd]
    margin = np.ones((x.size, 1))
    solution = linprog(
        np.append(np.zeros(basis.shape[1]), 1),
        A_ub=np.block([[basis, -margin], [-basis, -margin]]),
        b_ub=np.concatenate([y, -y]),
        bounds=[(None, None)] * basis.shape[1] + [(0, None)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    coefficients = np.zeros(DEGREE + 1)
    coefficients[odd :: 1 + odd] = solution.x[:-1]
    leading = coefficients[-1] * 2.0 ** (DEGREE - 1) / radius**DEGREE
    return chebyshev.chebroots(coefficients) * radius, leading, solution.x[-1]


def factors(roots: npt.NDArray[np.complex128]) -> tuple[float, list[list[float]]]:
    """The real root nearest to 0, and ``[a, b]`` of a factor ``x * x + a * x + b`` for each pair of
    other roots."""
    real = sorted(roots[np.abs(roots.imag) < 1e-9].real, key=abs)
    pairs = [[r, r.conjugate()] for r in roots if r.imag > 1e-9]
    pairs += [list(pair) for pair in zip(real[1::2], real[2::2], strict=True)]
    return float(real[0]), [[-float((r + s).real), float((r * s).real)] for r, s in pairs]


def matchings(items: list[int]) -> Iterator[list[int]]:
    """Every way to take items in pairs, as a list of neighbours."""
    if not items:
        yield []
    for partner in items[1:]:
        rest = [item for item in items[1:] if item != partner]
        for more in matchings(rest):
            yield [items[0], partner, *more]


def balanced(values: list[Floats]) -> list[int]:
    """The order of factors in which products of neighbours, and of neighbouring products, stay
    smallest. ``values`` are those of each factor. The first factor stays the first."""

    def largest(order: list[int]) -> float:
        level, most = [values[i] for i in order], 0.0
        while len(level) > 1:
            level = [level[i] * level[i + 1] for i in range(0, len(level) - 1, 2)]
            most = max(most, *(float(np.abs(v).max()) for v in level))
        return most

    def orders() -> Iterator[list[int]]:
        for pairs in matchings(list(range(len(values)))):
            couples = [pairs[i : i + 2] for i in range(0, len(pairs), 2)]
            for places in matchings(list(range(len(couples)))):
                yield [item for place in places for item in couples[place]]

    return min(orders(), key=largest)


def fit(low: float) -> dict[str, object]:
    """The indicator of scores above 0.8, where no score lies between ``low`` and 0.8."""
    x = [chebyshev_points(-EDGE, low), chebyshev_points(HIGH, EDGE)]
    roots, leading, error = best_roots([(x[0], -0.5), (x[1], 0.5)], odd=False)
    y = chebyshev_points(0.5 - error - SLACK, 0.5 + error + SLACK)
    roots_2, leading_2, _ = best_roots([(y, 0.5)], odd=True)

    # Scaled variables make every factor monic, so that no product with a number takes a level.
    scale_2 = real_root(leading_2)
    scale = real_root(leading * scale_2)
    root, quadratics = factors(roots * scale)
    roots_2 = roots_2[np.abs(roots_2) > 1e-6] * scale_2
    root_2, quadratics_2 = factors(unique(roots_2**2))

    u = scale * np.concatenate(x)
    values = [u - root, *(u * u + a * u + b for a, b in quadratics)]
    order = [i - 1 for i in balanced(values) if i > 0]
    return {
        "low": low, "high": HIGH, "edge": EDGE, "scale": scale,
        "first": {"root": root, "quadratics": [quadratics[i] for i in order]},
        "second": {"root": root_2, "quadratics": quadratics_2},
    }  # fmt: skip


def real_root(number: float) -> float:
    """The real root of degree :data:`DEGREE`, which is odd."""
    return float(np.sign(number) * np.abs(number) ** (1 / DEGREE))


def unique(squares: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
    """Each of the numbers once, where each stands twice, but for rounding."""
    kept: list[complex] = []
    for square in squares:
        if all(abs(square - other) > 1e-6 for other in kept):
            kept.append(complex(square))
    return np.array(kept)


if __name__ == "__main__":
    fitted = [fit(low) for low in LOWS]
    path = Path(__file__).with_name("indicator.json")
    path.write_text(json.dumps(fitted, indent=1) + "\n", encoding="ascii")
