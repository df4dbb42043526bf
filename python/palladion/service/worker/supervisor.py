"""Keeps the workers of one machine alive, and ends them."""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from starlette.concurrency import run_in_threadpool

from palladion.service.jobs.queue import Queue
from palladion.service.settings import Settings
from palladion.service.state.database import DatabaseError

LOG: Final = logging.getLogger("palladion.service.supervisor")

GRACE: Final = 20.0
"""Seconds in which a worker may end its step and save it before it is killed."""

PAUSES: Final = (0.0, 1.0, 5.0, 15.0)
"""Seconds before a worker is started again that died soon after its start."""

LIVED: Final = 60.0
"""Seconds after which a worker's death is not taken for one at the start."""


class Supervisor:
    """Starts workers, and starts them again when they die. ``changed`` is called when one of them
    says that a job has changed."""

    def __init__(self, settings: Settings, queue: Queue, changed: Callable[[], None]) -> None:
        self._settings = settings
        self._queue = queue
        self._changed = changed
        self._processes: set[Process] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._ending = False

    @property
    def alive(self) -> int:
        """The number of workers."""
        return len(self._processes)

    def wake(self) -> None:
        """Tell the workers that there is work."""
        for process in self._processes:
            if process.stdin is not None and not process.stdin.is_closing():
                process.stdin.write(b"work\n")

    def start(self) -> None:
        """Start the workers of the settings."""
        self._tasks = [asyncio.create_task(self._keep()) for _ in range(self._settings.workers)]

    async def end(self) -> None:
        """Ask the workers to end, and wait. Their jobs go back to the queue."""
        self._ending = True
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.terminate()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE)
            for process in [*self._processes]:
                with suppress(ProcessLookupError):
                    process.kill()
            for task in late:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self) -> None:
        loop, early = asyncio.get_running_loop(), 0
        while not self._ending:
            began = loop.time()
            name, status = await self._work()
            if self._ending:
                return
            early = 0 if loop.time() - began > LIVED else early + 1
            LOG.error("worker died", extra={"worker": name, "status": status})
            await asyncio.sleep(PAUSES[min(early, len(PAUSES)) - 1])

    async def _work(self) -> tuple[str, int]:
        """Start a worker, and wait for its end. Its job goes back to the queue."""
        words = ("-m", "palladion.service.worker")
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdin=PIPE, stdout=PIPE
        )
        self._processes.add(process)
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        name = ""
        try:
            with suppress(ConnectionError):
                process.stdin.write(self._settings.model_dump_json().encode() + b"\n")
                await process.stdin.drain()
            name = (await process.stdout.readline()).decode().strip()
            if name:
                LOG.info("worker started", extra={"worker": name})
            if self._ending:
                process.terminate()
            while await process.stdout.readline():
                self._changed()
            status = await process.wait()
        finally:
            self._processes.discard(process)
        if name:
            await run_in_threadpool(self._lose, name, status)
        return name, status

    def _lose(self, name: str, status: int) -> None:
        """Put the jobs of a worker back that has died. If the database is away, they wait for the
        end of their leases."""
        with suppress(DatabaseError):
            for lease in self._queue.running(name):
                self._queue.lose(lease, reason=f"its process ended with status {status}")
