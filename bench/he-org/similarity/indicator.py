"""Polynomials that tell high scores from low ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from palladion.circuit import Value

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Product:
    """The polynomial ``(x - root) * prod(x * x + a * x + b)`` of degree 7 or 15."""

    root: float
    quadratics: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Product:
        """The polynomial of an entry of ``indicator.json``."""
        return cls(
            float(facts["root"]), tuple((float(a), float(b)) for a, b in facts["quadratics"])
        )

    def __call__(self, x: Floats) -> Floats:
        """The values of the polynomial."""
        value = x - self.root
        for a, b in self.quadratics:
            value = value * (x * x + a * x + b)
        return value

    def factors(self, x: Value) -> list[Value]:
        """The factors of an encrypted number. A quadratic one takes one level."""
        square = (x * x).rescale()
        return [x - self.root, *(square + (a * x).rescale() + b for a, b in self.quadratics)]


@dataclass(frozen=True)
class Indicator:
    """A polynomial near 1 for scores from ``high`` to ``edge``, and near 0 for scores from
    ``-edge`` to ``low``. It is ``1/2 + y * second(y * y)`` with ``y = first(scale * score)``.

    ``fit_indicator.py`` found its coefficients.
    """

    low: float
    high: float
    edge: float
    scale: float
    first: Product
    second: Product

    def __call__(self, scores: Floats) -> Floats:
        """The values of the polynomial."""
        y = self.first(self.scale * scores)
        return 0.5 + y * self.second(y * y)

    def write(self, u: Value) -> Value:
        """The polynomial less 1/2, of ``scale`` times a score. It takes eight levels."""
        y = product(self.first.factors(u))
        linear, *quadratics = self.second.factors(y * y)
        return product([y * linear, *quadratics])

    @property
    def error(self) -> float:
        """The largest distance from 0 and from 1 on the two intervals.

        A polynomial of degree ``d`` is at most ``1 / cos(pi d / (2 m))`` times larger between
        ``m + 1`` Chebyshev points than at them (Ehlich, Zeller 1964). The degree here is 225.
        """
        count = 20_000
        points = np.cos(np.pi * np.arange(count + 1) / count)
        worst = 0.0
        for a, b, value in ((-self.edge, self.low, 0), (self.high, self.edge, 1)):
            x = (a + b) / 2 + (b - a) / 2 * points
            worst = max(worst, float(np.abs(self(x) - value).max()))
        return worst / float(np.cos(np.pi * 225 / (2 * count)))


def product(values: Sequence[Value]) -> Value:
    """The product, in the fewest levels: neighbours first."""
    level = list(values)
    while len(level) > 1:
        pairs = [a * b for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]


def indicators() -> list[Indicator]:
    """All fitted indicators, with the narrowest gap first."""
    text = Path(__file__).with_name("indicator.json").read_text(encoding="ascii")
    return [
        Indicator(
            low=fitted["low"], high=fitted["high"], edge=fitted["edge"], scale=fitted["scale"],
            first=Product.of(fitted["first"]), second=Product.of(fitted["second"]),
        )
        for fitted in json.loads(text)
    ]  # fmt: skip
