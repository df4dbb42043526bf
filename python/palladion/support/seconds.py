"""Predicted seconds of runs on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from palladion import _native


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
    return seconds_here(work) / (count * _native.EFFICIENCY)
