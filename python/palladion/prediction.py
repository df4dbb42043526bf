"""Predicted seconds of runs on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from palladion import _native

EFFICIENCY: Final = 0.9
"""Predicted seconds on one thread, divided by the number of threads times the measured seconds.

Measured on 2 idle cores of an EPYC with AVX2 for one image. MNIST: 4.5 / (2 x 2.56). ResNet-20,
with start and reading of keys: 184 / (2 x 103).
"""

READING: Final = 3.4e-9
"""Seconds per byte of evaluation keys on two threads: 1.17 s for LeNet-5's 348 MB, with AVX2."""


def threads() -> int:
    """Number of threads that a run would use."""
    count: int = _native.info()["threads"]
    return count


def seconds_here(work: Mapping[str, float]) -> float:
    """Predicted seconds on one thread of this machine.

    ``work`` has seconds of the machine of the cost model by kind of pass. Each kind is slower or
    faster here by a factor of its own.
    """
    factors = _native.machine_factors()
    return sum(seconds * factors[kind] for kind, seconds in work.items())


def wall_seconds(work: Mapping[str, float], count: int) -> float:
    """Predicted seconds of a run on ``count`` threads of this machine."""
    return seconds_here(work) / (count * EFFICIENCY)
