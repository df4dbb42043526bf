"""Hyena's transform: a row of butterflies of two words, which is used log2(N) times (section 6.3).

The paper has 32 transforms of 32 points, and transposes between them. Here the bits of a place
rotate by one between two passes, which is wires where a vector is a polynomial.
"""

from __future__ import annotations

from typing import ClassVar

from palladion_hardware.circuit import Node
from palladion_hardware.pieces.arithmetic import butterfly
from palladion_hardware.pieces.multipliers import Multiplier
from palladion_hardware.units.rounds import RoundTransform
from palladion_hardware.units.unit import Machine, Shape


class HyenaNtt(RoundTransform):
    """Ten passes for N = 1,024. Ports are those of :class:`.RoundTransform`."""

    name: ClassVar[str] = "hyena-ntt"
    summary: ClassVar[str] = "transform by passes of radix 2, both directions, N from the lanes on"
    source: ClassVar[str] = "Hyena, S&P 2024, section 6.3"
    machine: ClassVar[Machine | None] = ("hyena", "ntt", 3.3715)
    digit_bits: ClassVar[int] = 1
    products: ClassVar[tuple[tuple[int, int], ...]] = ((1, 0),)

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=1024, word=32, degree=1024)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=4, word=14, degree=8, round_bits=7)

    def butterflies(
        self, m: Multiplier, words: list[Node], factors: dict[tuple[int, int], Node], inverse: Node
    ) -> list[Node]:
        return list(butterfly(m, words[0], words[1], factors[1, 0], inverse))
