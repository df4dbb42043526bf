"""The circuits that find the vectors similar to a query, and the layout of their inputs.

Vectors and the query are of length 1, so that their inner product is their similarity. A slot of a
ciphertext belongs to one record. It has two coordinates, as real and imaginary part::

    score = sum(a[j] * q[j]) = real part of sum((a[j] + i a[j+h]) * (q[j] - i q[j+h])), j < h

with ``h`` half of the dimension. Ciphertext ``k`` of a block has term ``(slot + k) mod h`` of each
record's sum. So the query is one ciphertext, and its rotation by ``k`` slots fits ciphertext ``k``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt, sqrt
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
from indicator import Indicator, indicators
from palladion import UsageError, ckks
from palladion.circuit import Circuit, Value, dot

T = TypeVar("T", np.float32, np.int16)
Complex = npt.NDArray[np.complex128]

PAYLOAD: Final = 7
"""Numbers of a record's payload."""
MARK: Final = 4096
"""An eighth number beside each payload, which shows whether there is one. Payloads are smaller."""
PAIRS: Final = (PAYLOAD + 1) // 2
"""Ciphertexts of the payloads of a block. Each has two numbers of every record."""

MAX_ERROR: Final = 0.125
"""Largest error of a count. A count that is farther from all integers has a score in the gap."""


@dataclass(frozen=True)
class Chain:
    """Sizes of moduli: one level for inner products, and four for each of two polynomials."""

    levels: tuple[int, ...]
    """Bits of moduli, of level 0 first."""
    special: tuple[int, ...]
    scale: float
    slot_error: float
    """A bound of the standard deviation of an indicator's error by noise, at all scores.
    ``tests/test_he_org_similarity.py`` compares it with runs, which have about half of it.
    ``Circuit.predict`` gives up to 300 times as much, since it does not see that the indicator is
    flat where scores are."""

    def params(self) -> ckks.Params:
        """Parameters with N = 2^14, at 128 bits of security."""
        return ckks.Params(14, self.levels, self.special, self.scale)


COUNT: Final = Chain((54, *[31] * 9), (31, 31, 31), 2.0**31, 8e-6)
"""For counts. The modulus of level 0 holds a count of up to 2^22."""
FETCH: Final = Chain((47, *[31] * 5, *[26] * 5), (31, 31, 31), 2.0**31, 8e-6)
"""For payloads, which take another level. The noise of upper levels does not matter, since the
second polynomial is flat."""


@dataclass(frozen=True)
class Layout:
    """The places of a collection's numbers in ciphertexts."""

    records: int
    dimension: int
    slots: int

    @property
    def terms(self) -> int:
        """Number of ciphertexts of a block's vectors: half of the dimension."""
        return self.dimension // 2

    @property
    def blocks(self) -> int:
        """Number of blocks. Each has a record in every slot."""
        return -(-self.records // self.slots)

    def vectors(self, vectors: npt.NDArray[np.float32], block: int) -> list[Complex]:
        """The slots of the ciphertexts of a block's vectors."""
        part = self._block(vectors, block)
        pairs = part[:, : self.terms] + 1j * part[:, self.terms :]
        rows = np.arange(len(part))
        return [pairs[rows, (rows + k) % self.terms] for k in range(self.terms)]

    def payloads(self, payloads: npt.NDArray[np.int16], block: int) -> list[Complex]:
        """The slots of the ciphertexts of a block's payloads."""
        part = self._block(payloads, block).astype(np.float64)
        marked = np.column_stack([part, np.full(len(part), MARK)])
        return [marked[:, k] + 1j * marked[:, k + 1] for k in range(0, PAYLOAD + 1, 2)]

    def query(self, vector: npt.NDArray[np.float32]) -> Complex:
        """The slots of a query's ciphertext."""
        pairs = vector[: self.terms] - 1j * vector[self.terms :]
        return np.tile(pairs, self.slots // self.terms)

    def error(self, indicator: Indicator, slot_error: float) -> float:
        """A bound of a count's error: the largest one of the indicator in every slot, and six
        standard deviations of noise. Slots without a record have the score 0."""
        slots = self.blocks * self.slots
        return slots * indicator.error + 6 * slot_error * sqrt(slots)

    def indicator(self) -> Indicator:
        """The indicator with the narrowest gap whose errors leave a count right.

        Raises
        ------
        UsageError
            If there are too many records for all of them.
        """
        for indicator in indicators():
            if self.error(indicator, COUNT.slot_error) <= MAX_ERROR:
                return indicator
        raise UsageError(f"{self.records} records, whose count cannot be told: fit an indicator "
                         "with a wider gap")  # fmt: skip

    def _block(self, rows: npt.NDArray[T], block: int) -> npt.NDArray[T]:
        return rows[block * self.slots : (block + 1) * self.slots]


@dataclass(frozen=True)
class Search:
    """The circuits of a search. Each has keys of its own."""

    params: ckks.Params
    layout: Layout
    indicator: Indicator

    def query(self, vector: npt.NDArray[np.float32]) -> Complex:
        """The query's slots, with the indicator's scale. It is halved, since a real part is half
        of a number plus its conjugate."""
        return self.layout.query(vector) * (self.indicator.scale / 2)

    def rotations(self) -> Circuit:
        """From the query to all its rotations."""
        c = Circuit(self.params, name="rotations")
        for k, rotated in enumerate(rotate(c.input("query"), self.layout.terms)):
            c.output(f"q{k}", rotated)
        return c

    def matches(self) -> Circuit:
        """From a block and the rotated query to a number for each slot: about 1/2 for a match, and
        about -1/2 for any other record."""
        c = Circuit(self.params, name="matches")
        c.output("matches", self._match(c))
        return c

    def sums(self) -> Circuit:
        """From the sum over blocks to the count, in every slot."""
        c = Circuit(self.params, name="sums")
        matches = c.input("matches", level=0)
        c.output("count", matches.sum() + self.layout.blocks * self.layout.slots / 2)
        return c

    def payloads(self) -> Circuit:
        """From a block, its payloads and the rotated query to the payloads of matches, and about 0
        in other slots."""
        c = Circuit(self.params, name="payloads")
        match = self._match(c) + 0.5
        for k in range(PAIRS):
            c.output(f"p{k}", match * c.input(f"p{k}", level=1))
        return c

    def _match(self, c: Circuit) -> Value:
        """The indicator of each slot's score, less 1/2."""
        terms = range(self.layout.terms)
        half = dot([c.input(f"d{k}") for k in terms], [c.input(f"q{k}") for k in terms])
        return self.indicator.write(half + half.conjugate())


def rotate(query: Value, terms: int) -> Iterator[Value]:
    """The rotations of a value by 0 up to ``terms`` slots. Small and large steps take few keys."""
    step = isqrt(terms)
    small = [query.rotate(k) if k else query for k in range(step)]
    for k in range(terms):
        value = small[k % step]
        yield value.rotate(k - k % step) if k >= step else value


def add_blocks(results: Sequence[dict[str, ckks.Ciphertext]]) -> ckks.Ciphertext:
    """The sum of the results of :meth:`Search.matches`."""
    total = results[0]["matches"]
    for others in results[1:]:
        total += others["matches"]
    return total
