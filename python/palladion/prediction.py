"""What a report predicts, on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
    found: int = _native.info()["threads"]
    return found


def seconds_here(report: Mapping[str, Any]) -> float:
    """Predicted seconds of a run on one thread of this machine.

    The report has seconds of the machine of the cost model by kind of pass. Each kind is slower or
    faster here by a factor of its own.
    """
    factors = _native.machine_factors()
    found: float = sum(taken * factors[kind] for kind, taken in report["predicted_work"].items())
    return found


def wall_seconds(report: Mapping[str, Any], count: int) -> float:
    """Predicted seconds of a run on ``count`` threads of this machine."""
    return seconds_here(report) / (count * EFFICIENCY)


def reading_seconds(report: Mapping[str, Any]) -> float:
    """Predicted seconds of reading the evaluation keys, which takes similar time on any
    processor."""
    return READING * float(report["predicted_evaluation_key_bytes"])


HERE: Final = (
    "machine_factors",
    "threads",
    "predicted_wall_seconds",
    "predicted_reading_seconds",
)
"""Names of what a report says of this machine."""


def on_this_machine(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of this machine: :data:`HERE`."""
    count = threads()
    found = (_native.machine_factors(), count, wall_seconds(report, count), reading_seconds(report))
    return dict(zip(HERE, found, strict=True))
