"""Kernels by stage: their names in the source, and the blocks of a launch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.waves.plan import Stage

SOURCE: Final = Path(__file__).with_name("kernels.cu")
THREADS: Final = 256
"""Threads of a block."""
TILE: Final = 4096
"""Words of a block of a transform."""
OUT: Final = 16
"""Rows of a combination that a block computes."""
MOST: Final = 65535
"""Largest number of blocks along the axis of instructions."""

WORDS: Final = {"dot": 2, "permute": 1, "extract": 1, "convert": 1, "combine": 1}
"""Words that a thread computes; four where nothing is said."""


@dataclass(frozen=True)
class Launch:
    """A kernel, and the blocks that compute one instruction."""

    kernel: str
    across: int
    deep: int = 1


def launches(stage: Stage, n: int) -> list[Launch]:
    """The launches of a stage, one after the other."""
    if stage.kernel in ("ntt", "intt"):
        inverse = "true" if stage.kernel == "intt" else "false"
        order = ("false", "true") if stage.kernel == "intt" else ("true", "false")
        return [Launch(f"transform<{inverse}, {first}>", -(-n // TILE)) for first in order]
    name = {"round": "round_to", "convert": f"convert<{stage.reads}>"}
    kernel = name.get(stage.kernel, stage.kernel)
    across = -(-n // (WORDS.get(stage.kernel, 4) * THREADS))
    deep = -(-stage.writes // OUT) if stage.kernel == "combine" else 1
    return [Launch(kernel, across, deep)]


def place(n: int) -> Launch:
    """The launch that writes kept values into rows."""
    return Launch("place", -(-n // (4 * THREADS)))
