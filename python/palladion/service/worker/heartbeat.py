"""The signs of life of a worker while it runs a job, and its progress."""

from __future__ import annotations

import threading
from types import TracebackType

from palladion.service.jobs.queue import Lease, Queue
from palladion.service.state.database import DatabaseError


class Heartbeat:
    """Beats from a thread of its own. It finds out that the job was cancelled or taken away."""

    def __init__(self, queue: Queue, lease: Lease, stop: threading.Event, seconds: float) -> None:
        self._queue = queue
        self._lease = lease
        self._stop = stop
        self._seconds = min(seconds, 1.0)
        self._end = threading.Event()
        self._step: str | None = None
        self._done = 0.0
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self.lost = False
        """Whether the job was cancelled, or went to another worker."""

    @property
    def stopping(self) -> bool:
        """Whether the worker was asked to stop."""
        return self._stop.is_set()

    def progress(self, step: str, done: float, total: float) -> bool:
        """The callback of a run: whether it shall go on."""
        self._step, self._done = step, done / total if total else 0.0
        return not (self.lost or self.stopping)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._end.wait(self._seconds):
            try:
                alive = self._queue.beat(self._lease, self._step, self._done)
            except DatabaseError:
                continue  # whether the job is still here is seen at its end
            self.lost = self.lost or not alive
