"""What the evaluation of an integer network gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palladion.nn.linear import Ints

Progress = Callable[[int], bool | None]
"""Hears how many images are done; ``False`` stops the evaluation."""


@dataclass(frozen=True)
class LayerStatistics:
    """What a layer did over all images.

    ``smallest`` and ``largest`` accumulator, noise included; ``beyond_bound`` of all ``values``,
    where an encrypted table gives garbage; and ``changes``, which counts by how much the layer's
    own noise changed its outputs, unchanged ones left out.
    """

    name: str
    smallest: int
    largest: int
    beyond_bound: int
    values: int
    changes: dict[int, int]

    @property
    def largest_accumulator(self) -> int:
        """By absolute value."""
        return max(self.largest, -self.smallest)

    @property
    def changed(self) -> int:
        """Outputs that noise changed."""
        return sum(self.changes.values())

    @property
    def largest_change(self) -> int:
        """By absolute value; 0 where nothing changed."""
        return max(map(abs, self.changes), default=0)


@dataclass(frozen=True)
class Evaluation:
    """Logits of shape (images, classes), the class of each image, and what the layers did.

    The class is the first of the largest logits.
    """

    logits: Ints
    predicted: Ints
    layers: tuple[LayerStatistics, ...]


@dataclass(frozen=True)
class Trace:
    """Every integer of one image: accumulators and outputs of each layer, and its class."""

    accumulators: list[Ints]
    outputs: list[Ints]
    predicted: int

    @property
    def logits(self) -> Ints:
        """The last layer's accumulators."""
        return self.accumulators[-1]
