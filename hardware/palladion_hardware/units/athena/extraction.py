"""Athena's sample extraction: a register that shifts by one word a cycle (section 4.2.3, figure 6).

Algorithm 1 gives sample i the words A_i, .., A_0, -A_(N-1), .., -A_(i+1). The one after it is the
same, shifted by a lane, with -A_(i+1) negated at its end and put in front. So ``lanes`` words are
loaded at once, and a sample leaves in each of the ``lanes`` cycles behind that. Words are negated
when they are loaded, and once more when they move to the front: a subtractor a lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces.arithmetic import negate_where, subtract
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class AthenaExtraction(Unit):
    """Ports: ``valid``, ``load``, ``words``. The dimension of the samples is the number of lanes.

    ``load`` takes a polynomial and gives sample 0. Each later cycle with ``valid`` and without
    ``load`` gives the next sample of it.
    """

    name: ClassVar[str] = "athena-extraction"
    summary: ClassVar[str] = "samples of a polynomial, one a cycle"
    source: ClassVar[str] = "Athena, MICRO 2025, algorithm 1 and section 4.2.3"
    machine: ClassVar[Machine | None] = ("athena", "extraction", 0.32)

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        if shape.lanes < 2:
            raise ParameterError(
                f"lanes {shape.lanes}: expected 2 or more, a word of a sample each"
            )
        self.q = shape.modulus or min((1 << shape.word) - 1, 65537)
        if self.q >> shape.word:
            raise ParameterError(f"modulus {self.q} is wider than {shape.word} bits")

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=2048, word=17, degree=2048)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=4, word=17, degree=4)

    def interval(self) -> str:
        return "a sample a cycle"

    def settings(self) -> Mapping[str, int]:
        return {"modulus": self.q}

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("athena_extraction")
        valid, load = c.input("valid", bits=1), c.input("load", bits=1)
        words = c.input("words", bits=shape.word, lanes=shape.lanes)
        q = c.setting("modulus", bits=shape.word)
        one = c.constant(1, bits=1)
        zero = c.constant(0, bits=shape.word)
        held = c.state(bits=shape.word, time=0, lanes=shape.lanes)
        last = shape.lanes - 1
        # Sample 0 is A_0, -A_(N-1), .., -A_1: what is loaded is negated, but for its first word.
        mirrored = c.join(words.lane(0), negate_where(c, one, words.take(range(last, 0, -1)), q))
        front = subtract(c, zero, held.lane(last), q)
        shifted = c.join(front, held.take(range(last)))
        sample = c.select(load, mirrored, shifted)
        c.follow(held, c.select(valid, sample, held))
        result = sample.delay()
        c.output("result_valid", c.at(valid, 1))
        c.output("result", result)
        return c

    def work(self, rng: np.random.Generator) -> Work:
        work, n = Work(), self.shape.lanes
        for label in EXTREMES:
            polynomial = extreme_words(label, n, self.q, rng)
            a = polynomial.tolist()
            for i in range(n):
                cycle = self.idle() | {"valid": np.ones(1, dtype=np.uint64)}
                cycle["load"] = np.array([int(i == 0)], dtype=np.uint64)
                cycle["words"] = polynomial if i == 0 else cycle["words"]
                sample = [a[i - j] if j <= i else -a[n + i - j] % self.q for j in range(n)]
                work.expected[len(work.cycles)] = (
                    f"{label}, sample {i}",
                    np.array(sample, dtype=np.uint64),
                )
                work.cycles.append(cycle)
                if rng.integers(4) == 0:
                    work.cycles.append(self.idle())
        return work
