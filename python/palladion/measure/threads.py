"""Seconds of a run on more threads than this machine has, predicted from two runs here."""

from __future__ import annotations

from dataclasses import dataclass

from palladion import _native
from palladion.deployment import CompiledModel
from palladion.runs import Progress, RunReport, RunStep
from palladion.support import records
from palladion.support.seconds import threads


@dataclass(frozen=True)
class Predicted:
    """Predicted seconds of a run."""

    threads: int
    seconds: float
    """If the memory serves all threads as well as one."""
    contended_seconds: float
    """If each further thread slows the others as much as it does here."""


@dataclass(frozen=True)
class Threads:
    """How a run gains from threads.

    The work is the seconds on one thread, and the span those on unlimited threads. On ``n``
    threads the run takes ``work / n + span (1 - 1/n)`` at most, if no thread is idle while there
    is work.
    """

    threads: int
    """Threads of the first run, all that are in use here."""
    seconds: float
    """Seconds of that run."""
    work_seconds: float
    span_seconds: float
    steps: tuple[RunStep, ...]
    """Each with its span."""

    @property
    def contention(self) -> float:
        """The share by which each further thread slowed the work of the others in the first run:
        threads share caches and memory, and some share a core."""
        if self.threads == 1:
            return 0.0
        outside = self.span_seconds * (1 - 1 / self.threads)
        slowed = (self.seconds - outside) * self.threads / self.work_seconds
        return max(slowed - 1, 0.0) / (self.threads - 1)

    def on(self, count: int) -> Predicted:
        """The seconds on a number of threads."""
        shared = self.work_seconds / count
        apart = shared + self.span_seconds * (1 - 1 / count)
        return Predicted(count, apart, apart + shared * self.contention * (count - 1))

    def to_json(self, most: int) -> records.Json:
        """As data for JSON, with predictions for up to ``most`` threads."""
        predicted = [records.to_json(self.on(count)) for count in counts(most)]
        return {**records.to_json(self), "contention": self.contention, "predicted": predicted}


def measure_threads(
    program: CompiledModel,
    keys: _native.EvaluationKeys,
    query: _native.Query,
    first: RunReport,
    most: int,
    progress: Progress | None = None,
) -> Threads:
    """Run a program once more, on one thread, and measure its work and its span.

    Parameters
    ----------
    first
        The report of a run of the same query on all threads in use.
    most
        The largest number of threads to predict for. Parallel loops are cut for so many.

    Raises
    ------
    StoppedError
        If ``progress`` returned False.
    """
    _, fields = program.native.run(keys, query, progress, span_for=most)
    report = records.read(RunReport, fields)
    assert report.span_seconds is not None
    return Threads(threads(), first.seconds, report.seconds, report.span_seconds, report.steps)


def counts(most: int) -> list[int]:
    """Powers of two below a number of threads, and the number itself."""
    powers = (1 << exponent for exponent in range(most.bit_length()))
    return sorted({*powers, most})
