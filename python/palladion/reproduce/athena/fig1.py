"""Figure 1: accuracy of expansions of ReLU and the sigmoid, and of a network with them.

The paper says neither the interval nor the degrees. Here it is [-8, 8] for the sigmoid and [-1, 1]
for ReLU, by Chebyshev's polynomials, and by Taylor's at 0 for the sigmoid on [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.fig1_network import model_of
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

Floats = npt.NDArray[np.float64]

ORDERS: Final = (3, 7, 15, 31, 63)
SCALES: Final = (25, 30, 35, 46)
"""Bits of a scale: 25 to 35 from the figure, and 46 from table 1."""
PRINTED_BITS: Final = 2
"""Bits that are right at a scale of 2^25, about (section 2.1.2)."""
N: Final = 1 << 16
POINTS: Final = 4096
ROUNDING: Final = float(np.sqrt(N / 12 * (2 * N / 3 + 1)))
"""Deviation of a slot's error after a rescaling, times the scale: two components are rounded, and
one of them is multiplied by a uniform ternary secret."""


@dataclass(frozen=True)
class Expansion:
    """A function with its expansion: coefficients of Chebyshev's polynomials on [-reach, reach]."""

    name: str
    reach: float
    function: Callable[[Floats], Floats]
    coefficients: Callable[[int], Floats]


def sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def relu(x: Floats) -> Floats:
    return np.maximum(x, 0)


def chebyshev(function: Callable[[Floats], Floats], reach: float) -> Callable[[int], Floats]:
    """Interpolation in Chebyshev's points."""

    def coefficients(order: int) -> Floats:
        points = np.polynomial.chebyshev.chebpts1(order + 1)
        values = function(reach * points)
        return np.asarray(np.polynomial.chebyshev.chebfit(points, values, order), np.float64)

    return coefficients


def taylor(order: int) -> Floats:
    """Of the sigmoid at 0, in Chebyshev's polynomials: derivatives by s' = s (1 - s)."""
    derivative = np.polynomial.Polynomial([0.0, 1.0])
    change = np.polynomial.Polynomial([0.0, 1.0, -1.0])
    terms, factorial = [0.5], 1.0
    for power in range(1, order + 1):
        derivative = derivative.deriv() * change
        factorial *= power
        terms.append(float(derivative(0.5)) / factorial)
    return np.asarray(np.polynomial.chebyshev.poly2cheb(terms))


EXPANSIONS: Final = (
    Expansion("ReLU, Chebyshev", 1.0, relu, chebyshev(relu, 1.0)),
    Expansion("sigmoid, Chebyshev", 8.0, sigmoid, chebyshev(sigmoid, 8.0)),
    Expansion("sigmoid, Taylor", 1.0, sigmoid, taylor),
)


def evaluated(coefficients: Floats, x: Floats, scale: int | None) -> Floats:
    """The polynomial; with a scale, each product has the error of a rescaling."""
    rng = np.random.default_rng(1)

    def noisy(values: Floats) -> Floats:
        if scale is None:
            return values
        return values + rng.normal(0, ROUNDING / 2.0**scale, values.shape)

    powers = [np.ones_like(x), noisy(x)]
    for order in range(2, len(coefficients)):
        half, rest = order // 2, order - order // 2
        product = noisy(powers[half] * powers[rest])
        powers.append(2 * product - powers[rest - half])
    terms = zip(coefficients[1:], powers[1:], strict=True)
    return np.asarray(coefficients[0] + sum(noisy(factor * power) for factor, power in terms))


def bits(error: Floats) -> float:
    """Bits that are right on average: -log2 of the mean error."""
    return float(-np.log2(np.mean(np.abs(error))))


def run(onnx: Path | None, data: Path | None, images: int | None, steps: Steps) -> Reproduction:
    """Bits that are right, without noise and at each scale."""
    rows = rows_of_functions(steps)
    notes: tuple[str, ...] = ()
    if onnx is not None:
        more, note = rows_of_network(onnx, data, images, steps)
        rows, notes = rows + more, (note,)
    panels = [panel(name, rows) for name in dict.fromkeys(str(row[0]) for row in rows)]
    return Reproduction(
        "Figure 1: bits that are right by order of the expansion",
        (
            *(Column("expansion", "expansion"), Column("order", "order")),
            Column("plain", "plain", ".1f"),
            *(Column(f"scale_{scale}", f"2^{scale}", ".1f") for scale in SCALES),
        ),
        rows,
        (
            "plain: the expansion in floats. 2^25 to 2^46: *predicted* for CKKS with these scales, "
            "nothing is encrypted: every product has the rounding error of a rescaling at N = 2^16 "
            f"with a uniform ternary secret, a deviation of {ROUNDING:.0f} over the scale. Noise "
            f"of "
            "key switches and encryption is left out, so these are at most what encryption gives.",
            f"The figure has two printed numbers, a truth of 40 bits and about {PRINTED_BITS} bits "
            "at a scale of 2^25. No function and no order is named, so they belong to no row here.",
            *notes,
            "Why ours differs: the interval and the degrees are ours. Probabilities of 10 classes "
            "that have nothing to do with the right ones are right to about 2.5 bits, so the "
            "printed 2 bits may be a whole network that no longer computes (--onnx).",
        ),
        panels,
    )


def rows_of_functions(steps: Steps) -> list[tuple[Cell, ...]]:
    """Each expansion alone, on its interval."""
    x = np.linspace(-1, 1, POINTS)
    rows: list[tuple[Cell, ...]] = []
    with steps.step("evaluate expansions"):
        for expansion in EXPANSIONS:
            expected = expansion.function(expansion.reach * x)
            for order in ORDERS:
                coefficients = expansion.coefficients(order)
                right = [
                    bits(evaluated(coefficients, x, scale) - expected) for scale in (None, *SCALES)
                ]
                rows.append((expansion.name, order, *right))
    return rows


def rows_of_network(
    onnx: Path, data: Path | None, images: int | None, steps: Steps
) -> tuple[list[tuple[Cell, ...]], str]:
    """A model whose ReLUs are Chebyshev's expansions, and a note on its answers."""
    model = model_of(onnx, data, images, steps)
    name = f"{model.graph.name}, Chebyshev"
    rows: list[tuple[Cell, ...]] = []
    classes: list[str] = []
    steps.start_run()
    for place, order in enumerate(ORDERS):
        coefficients = chebyshev(relu, 1.0)(order)
        right, alike = [], 0
        for column, scale in enumerate((None, *SCALES)):
            steps.count(name, place * (1 + len(SCALES)) + column, len(ORDERS) * (1 + len(SCALES)))
            shown = model.with_expansions(partial(evaluated, coefficients, scale=scale))
            right.append(bits(shown - model.probabilities))
            alike = int((shown.argmax(axis=1) == model.probabilities.argmax(axis=1)).sum())
        classes.append(f"{alike} at order {order}")
        rows.append((name, order, *right))
    note = (
        f"{name}: each of its {len(model.reach)} ReLUs is an expansion on -r to r, with r a tenth "
        f"above the largest value before it on these {len(model.inputs)} test images. Bits of its "
        f"probabilities; the class is the exact model's for {', '.join(classes)}, "
        f"at 2^{SCALES[-1]}."
    )
    return rows, note


def panel(name: str, rows: list[tuple[Cell, ...]]) -> Panel:
    """Bits over the order: one line without noise, one for each scale."""
    own = [row for row in rows if row[0] == name]
    labels = ("plain", *(f"2^{scale}" for scale in SCALES))
    return Panel(
        "order",
        f"bits, {name}",
        [
            Series(
                label,
                [float(row[1] or 0) for row in own],
                [float(row[place + 2] or 0) for row in own],
            )
            for place, label in enumerate(labels)
        ],
    )
