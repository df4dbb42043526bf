"""The times of a run of waves."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from palladion.waves.plan import Plan

Progress: TypeAlias = Callable[[str, float, float], bool | None]
Fields: TypeAlias = dict[str, Any]
"""A part of a report, by field."""


@dataclass
class Report:
    """The times of a run: in all, of each step and of each stage."""

    seconds: float = 0.0
    steps: list[Fields] = field(default_factory=list)
    kernels: dict[str, float] = field(default_factory=dict)
    """Seconds by stage. Only a profile has them."""


class Clock:
    """Takes the times of the steps and, for a profile, of the stages of a run."""

    def __init__(self, plan: Plan, *, profile: bool) -> None:
        self._plan, self._profile = plan, profile
        self._steps: list[Fields] = []
        self._stages: dict[str, float] = defaultdict(float)
        self._began = self._step_began = self._wave_began = time.perf_counter()

    def _ends_step(self, index: int) -> bool:
        waves = self._plan.waves
        return index + 1 == len(waves) or waves[index + 1].step != waves[index].step

    def waits(self, index: int) -> bool:
        """True if the time after this wave is needed."""
        return self._profile or self._ends_step(index)

    def end_wave(self, index: int) -> None:
        """Take the time after a wave."""
        now, wave = time.perf_counter(), self._plan.waves[index]
        if self._profile:
            self._stages[self._plan.name(wave)] += now - self._wave_began
            self._wave_began = now
        if self._ends_step(index):
            name = self._plan.steps[wave.step]
            self._steps.append({"name": name, "seconds": now - self._step_began})
            self._step_began = now

    def report(self) -> Report:
        """The times so far."""
        seconds = time.perf_counter() - self._began
        return Report(seconds, self._steps, dict(self._stages))
