"""The end of a command from outside: SIGTERM, and the time limit of ``--timeout``.

Both raise an exception in the main thread. The core asks for signals every 50 ms: a run then ends
after its current step, and a call without steps at its own end. Unfinished files go at once.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from palladion.errors import Termination, TimeLimit, UsageError
from palladion.support import files

if TYPE_CHECKING:
    from palladion.runs import Progress
    from palladion.targets import Save

Command = TypeVar("Command", bound=Callable[..., Any])

GRACE: Final = 8.0
"""Seconds after SIGTERM in which a run may still end its layer and save it. Containers get at least
10 seconds from their managers before they are killed."""


@contextmanager
def sigterm_as_error() -> Iterator[None]:
    """While the body runs, SIGTERM raises an exception, unless the caller chose otherwise."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def terminate(_number: int, _frame: FrameType | None) -> None:
    """The handler of SIGTERM."""
    files.discard_unfinished()
    raise Termination("ended by SIGTERM")


class Saver:
    """Saves checkpoints of a run, and lets SIGTERM wait for the next of them."""

    def __init__(self, save: Save, progress: Progress) -> None:
        self._save = save
        self._progress = progress
        self._asked: float | None = None

    def hear(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGTERM during the run. A second signal does not wait."""
        if self._asked is not None:
            terminate(number, frame)
        self._asked = monotonic()

    def save(self, checkpoint: bytes) -> None:
        """Save a checkpoint, and end the run if it was waited for."""
        self._save(checkpoint)
        if self._asked is not None:
            raise Termination("ended by SIGTERM")

    def progress(self, step: str, done: float, total: float) -> bool | None:
        """Report progress, and end a run whose layer takes too long."""
        if self._asked is not None and monotonic() > self._asked + GRACE:
            raise Termination("ended by SIGTERM")
        return self._progress(step, done, total)


@contextmanager
def saving(save: Save, progress: Progress, *, at_any_step: bool = False) -> Iterator[Saver]:
    """Callbacks of a run that saves checkpoints. While the body runs, SIGTERM ends it after the
    next checkpoint, or after :data:`GRACE` seconds. A run that can save ``at_any_step`` ends at
    once.
    """
    saver = Saver(save, progress)
    if at_any_step or signal.getsignal(signal.SIGTERM) is not terminate:
        yield saver
        return
    signal.signal(signal.SIGTERM, saver.hear)
    try:
        yield saver
    finally:
        signal.signal(signal.SIGTERM, terminate)


def timeout_option(command: Command) -> Command:
    """``--timeout SECONDS``, which counts from here on, the reading of files included."""

    def use(context: click.Context, _option: click.Parameter, seconds: float | None) -> None:
        if seconds is not None:
            context.call_on_close(limit(seconds))

    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True, max=1e8),
        metavar="SECONDS",
        is_eager=True,
        callback=use,
        help="End with status 5 after so many seconds; default: no limit.",
        expose_value=False,
    )(command)


def limit(seconds: float) -> Callable[[], None]:
    """Raise :class:`TimeLimit` after some seconds. Returns a function that takes the limit off.

    Raises
    ------
    UsageError
        On Windows, which has no interval timer.
    """
    if sys.platform == "win32":
        raise UsageError("--timeout needs a timer that Windows does not have: leave it out")

    def end(_number: int, _frame: FrameType | None) -> None:
        files.discard_unfinished()
        raise TimeLimit(f"the time limit of {seconds:g} s has passed: give a longer --timeout")

    def take_off() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return take_off
