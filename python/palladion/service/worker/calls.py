"""Calls between a worker and the process that started it.

They only save time: who misses one looks at the database a little later. A process of this machine
has them over its pipes, where the end of the pipe says that the other process is gone.
"""

from __future__ import annotations

import threading
from typing import IO


class Calls:
    """A worker's calls: it is woken for work, and asked to stop."""

    def __init__(self) -> None:
        self._work = threading.Event()
        self.stop = threading.Event()
        """Set when the worker is to stop."""

    def wake(self) -> None:
        """Tell the worker that there may be work."""
        self._work.set()

    def end(self) -> None:
        """Let the worker stop."""
        self.stop.set()
        self._work.set()

    def sleep(self, seconds: float) -> None:
        """Wait for a call, or for some seconds."""
        self._work.wait(seconds)
        self._work.clear()

    def tell(self) -> None:
        """Say that a job has changed, if someone listens."""


class PipeCalls(Calls):
    """Calls over pipes. A line to the worker wakes it, and one from it says that a job changed."""

    def __init__(self, incoming: IO[str], outgoing: IO[str]) -> None:
        super().__init__()
        self._incoming = incoming
        self._outgoing = outgoing

    def listen(self) -> None:
        """Listen in a thread of its own."""
        threading.Thread(target=self._hear, name="calls", daemon=True).start()

    def tell(self) -> None:
        """Say that a job has changed."""
        try:
            self._outgoing.write("changed\n")
            self._outgoing.flush()
        except OSError:
            self.end()

    def _hear(self) -> None:
        for _ in self._incoming:
            self.wake()
        self.end()
