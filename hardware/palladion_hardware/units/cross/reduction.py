"""An element of a TPU's vector unit with modular reduction (CROSS, section 6.4 and table 8).

The plain element multiplies and adds: a b + c, in a cycle. The others also reduce that sum:

- ``barrett`` and ``montgomery`` send it through the element's multiplier and adder twice more, as
  the paper's do;
- ``barrett-own`` and ``montgomery-own`` have multipliers of their own for this, and so reduce a sum
  in every cycle;
- ``hardcoded`` has shifts and adders for moduli 2^n - 2^7 + 1 or 2^n + 2^7 + 1.

Moduli are four bits narrower than words, as CROSS's moduli of 28 bits are in words of 32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces import multipliers
from palladion_hardware.pieces.multipliers import Multiplier, Stages
from palladion_hardware.units.numbers import is_prime, largest_prime
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words

NARROWER = 4
"""Bits that a modulus is narrower than a word."""
STAGES = Stages(product=1, round=0, correction=1)


class CrossReduction(Unit):
    """Ports: ``valid``, ``a``, ``b``, ``c``, and ``reduce`` where sums can be reduced.

    ``sum`` has a b + c a cycle later. With ``reduce`` the ``result`` is its remainder modulo q, for
    words below q: Montgomery's is divided by R. Where the multiplier is used again, nothing may
    enter in the two cycles behind ``reduce``. The plain element's result is the sum.
    """

    name: ClassVar[str] = "cross-reduction"
    summary: ClassVar[str] = "a multiplier and adder which also reduces sums, in several ways"
    source: ClassVar[str] = "CROSS, section 6.4 and table 8"
    machine: ClassVar[Machine | None] = None
    multipliers: ClassVar[tuple[str, ...]] = (
        "plain", "plain-low", "barrett", "hardcoded", "montgomery", "barrett-own", "montgomery-own",
    )  # fmt: skip

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.kind, _, variant = shape.multiplier.partition("-")
        self.again = self.kind in ("barrett", "montgomery") and variant != "own"
        self.bits = shape.word - NARROWER
        if self.bits < 17:
            raise ParameterError(f"words of {shape.word} bits: expected 21 or more")
        forms = ((1 << self.bits) - 127, (1 << (self.bits - 1)) + 129)
        if self.kind == "hardcoded":
            # A reduction needs no prime, and at some widths neither form is one.
            self.q = shape.modulus or next(filter(is_prime, forms), forms[0])
        else:
            self.q = shape.modulus or largest_prime(bits=self.bits, step=2)
        if self.kind == "hardcoded" and self.q not in forms:
            raise ParameterError(f"modulus {self.q}: expected {forms[0]} or {forms[1]}")
        if self.q.bit_length() != self.bits or self.q % 2 == 0:
            raise ParameterError(
                f"modulus {self.q}: expected an odd one of {self.bits} bits, {NARROWER} fewer than "
                "a word has"
            )

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=1, word=32, degree=2, multiplier="barrett")

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=2, word=24, degree=2, multiplier="barrett")

    def interval(self) -> str:
        return "a reduced vector in three cycles" if self.again else "a vector a cycle"

    @property
    def _bits(self) -> int:
        """Of the settings. Montgomery's R is 2^word where the element's multiplier is used."""
        return self.shape.word if self.again and self.kind == "montgomery" else self.bits

    def settings(self) -> Mapping[str, int]:
        if self.kind in ("plain", "hardcoded"):
            return {}
        settings = multipliers.settings_of(self.kind, self.q, bits=self._bits)
        if self.again and self.kind == "barrett":
            # To subtract a multiple of q, the adder adds one of 2^word - q.
            settings["negative"] = (1 << self.shape.word) - self.q
        return settings

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("cross_reduction")
        valid = c.input("valid", bits=1)
        terms = [c.input(name, bits=shape.word, lanes=shape.lanes) for name in "abc"]
        if self.kind == "plain":
            width = shape.word if shape.multiplier == "plain-low" else 2 * shape.word
            c.output("result_valid", valid.delay())
            c.output("result", (terms[0] * terms[1] + terms[2]).low(width).delay())
            return c
        valid = valid & c.input("reduce", bits=1)
        m = self._multiplier(c)
        if self.again:
            total, result = self._reduce_again(c, m, valid, terms)
        else:
            total = (terms[0] * terms[1] + terms[2]).low(2 * shape.word).delay()
            result = m.reduce(total.low(2 * self.bits))
        assert result.time is not None
        c.output("result_valid", c.at(valid, result.time))
        c.output("result", result)
        c.output("sum", total.relabelled(result.time))
        return c

    def _multiplier(self, c: Circuit) -> Multiplier:
        if self.kind == "hardcoded":
            return multipliers.build_hardcoded(c, self.q, stages=STAGES)
        return multipliers.build(c, self.kind, bits=self._bits, stages=STAGES)

    def _reduce_again(
        self, c: Circuit, m: Multiplier, valid: Node, terms: list[Node]
    ) -> tuple[Node, Node]:
        """The register of the sum, and the result of the third pass of the multiplier."""
        assert m.factor is not None
        w, k, lanes = self.shape.word, self.bits, self.shape.lanes
        barrett = self.kind == "barrett"
        second, third = c.state(bits=1, time=0), c.state(bits=1, time=0)
        total = c.state(bits=2 * w, time=0, lanes=lanes)
        digit = c.state(bits=w, time=0, lanes=lanes)
        zero = c.constant(0, bits=1)
        operand = total.part_of_bits(k - 1, k - 1 + w) if barrett else total.low(w)
        last = c.setting("negative", bits=w) if barrett else m.q
        x = c.select(second, operand, c.select(third, digit, terms[0]))
        y = c.select(second, m.factor, c.select(third, last, terms[1]))
        added = c.select(second, zero, c.select(third, total, terms[2]))
        passed = (x * y + added).low(2 * w)
        c.follow(second, valid)
        c.follow(third, second)
        c.follow(total, c.select(second, total, passed))
        c.follow(digit, passed.part_of_bits(k + 1, k + 1 + w) if barrett else passed.low(w))
        rest = passed.low(w) if barrett else passed.high_from(w)
        return total, m.correct(rest, 2 if barrett else 1).low(k).relabelled(3)

    def work(self, rng: np.random.Generator) -> Work:
        """Sums that are reduced, and between them sums that are not."""
        work, lanes = Work(), self.shape.lanes
        plain = self.kind == "plain"
        top = 1 << self.shape.word if plain else self.q
        modulus = self.q
        if plain:
            modulus = top if self.shape.multiplier == "plain-low" else top * top
        scale = 1
        if self.kind == "montgomery":
            scale = pow(2, -self._bits, self.q)
        for left in EXTREMES:
            for right in EXTREMES * 4:
                a, b, d = (extreme_words(k, lanes, top, rng) for k in (left, right, right))
                reduce = int(plain or rng.integers(4) > 0)
                cycle = self.idle() | {"a": a, "b": b, "c": d}
                ones = {"valid": 1} if plain else {"valid": 1, "reduce": reduce}
                for port, bit in ones.items():
                    cycle[port] = np.array([bit], dtype=np.uint64)
                if reduce:
                    terms = zip(a.tolist(), b.tolist(), d.tolist(), strict=True)
                    words = [(x * y + z) * scale % modulus for x, y, z in terms]
                    work.expected[len(work.cycles)] = (
                        f"{left} times {right}",
                        np.array(words, dtype=np.uint64),
                    )
                work.cycles.append(cycle)
                if reduce and self.again:
                    work.cycles += [self.idle(), self.idle()]
        return work
