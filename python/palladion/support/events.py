"""Events of runs and of keys, for the logger ``palladion``.

An event has identities, names of steps, and seconds. It never has data, secrets, or the text of an
error, which may quote an input. Nothing is printed unless an application asks for it, with
:func:`show_events` or Python's ``logging``.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from palladion.errors import UsageError, kind_of

LOGGER: Final = logging.getLogger("palladion")
LOGGER.addHandler(logging.NullHandler())

LEVELS: Final = ("debug", "info", "warning")
"""Levels of events: steps are ``debug``, starts and ends ``info``, refusals ``warning``."""

Ids = Callable[[], Mapping[str, str]]
"""Computes the identities of a piece of work. It is called only if an event is heard."""

Callback = Callable[[str, float, float], "bool | None"]
"""Called with the current step, the work done and all work, as ``palladion.runs.Progress``."""


@dataclass
class Work:
    """A piece of work whose events are logged."""

    name: str
    ids: Ids
    token: str = field(default_factory=lambda: secrets.token_hex(4))
    """Tells two pieces of work of the same name apart."""
    step: str | None = None
    """The current step."""
    result: dict[str, str] = field(default_factory=dict)
    """Identities that are known at the end."""

    @cached_property
    def known(self) -> Mapping[str, str]:
        """The identities."""
        return self.ids()

    def log(self, level: int, event: str, **more: str) -> None:
        """Log an event with the identities, if someone listens."""
        if LOGGER.isEnabledFor(level):
            self._write(level, event, {**self.known, **more})

    def _write(self, level: int, event: str, more: Mapping[str, str]) -> None:
        """Log an event. A record also has its words as data, in ``record.fields``."""
        fields = {"work": self.name, "id": self.token, **more}
        words = " ".join(f"{key}={quoted(value)}" for key, value in fields.items())
        LOGGER.log(level, "%s %s", event, words, extra={"fields": {"event": event, **fields}})

    def enter(self, step: str) -> None:
        """Log that a step begins, unless it is the current one. ``id`` leads to the identities."""
        if step != self.step:
            self.step = step
            self._write(logging.DEBUG, "step", {"step": step})

    def heard(self, progress: Callback | None) -> Callback | None:
        """A callback that logs each step, and passes it on to ``progress``."""
        if not LOGGER.isEnabledFor(logging.DEBUG):
            return progress

        def hear(step: str, done: float, total: float) -> bool | None:
            self.enter(step)
            return None if progress is None else progress(step, done, total)

        return hear


@contextmanager
def work(name: str, ids: Ids) -> Iterator[Work]:
    """Log the start of the body, and its end: ``finished``, or ``refused`` with a kind of error."""
    own = Work(name, ids)
    own.log(logging.INFO, "started")
    begin = time.perf_counter()
    try:
        yield own
    except BaseException as error:
        seconds = f"{time.perf_counter() - begin:.3f}"
        own.log(logging.WARNING, "refused", kind=kind_of(error).name, seconds=seconds)
        raise
    seconds = f"{time.perf_counter() - begin:.3f}"
    own.log(logging.INFO, "finished", **own.result, seconds=seconds)


def quoted(value: str) -> str:
    """A value as one word: in quotes if it has spaces, quotes, or signs that cannot be printed."""
    plain = value.isprintable() and not set(value) & set(" \"'=")
    return value if plain and value else repr(value)


def show_events(level: str) -> None:
    """Print events from a level on to standard error. An empty level changes nothing.

    Raises
    ------
    UsageError
        If there is no such level.
    """
    if not level:
        return
    if level not in LEVELS:
        raise UsageError(f"PALLADION_LOG is {level!r}, expected one of {', '.join(LEVELS)}")
    shown = logging.StreamHandler()
    shown.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    LOGGER.addHandler(shown)
    LOGGER.setLevel(level.upper())
    LOGGER.propagate = False
