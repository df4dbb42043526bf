"""Athena's FRU: a multiplier and an adder a lane, with two paths of data (section 4.2.2).

On the first path both factors of a term are vectors. On the second one, for changes of RNS bases
(the paper's signal Rconv), one factor is a word for all lanes. On either path terms add up in the
register behind the adder. A vector that is ``first`` begins a new sum; each vector leaves with the
sum so far. The register's loop is one adder modulo q in one cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit
from palladion_hardware.pieces import arithmetic, multipliers
from palladion_hardware.pieces.multipliers import Stages
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class AthenaFru(Unit):
    """Ports: ``valid``, ``first``, ``rconv``, ``a``, ``b``, ``broadcast``.

    The result is the sum of a b / R, or of a broadcast / R where ``rconv`` is 1.
    """

    name: ClassVar[str] = "athena-fru"
    summary: ClassVar[str] = "sums of products of vectors, or of a vector and a word"
    source: ClassVar[str] = "Athena, MICRO 2025, section 4.2.2"
    machine: ClassVar[Machine | None] = ("athena", "fru", 2.505882)

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.q = self.modulus(order=2)
        self.settings()

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=2048, word=36, degree=32768, round_bits=12)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=2, word=12, degree=16, round_bits=6)

    def interval(self) -> str:
        return "a vector a cycle"

    def settings(self) -> Mapping[str, int]:
        shape = self.shape
        return multipliers.settings_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("athena_fru")
        valid, first, rconv = (c.input(name, bits=1) for name in ("valid", "first", "rconv"))
        a, b = (c.input(name, bits=shape.word, lanes=shape.lanes) for name in "ab")
        broadcast = c.input("broadcast", bits=shape.word)
        m = multipliers.build(
            c,
            shape.multiplier,
            bits=shape.word,
            round_bits=shape.round_bits,
            stages=Stages(product=shape.product_cycles),
        )
        with c.within("multipliers"):
            product = m.multiply(a, c.select(rconv, broadcast, b))
        assert product.time is not None
        with c.within("adders"):
            total = c.state(bits=shape.word, time=product.time, lanes=shape.lanes)
            base = c.select(c.at(first, product.time), c.constant(0, bits=shape.word), total)
            sums = arithmetic.add(c, product, base, m.q)
            c.follow(total, c.select(c.at(valid, product.time), sums, total))
            result = sums.delay()
        assert result.time is not None
        c.output("result_valid", c.at(valid, result.time))
        c.output("result", result)
        return c

    def work(self, rng: np.random.Generator) -> Work:
        """Sums of one to five terms on either path, with pauses in them."""
        work, shape = Work(), self.shape
        radix = multipliers.radix_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )
        scale = pow(radix, -1, self.q)
        for label in EXTREMES * 2:
            for rconv in (0, 1):
                total = [0] * shape.lanes
                for term in range(int(rng.integers(1, 6))):
                    a, b = (extreme_words(label, shape.lanes, self.q, rng) for _ in range(2))
                    word = extreme_words(label, 1, self.q, rng)
                    cycle = self.idle() | {"a": a, "b": b, "broadcast": word}
                    for port, bit in {"valid": 1, "first": int(term == 0), "rconv": rconv}.items():
                        cycle[port] = np.array([bit], dtype=np.uint64)
                    other = word.tolist() * shape.lanes if rconv else b.tolist()
                    terms = zip(total, a.tolist(), other, strict=True)
                    total = [(s + x * y * scale) % self.q for s, x, y in terms]
                    work.expected[len(work.cycles)] = (
                        f"{label}, term {term}, rconv {rconv}",
                        np.array(total, dtype=np.uint64),
                    )
                    work.cycles.append(cycle)
                    if rng.integers(3) == 0:
                        work.cycles.append(self.idle())
        return work
