"""The results of evaluating an integer network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palladion.nn.integers.linear_maps import Ints

Progress = Callable[[int], bool | None]
"""Called with the number of images done. Returning ``False`` stops the evaluation."""


@dataclass(frozen=True)
class LayerStatistics:
    """Statistics of a layer over all images.

    ``smallest`` and ``largest`` are accumulators, noise included. ``beyond_bound`` is the number
    of accumulators, of all ``values``, for which an encrypted table gives garbage. ``changes`` has
    the number of outputs for each difference that the layer's own noise made. Unchanged outputs
    are left out.
    """

    name: str
    smallest: int
    largest: int
    beyond_bound: int
    values: int
    changes: dict[int, int]

    @property
    def largest_accumulator(self) -> int:
        """The largest accumulator by absolute value."""
        return max(self.largest, -self.smallest)

    @property
    def changed(self) -> int:
        """Number of outputs that noise changed."""
        return sum(self.changes.values())

    @property
    def largest_change(self) -> int:
        """The largest change by absolute value, or 0 if nothing changed."""
        return max(map(abs, self.changes), default=0)


@dataclass(frozen=True)
class Evaluation:
    """Logits of shape (images, classes), the class of each image, and statistics of the layers.

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
