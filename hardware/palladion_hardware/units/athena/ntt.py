"""Athena's transform: a row of fused butterflies of radix 8 (section 4.2.1)."""

from __future__ import annotations

from typing import ClassVar

from palladion_hardware.circuit import Node
from palladion_hardware.pieces import radix8
from palladion_hardware.pieces.multipliers import Multiplier
from palladion_hardware.units.rounds import RoundTransform
from palladion_hardware.units.unit import Machine, Shape


class AthenaNtt(RoundTransform):
    """Five passes for N = 2^15. Ports are those of :class:`.RoundTransform`."""

    name: ClassVar[str] = "athena-ntt"
    summary: ClassVar[str] = "transform by passes of radix 8, both directions, N a power of 8"
    source: ClassVar[str] = "Athena, MICRO 2025, section 4.2.1"
    machine: ClassVar[Machine | None] = ("athena", "ntt", 4.51)
    # Multipliers that can reduce a sum of products.
    multipliers: ClassVar[tuple[str, ...]] = ("restricted", "montgomery")
    digit_bits: ClassVar[int] = 3
    products: ClassVar[tuple[tuple[int, int], ...]] = radix8.PRODUCTS

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=2048, word=36, degree=32768, round_bits=12)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=8, word=14, degree=64, round_bits=7)

    def butterflies(
        self, m: Multiplier, words: list[Node], factors: dict[tuple[int, int], Node], inverse: Node
    ) -> list[Node]:
        return radix8.butterfly(m, words, factors, inverse)
