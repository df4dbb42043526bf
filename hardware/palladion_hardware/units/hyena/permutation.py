"""Hyena's rotations, permutations and transpositions: a Benes network (section 6.3, figure 6).

The paper's network has 2 log2(N) + 1 levels with N switches each. 2 log2(N) - 1 with N / 2 switches
are enough, and are what is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces.benes import layers_of, permute_freely, route
from palladion_hardware.units.numbers import log2
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class HyenaPermutation(Unit):
    """Ports: ``valid``, ``words``, ``switches``: a bit for each switch, layer by layer.

    :func:`palladion_hardware.pieces.benes.route` computes the switches of a permutation. They may
    be others in each cycle.
    """

    name: ClassVar[str] = "hyena-permutation"
    summary: ClassVar[str] = "any permutation of the lanes, by a Benes network"
    source: ClassVar[str] = "Hyena, S&P 2024, section 6.3"
    machine: ClassVar[Machine | None] = ("hyena", "benes", 6.325)

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.lane_bits = log2(shape.lanes, "lanes")
        if not self.lane_bits:
            raise ParameterError("lanes 1: expected 2 or more, there is nothing to permute")

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=1024, word=32, degree=1024)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=8, word=14, degree=8)

    def interval(self) -> str:
        return "a vector a cycle"

    def settings(self) -> Mapping[str, int]:
        return {}

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("hyena_permutation")
        valid = c.input("valid", bits=1)
        words = c.input("words", bits=shape.word, lanes=shape.lanes)
        count = layers_of(shape.lanes) * shape.lanes // 2
        switches = c.input("switches", bits=1, lanes=count)
        result = permute_freely(c, words, switches).delay()
        c.output("result_valid", valid.delay())
        c.output("result", result)
        return c

    def permutations(self, rng: np.random.Generator) -> dict[str, list[int]]:
        """Targets of each lane: what Hyena needs, and any others."""
        n = self.shape.lanes
        factor = 2 * int(rng.integers(n)) + 1
        return {
            "none": list(range(n)),
            "reversed": list(range(n))[::-1],
            "a rotation": [(lane + int(factor)) % n for lane in range(n)],
            f"the values of an automorphism by {factor}": [
                factor * (2 * lane + 1) % (2 * n) // 2 for lane in range(n)
            ],
            "a transposition": [
                (lane << self.lane_bits // 2 | lane >> (self.lane_bits + 1) // 2) % n
                for lane in range(n)
            ],
            "random": rng.permutation(n).tolist(),
            "random again": rng.permutation(n).tolist(),
        }

    def work(self, rng: np.random.Generator) -> Work:
        work, n = Work(), self.shape.lanes
        for label in EXTREMES:
            for name, targets in self.permutations(rng).items():
                words = extreme_words(label, n, 1 << self.shape.word, rng)
                result = np.zeros_like(words)
                result[targets] = words
                cycle = self.idle() | {"valid": np.ones(1, dtype=np.uint64), "words": words}
                cycle["switches"] = np.array(route(targets), dtype=np.uint64)
                work.expected[len(work.cycles)] = (f"{label}, {name}", result)
                work.cycles.append(cycle)
            work.cycles.append(self.idle())
        return work
