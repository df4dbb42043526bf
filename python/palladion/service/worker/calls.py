"""Calls between a worker and the process that started it, over the worker's pipes.

A line to the worker says that there may be work, a line from it that a job has changed. They only
save time: who misses one looks at the database a little later. The end of the pipe says that the
other process is gone.
"""

from __future__ import annotations

import threading
from typing import IO, Protocol


class Caller(Protocol):
    """The calls of a worker."""

    stop: threading.Event
    """Set when the worker is to stop."""

    def sleep(self, seconds: float) -> None:
        """Wait for a call, or for some seconds."""

    def tell(self) -> None:
        """Say that a job has changed."""


class Calls:
    """The worker's end of its pipes."""

    def __init__(self, incoming: IO[str], outgoing: IO[str]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._work = threading.Event()
        self.stop = threading.Event()
        """Set when the worker is to stop."""

    def listen(self) -> None:
        """Listen in a thread of its own."""
        threading.Thread(target=self._hear, name="calls", daemon=True).start()

    def end(self) -> None:
        """Let the worker stop."""
        self.stop.set()
        self._work.set()

    def sleep(self, seconds: float) -> None:
        """Wait for a call, or for some seconds."""
        self._work.wait(seconds)
        self._work.clear()

    def tell(self) -> None:
        """Say that a job has changed."""
        try:
            self._outgoing.write("changed\n")
            self._outgoing.flush()
        except OSError:
            self.end()

    def _hear(self) -> None:
        for _ in self._incoming:
            self._work.set()
        self.end()
