"""The number of vectors that are similar to a query, computed on ciphertexts.

Vectors and the query are of length 1, so that their inner product is their similarity. A slot of a
ciphertext belongs to one record. It has two coordinates, as real and imaginary part::

    score = sum(a[j] * q[j]) = real part of sum((a[j] + i a[j+h]) * (q[j] - i q[j+h])), j < h

with ``h`` half of the dimension. Ciphertext ``k`` of a block has term ``(slot + k) mod h`` of each
record's sum. So the query is one ciphertext, and its rotation by ``k`` slots fits ciphertext ``k``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isqrt, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from palladion import UsageError, ckks
from palladion.circuit import Circuit, Value, dot

Floats = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

LEVELS: Final = (54, *[31] * 9)
"""Bits of moduli, of level 0 first: one level for inner products, and four for each of two
polynomials. The modulus of level 0 holds a count of up to 2^22."""
SPECIAL: Final = (31, 31, 31)
SCALE: Final = 2.0**31

SLOT_ERROR: Final = 8e-6
"""A bound of the standard deviation of a slot's error by noise. Runs have 3.4e-6 to 4.0e-6 at all
scores, which ``tests/test_he_org_similarity.py`` checks. ``Circuit.predict`` gives more, up to
1.4e-3, since it does not see that the indicator is flat where scores are."""
MAX_ERROR: Final = 0.125
"""Largest error of a count. A count that is farther from all integers has a score in the gap."""


def params() -> ckks.Params:
    """Parameters for all sizes: N = 2^14, at 128 bits of security."""
    return ckks.Params(14, LEVELS, SPECIAL, SCALE)


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
            low=found["low"], high=found["high"], edge=found["edge"], scale=found["scale"],
            first=Product.of(found["first"]), second=Product.of(found["second"]),
        )
        for found in json.loads(text)
    ]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The places of a collection's numbers in ciphertexts."""

    records: int
    dimension: int
    slots: int

    @property
    def terms(self) -> int:
        """Number of ciphertexts of a block: half of the dimension."""
        return self.dimension // 2

    @property
    def blocks(self) -> int:
        """Number of blocks. Each has a record in every slot."""
        return -(-self.records // self.slots)

    def database(self, vectors: npt.NDArray[np.float32], block: int) -> list[Complex]:
        """The slots of the ciphertexts of a block."""
        part = vectors[block * self.slots : (block + 1) * self.slots]
        pairs = part[:, : self.terms] + 1j * part[:, self.terms :]
        rows = np.arange(len(part))
        return [pairs[rows, (rows + k) % self.terms] for k in range(self.terms)]

    def query(self, vector: npt.NDArray[np.float32]) -> Complex:
        """The slots of a query's ciphertext."""
        pairs = vector[: self.terms] - 1j * vector[self.terms :]
        return np.tile(pairs, self.slots // self.terms)

    def error(self, indicator: Indicator) -> float:
        """A bound of a count's error: the largest one of the indicator in every slot, and six
        standard deviations of noise. Slots without a record have the score 0."""
        slots = self.blocks * self.slots
        return slots * indicator.error + 6 * SLOT_ERROR * sqrt(slots)

    def indicator(self) -> Indicator:
        """The indicator with the narrowest gap whose errors leave a count right.

        Raises
        ------
        UsageError
            If there are too many records for all of them.
        """
        for indicator in indicators():
            if self.error(indicator) <= MAX_ERROR:
                return indicator
        raise UsageError(f"{self.records} records, whose count cannot be told: fit an indicator "
                         "with a wider gap")  # fmt: skip


@dataclass(frozen=True)
class Counter:
    """The circuits that count. Each has keys of its own."""

    params: ckks.Params
    layout: Layout
    indicator: Indicator

    def rotations(self) -> Circuit:
        """From the query to all its rotations, by small and then by large steps."""
        c = Circuit(self.params, name="rotations")
        for k, rotated in enumerate(rotate(c.input("query"), self.layout.terms)):
            c.output(f"q{k}", rotated)
        return c

    def matches(self) -> Circuit:
        """From a block and the rotated query to a number for each slot: about 1/2 for a match, and
        about -1/2 for any other record."""
        c = Circuit(self.params, name="matches")
        terms = range(self.layout.terms)
        rotated = [c.input(f"q{k}") for k in terms]
        c.output("matches", match(rotated, [c.input(f"d{k}") for k in terms], self.indicator))
        return c

    def sums(self) -> Circuit:
        """From the sum over blocks to the count, in every slot."""
        c = Circuit(self.params, name="sums")
        c.output("count", self.count(c.input("matches", level=0)))
        return c

    def whole(self) -> Circuit:
        """All three in one, for predictions."""
        c = Circuit(self.params, name="count")
        terms = self.layout.terms
        rotated = list(rotate(c.input("query"), terms))
        blocks = [
            match(rotated, [c.input(f"d{block}.{k}") for k in range(terms)], self.indicator)
            for block in range(self.layout.blocks)
        ]
        c.output("count", self.count(sum(blocks[1:], start=blocks[0])))
        return c

    def count(self, matches: Value) -> Value:
        """The count, from a value that is the sum of the results of all blocks."""
        return matches.sum() + self.layout.blocks * self.layout.slots / 2


def rotate(query: Value, terms: int) -> Iterable[Value]:
    """The rotations of a value by 0 up to ``terms`` slots, with few keys."""
    step = isqrt(terms)
    small = [query.rotate(k) if k else query for k in range(step)]
    for k in range(terms):
        value = small[k % step]
        yield value.rotate(k - k % step) if k >= step else value


def match(query: Sequence[Value], database: Sequence[Value], indicator: Indicator) -> Value:
    """The indicator of each slot's score, less 1/2. The query has the indicator's scale halved,
    since a real part is half of a number plus its conjugate."""
    half = dot(database, query)
    return indicator.write(half + half.conjugate())
