"""Waits for changes of jobs: one look at the database for all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from starlette.concurrency import run_in_threadpool

from palladion.service.jobs.job import Job
from palladion.service.jobs.queue import Queue
from palladion.service.state.database import DatabaseError

PAUSE: Final = 0.1
"""Seconds between two looks, if no worker says that a job has changed."""


@dataclass
class Watched:
    """A job that someone waits for."""

    job: Job
    waiters: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Watcher:
    """Looks at the jobs that requests wait for."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._watched: dict[str, Watched] = {}
        self._hint = asyncio.Event()

    def look(self) -> None:
        """Look at once."""
        self._hint.set()

    async def run(self) -> None:
        """Look for ever."""
        while True:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._hint.wait(), PAUSE)
            self._hint.clear()
            if not self._watched:
                continue
            with suppress(DatabaseError):
                last = {name: seen(watched.job) for name, watched in self._watched.items()}
                self._tell(await run_in_threadpool(self._changed, last))

    def _changed(self, last: dict[str, tuple[str, str | None, float]]) -> dict[str, Job]:
        """The jobs that are no more as they were seen last."""
        marks = self._queue.marks(last)
        names = [name for name, mark in marks.items() if mark != last[name]]
        return self._queue.states(names) if names else {}

    def _tell(self, states: dict[str, Job]) -> None:
        for name, job in states.items():
            if (watched := self._watched.get(name)) is not None:
                watched.job = job
                watched.changed.set()
                watched.changed = asyncio.Event()

    async def ended(self, job: Job, seconds: float) -> Job:
        """A job when it has ended, or after some seconds."""
        end = monotonic() + seconds
        async for state in self.changes(job, end):
            job = state
        return job

    async def changes(self, job: Job, end: float | None = None) -> AsyncIterator[Job]:
        """A job each time it changes, until it has ended or the steady clock reaches ``end``."""
        watched = self._watched.setdefault(job.id, Watched(job))
        watched.waiters += 1
        try:
            last = None
            while True:
                changed, state = watched.changed, watched.job
                if seen(state) != last:
                    last = seen(state)
                    yield state
                    if not state.active:
                        return
                    continue
                left = None if end is None else end - monotonic()
                if left is not None and left <= 0:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), left)
                except asyncio.TimeoutError:
                    return
        finally:
            watched.waiters -= 1
            if not watched.waiters:
                self._watched.pop(job.id, None)


def seen(job: Job) -> tuple[str, str | None, float]:
    """The fields whose change ends a wait."""
    return job.state, job.step, job.done
