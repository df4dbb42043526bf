"""Multipliers modulo q, a product a lane and cycle: F1's restricted one beside plain ones.

The kind ``hardcoded`` is the reduction of CROSS's table 8 for moduli of one form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces import multipliers
from palladion_hardware.pieces.multipliers import Stages
from palladion_hardware.units.numbers import is_prime
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class F1Multiplier(Unit):
    """Ports: ``valid``, ``a``, ``b``. The result is a b / R modulo q: see the kinds."""

    name: ClassVar[str] = "f1-multiplier"
    summary: ClassVar[str] = "products modulo q: restricted, montgomery, barrett or hardcoded"
    source: ClassVar[str] = "F1, IEEE Micro, Optimized Modular Multipliers; CROSS, table 8"
    machine: ClassVar[Machine | None] = ("f1", "multiplier", 0.25)
    multipliers: ClassVar[tuple[str, ...]] = multipliers.KINDS

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.q = self._hardcoded() if shape.multiplier == "hardcoded" else self.modulus(order=2)
        self.settings()

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=128, word=32, degree=16384)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=2, word=20, degree=16, round_bits=10)

    def interval(self) -> str:
        return "a vector a cycle"

    def _hardcoded(self) -> int:
        word = self.shape.word
        forms = ((1 << word) - 127, (1 << (word - 1)) + 129)
        primes = [self.shape.modulus] if self.shape.modulus else filter(is_prime, forms)
        for q in primes:
            if q in forms and word > 16:
                return q
        raise ParameterError(
            f"no modulus of the form 2^{word} - 127 or 2^{word - 1} + 129 is prime or chosen: "
            "take words of 23, 31, 32 or 34 bits"
        )

    def settings(self) -> Mapping[str, int]:
        shape = self.shape
        return multipliers.settings_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("f1_multiplier")
        valid = c.input("valid", bits=1)
        a, b = (c.input(name, bits=shape.word, lanes=shape.lanes) for name in "ab")
        stages = Stages(product=shape.product_cycles)
        if shape.multiplier == "hardcoded":
            m = multipliers.build_hardcoded(c, self.q, stages=stages)
        else:
            m = multipliers.build(
                c, shape.multiplier, bits=shape.word, round_bits=shape.round_bits, stages=stages
            )
        result = m.multiply(a, b)
        assert result.time is not None
        c.output("result_valid", c.at(valid, result.time))
        c.output("result", result)
        return c

    def work(self, rng: np.random.Generator) -> Work:
        work, shape = Work(), self.shape
        radix = multipliers.radix_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )
        scale = pow(radix, -1, self.q)
        for left in EXTREMES:
            for right in EXTREMES * 4:
                a, b = (extreme_words(k, shape.lanes, self.q, rng) for k in (left, right))
                cycle = self.idle() | {"valid": np.ones(1, dtype=np.uint64), "a": a, "b": b}
                pairs = zip(a.tolist(), b.tolist(), strict=True)
                products = [x * y * scale % self.q for x, y in pairs]
                work.expected[len(work.cycles)] = (
                    f"{left} times {right}",
                    np.array(products, dtype=np.uint64),
                )
                work.cycles.append(cycle)
            work.cycles.append(self.idle())
        return work
