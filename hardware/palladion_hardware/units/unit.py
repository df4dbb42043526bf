"""The contract of a unit. A new one is a class with these members, in the folder of its paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit
from palladion_hardware.circuit.model import Cycle
from palladion_hardware.circuit.nodes import Words
from palladion_hardware.errors import ParameterError
from palladion_hardware.units.numbers import largest_prime, log2

Machine = tuple[str, str, "float | None"]
"""A machine's file, its unit, and the area in mm^2 that the paper prints for one of them."""
EXTREMES = ("all 0", "all q - 1", "one 1", "random", "random again")
"""The inputs of every check."""


@dataclass(frozen=True)
class Shape:
    """What a user chooses of a unit."""

    lanes: int
    """Words of a vector."""
    word: int
    """Bits of a word."""
    degree: int
    """The largest ring degree N."""
    modulus: int | None = None
    """By default the largest prime of ``word`` bits that suits the unit."""
    multiplier: str = "restricted"
    """A kind of :mod:`palladion_hardware.pieces.multipliers`, or another one of the unit."""
    round_bits: int = 16
    product_cycles: int = 2
    """Cycles of a product of two words: see the stages of a multiplier."""

    def square(self) -> tuple[int, int]:
        """log2 of the lanes and of the degree, for units that see a polynomial as a square of
        vectors.

        Raises
        ------
        ParameterError
            If the degree is below the lanes or above their square, or one is no power of two.
        """
        lanes, degree = log2(self.lanes, "lanes"), log2(self.degree, "degree")
        if not 1 <= lanes <= degree <= 2 * lanes:
            raise ParameterError(
                f"degree {self.degree} on {self.lanes} lanes: expected lanes from 2 on, and a "
                "degree from the lanes to their square; take more lanes for a larger degree"
            )
        return lanes, degree


@dataclass
class Work:
    """Words for the ports in each cycle, and what must come out for which of them."""

    cycles: list[Cycle] = field(default_factory=list)
    expected: dict[int, tuple[str, Words]] = field(default_factory=dict)
    """By the cycle of an input vector: a label, and the words of ``result`` a latency later."""


class Unit(ABC):
    """A pipelined unit. Its circuit has outputs ``result_valid`` and ``result``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    """Paper and section."""
    machine: ClassVar[Machine | None]
    """Where a machine's file has the unit."""
    multipliers: ClassVar[tuple[str, ...]] = ("restricted", "montgomery", "barrett")
    """The kinds that it can have. A hardcoded one has one modulus."""

    def __init__(self, shape: Shape) -> None:
        if shape.multiplier not in self.multipliers:
            raise ParameterError(
                f"multiplier {shape.multiplier}: {self.name} has one of "
                f"{', '.join(self.multipliers)}"
            )
        self.shape = shape

    @classmethod
    @abstractmethod
    def full(cls) -> Shape:
        """The paper's sizes."""

    @classmethod
    @abstractmethod
    def small(cls) -> Shape:
        """Sizes at which tests run in seconds."""

    @abstractmethod
    def describe(self) -> Circuit:
        """The circuit."""

    @abstractmethod
    def settings(self) -> Mapping[str, int]:
        """Words of the ports that keep theirs."""

    @abstractmethod
    def work(self, rng: np.random.Generator) -> Work:
        """Extreme and random inputs, with what they give by definition."""

    @abstractmethod
    def interval(self) -> str:
        """How often it takes an input."""

    @cached_property
    def circuit(self) -> Circuit:
        return self.describe()

    @property
    def latency(self) -> int:
        """Cycles from an input vector to the result of the same place."""
        return self.circuit.latency()

    def modulus(self, *, order: int) -> int:
        """The chosen modulus, or the largest one with roots of ``order`` for the multiplier."""
        if self.shape.modulus is not None:
            return self.shape.modulus
        step = max(order, 1 << self.shape.round_bits)
        if self.shape.multiplier != "restricted":
            step = order
        return largest_prime(bits=self.shape.word, step=step)

    def idle(self) -> Cycle:
        """A cycle without an input."""
        cycle: Cycle = {
            name: np.zeros(node.lanes, dtype=np.uint64)
            for name, node in self.circuit.inputs.items()
        }
        for name, word in self.settings().items():
            wide = self.circuit.inputs[name].bits > 64
            cycle[name] = np.array([word], dtype=object if wide else np.uint64)
        return cycle


def extreme_words(label: str, count: int, q: int, rng: np.random.Generator) -> Words:
    """The words of one of :data:`EXTREMES`."""
    if label == "all 0":
        return np.zeros(count, dtype=np.uint64)
    if label == "all q - 1":
        return np.full(count, q - 1, dtype=np.uint64)
    if label == "one 1":
        words = np.zeros(count, dtype=np.uint64)
        words[rng.integers(count)] = 1
        return words
    return rng.integers(0, q, count, dtype=np.uint64)
