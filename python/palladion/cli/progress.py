"""Progress on standard error: one line per step, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from palladion.cli.common import phase


class Steps:
    """Prints the steps of a command, one line each. In a terminal the current line is updated.

    It is used as a context. :meth:`step` times work done in Python. :meth:`update` is the callback
    for a run of the core, and counts the work of the whole run.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._live = sys.stderr.isatty() and not quiet
        self._quiet = quiet
        self._bar = Progress(
            SpinnerColumn(finished_text="✓" if _unicode() else "+"),
            TextColumn("{task.description:34}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[time]}"),
            console=Console(stderr=True),
            disable=not self._live,
        )
        self._name: str | None = None
        self._task: TaskID | None = None
        self._started = self._run_started = time.perf_counter()
        self._resumed: float | None = None

    def __enter__(self) -> Steps:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        self._bar.stop()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show ``name`` while the body works."""
        self._begin(name, total=None)
        yield
        self.finish()

    def start_run(self) -> None:
        """Call before a run whose progress comes through :meth:`update` or :meth:`count`."""
        self._run_started = time.perf_counter()
        self._resumed = None

    def update(self, name: str, done: float, total: float) -> None:
        """Report that ``done`` of ``total`` units of the run are finished, in the step ``name``.

        Units that are finished at the first call were done by another process.
        """
        if self._resumed is None:
            self._resumed = done
        self.count(phase(name), done, total)

    def count(self, name: str, done: float, total: float, note: str = "") -> None:
        """As :meth:`update`, for work that is not a step of a program. Shows ``note`` too."""
        if name != self._name:
            self._begin(name, total=total)
        if self._task is not None:
            here = done - (self._resumed or 0.0)
            elapsed = time.perf_counter() - self._run_started
            left = elapsed * (total - done) / here if here else 0.0
            words = ", ".join([*[f"{left:.0f} s left"] * bool(here), *[note] * bool(note)])
            self._bar.update(self._task, completed=done, time=words)

    def finish(self) -> None:
        """End the current step."""
        if self._name is None:
            return
        seconds = time.perf_counter() - self._started
        if self._task is not None:
            self._bar.update(self._task, total=1, completed=1, time=f"{seconds:.2f} s")
        elif not self._quiet:
            click.echo(f"{self._name:34} {seconds:8.2f} s", err=True)
        self._name = self._task = None

    def _begin(self, name: str, total: float | None) -> None:
        self.finish()
        self._name, self._started = name, time.perf_counter()
        if self._live:
            self._task = self._bar.add_task(name, total=total, time="")


def _unicode() -> bool:
    return "utf" in (sys.stderr.encoding or "").lower()
