"""Errors of the published model, as corrections that are applied one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Correction(Enum):
    """A correction of the published model. :data:`CORRECTIONS` has the error that each mends."""

    LAYERS = "layers"
    TILES = "tiles"
    OFFSETS = "offsets"
    PARTIAL_SUMS = "partial-sums"
    STRIDES = "strides"
    WINDOWS = "windows"
    COEFFICIENTS = "coefficients"
    BATCH = "batch"
    HINTS = "hints"
    CACHES = "caches"
    ROTATION = "rotation"
    WORDS = "words"


CORRECTIONS: Final = {
    Correction.LAYERS: "A layer whose name and sizes repeat is counted each time. The published "
    "one overwrites its result, once in ResNet-50.",
    Correction.TILES: "Windows and tiles are rounded up, so that the border of an image is "
    "computed. BatchWise does not work on channels and kernels that are not there.",
    Correction.OFFSETS: "Hyena moves its windows to R S / stride^2 offsets. The published "
    "(R - 1) (S - 1) / stride^2 + 1 are 5 of 9 for a kernel of 3 x 3.",
    Correction.PARTIAL_SUMS: "Hyena adds up the slots of each partial sum of a group of kernels. "
    "The published one does it once for a group.",
    Correction.STRIDES: "Hyena has as many offsets as all windows need. R S / stride^2, rounded "
    "down, leave some out: 9 / 4 in MobileNetV2 need 3, not 2.",
    Correction.WINDOWS: "C2PC's search for a tile starts at the size of the kernel. The published "
    "one starts at 1 x 1, which holds no kernel, and stays there for kernels as large as the "
    "image.",
    Correction.COEFFICIENTS: "C2PC packs N coefficients. The published one packs N / 2 slots.",
    Correction.BATCH: "Hyena+ packs kernels only as far as weights fit beside the batch, and runs "
    "a whole number of times.",
    Correction.HINTS: "Each rotation reads its key-switch hint. The published A+W reads one in a "
    "layer. C2PC, which does not rotate, loads none.",
    Correction.CACHES: "Polynomials beyond the room of a cache come from memory. In the published "
    "LoLa and C2PC the counter of inputs stands still, and BatchWise loads an input for a channel, "
    "not for each value of a window.",
    Correction.ROTATION: "A Benes network is charged where it transposes, and Gala's rotations of "
    "inputs take its time. Ch on F1's network takes time: the published cycle is 0 ns.",
    Correction.WORDS: "A weight polynomial has N words of 32 bits: 4 KiB take 64 ns at 64 GB/s. "
    "The published 15 ns are those of 1 kB.",
}
"""The error that each correction mends, in the order in which the report applies them."""


@dataclass(frozen=True)
class Model:
    """Which model is asked for."""

    corrections: frozenset[Correction] = frozenset()
    log_tree: bool = False
    """Sums of slots by a tree of rotations, which the paper mentions and does not use."""
    memory_bound: bool = False
    """True if a layer takes at least the time in which memory moves its words."""

    @classmethod
    def published(cls) -> Model:
        """The public simulator's formulas, errors included."""
        return cls()

    @classmethod
    def corrected(cls, *, log_tree: bool = False, memory_bound: bool = False) -> Model:
        """All corrections."""
        return cls(frozenset(Correction), log_tree, memory_bound)

    def has(self, correction: Correction) -> bool:
        """True if a correction is applied."""
        return correction in self.corrections
