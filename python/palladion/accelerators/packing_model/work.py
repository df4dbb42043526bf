"""The work of a layer under a packing: runs of the pipelines, and words that memories pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Traffic:
    """Words by their kind of data."""

    inputs: int = 0
    weights: int = 0
    hints: int = 0
    partial_sums: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.inputs + other.inputs,
            self.weights + other.weights,
            self.hints + other.hints,
            self.partial_sums + other.partial_sums,
        )

    @property
    def total(self) -> int:
        """All words."""
        return self.inputs + self.weights + self.hints + self.partial_sums


@dataclass(frozen=True)
class Work:
    """The work of a layer. This is all that time and energy are computed from."""

    sizes: Mapping[str, int]
    """How the packing cuts the layer: ``c`` channels, ``k`` kernels and so on in a polynomial."""
    multiply: int
    """Runs of the pipeline that multiplies inputs by weights."""
    partial_sums: int = 0
    """Runs of the pipeline that rotates partial sums."""
    inputs: int = 0
    """Runs of the sequence that rotates or permutes inputs."""
    off_chip: Traffic = Traffic()
    """Words that memory passes."""
    on_chip: Traffic = Traffic()
    """Words that the L2 buffers pass, by the buffer."""
    moved: Traffic = Traffic()
    """Words that the dataflow reads, wherever they are: the footprint of figure 3."""
    repeats: Fraction = Fraction(1)
    """How many times the batch takes this work."""
