"""A model of a run on a GPU: bytes and operations of a plan against peak figures.

No measurement. It counts what each kernel of the plan must read, write and compute if every operand
is read once and every result written once, and divides by the peaks of ``peaks.json`` times an
efficiency. Of the time for bytes and the time for operations the larger one counts. Launches of
kernels, loads of keys and gaps between waves are left out, so a real run takes longer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEAKS = Path(__file__).with_name("peaks.json")

PRODUCT = 8
"""Instructions of a product of two words with its reduction by Montgomery, and of a sum: four
halves of products, and four of the sum and its corrections."""
TERM = 5
"""Instructions of a term of an inner product, which is reduced at the end."""
BYTES_OF_ENTRY = 12
"""Products of bytes for an entry of a combination below 2^17."""


@dataclass
class Work:
    """The work of a kernel in a whole plan."""

    instructions: int = 0
    bytes: float = 0.0
    words: float = 0.0
    """Instructions on words of 32 bits."""
    int8: float = 0.0
    """Multiply-adds of bytes."""


def counted(plan: Any) -> dict[str, Work]:
    """The work of a plan by kernel."""
    found: dict[str, Work] = {}
    n = plan.n
    for wave in plan.waves:
        if wave.stage is None:
            continue
        stage = plan.stages[wave.stage]
        reads, writes = stage.reads, stage.writes
        each = {
            "ntt": (n.bit_length() - 1) / 2 * PRODUCT,
            "intt": (n.bit_length() - 1) / 2 * PRODUCT,
            "dot": reads / 2 * TERM + PRODUCT,
            "convert": reads * PRODUCT + writes * (reads + 1) * TERM,
            "combine": writes * PRODUCT,
        }.get(stage.kernel, PRODUCT)
        work = found.setdefault(stage.kernel, Work())
        work.instructions += wave.length
        work.bytes += 4.0 * n * (reads + writes) * wave.length
        work.words += each * n * wave.length
        if stage.kernel == "combine":
            work.int8 += float(BYTES_OF_ENTRY) * n * reads * writes * wave.length
    return found


def seconds(work: Work, peaks: dict[str, float], efficiency: float) -> float:
    """The time that the model says."""
    by_bytes = work.bytes / (peaks["memory_gb_per_s"] * 1e9)
    by_words = work.words / (peaks["int32_tera"] * 1e12)
    by_int8 = 2 * work.int8 / (peaks["int8_tera"] * 1e12)
    return max(by_bytes, by_words + by_int8) / efficiency


def modelled(plan: Any) -> dict[str, Any]:
    """Counts of a plan, and the modelled seconds on each machine."""
    data, work = json.loads(PEAKS.read_text()), counted(plan)
    machines = {
        name: {kernel: seconds(each, peaks, data["efficiency"]) for kernel, each in work.items()}
        for name, peaks in data["machines"].items()
    }
    return {
        "counts": {kernel: vars(each) for kernel, each in work.items()},
        "waves": len(plan.waves),
        "seconds": {name: sum(by.values()) for name, by in machines.items()},
        "by_kernel": machines,
    }
