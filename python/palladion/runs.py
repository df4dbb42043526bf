"""The results of a run: the encrypted answer, and a report of its costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from palladion import _native
from palladion.support import records

Progress: TypeAlias = Callable[[str, float, float], bool | None]
"""Called with the current step, the work done and all work. If it returns False, the work stops."""


@dataclass(frozen=True)
class RunStep:
    """A step of a run."""

    name: str
    """Layer and operation."""
    seconds: float
    predicted_seconds: float | None = None
    """On one thread of the cost model's machine; ``None`` on other targets than the CPU."""
    span_seconds: float | None = None
    """On unlimited threads; ``None`` unless it was measured."""


@dataclass(frozen=True)
class RunReport:
    """The costs of a run. The last fields belong to the target ``xla``."""

    seconds: float
    resumed_steps: int
    """Steps that were done before the checkpoint. Nothing else of the report counts them."""
    raw_digest: str
    """SHA-256 of the answer before it was hidden: all runs of a query with the same keys have the
    same, on every target. It is not for clients."""
    steps: tuple[RunStep, ...]
    span_seconds: float | None = None
    """On unlimited threads; ``None`` unless it was measured."""
    device: str | None = None
    """Kind of the device."""
    devices: int | None = None
    """Devices that shared the limbs."""
    device_memory_bytes: int | None = None
    waves: int | None = None
    """Waves of instructions."""
    executables: int | None = None
    """Programs of XLA."""
    compiled: int | None = None
    """Programs that were not in the cache."""
    kernel_set: str | None = None
    """Name of the set of kernels, if one was asked for."""

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Answer:
    """Encrypted results for the client, and a report of the run."""

    native: _native.Answer
    report: RunReport

    @property
    def seconds(self) -> float:
        """Seconds that the run took."""
        return self.report.seconds

    def to_bytes(self) -> bytes:
        """The bytes that a server sends."""
        return self.native.to_bytes()
