"""Workers as actors of Ray, on any number of machines.

The queue stays in the database, so actors, nodes and the head of Ray may die: jobs go back when
their leases end, and run elsewhere from their checkpoints.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import Any, Final

from palladion.errors import UsageError
from palladion.service.assembly import assemble
from palladion.service.settings import Settings
from palladion.service.tracing import end_tracing, start_tracing
from palladion.service.worker.calls import Calls
from palladion.service.worker.worker import Worker
from palladion.support.extras import missing
from palladion.support.records import Json

try:
    import ray
except ImportError as error:
    raise missing(error, "a service on Ray", "ray") from error

LOG: Final = logging.getLogger("palladion.service.ray")

PAUSE: Final = 2.0
"""Seconds before an actor is started again."""

GRACE: Final = 20.0
"""Seconds in which an actor may end its step and save it."""


class WorkerActor:
    """A worker in a process of Ray."""

    def __init__(self, settings: str) -> None:
        own = Settings.model_validate_json(settings)
        start_tracing("worker")
        parts = assemble(own)
        self.name = f"ray:{ray.get_runtime_context().get_actor_id()}:{os.getpid()}"
        self._calls = Calls()
        self._worker = Worker(self.name, own, parts.queue, parts.keys, parts.store)

    def work(self) -> None:
        """Run jobs until :meth:`end`."""
        self._worker.work(self._calls)
        end_tracing()

    def wake(self) -> None:
        """Say that there may be work."""
        self._calls.wake()

    def end(self) -> None:
        """Let it stop after its step."""
        self._calls.end()


class RayWorkers:
    """Starts workers as actors, and starts them again when they die.

    Raises
    ------
    UsageError
        If Ray cannot be reached, or has machines that do not share the database and the store.
    """

    def __init__(self, settings: Settings, address: str) -> None:
        self._settings = settings
        terminate = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"Ray at {address!r} cannot be reached: {error}") from error
        finally:
            signal.signal(signal.SIGTERM, terminate)  # Ray has put its own in its place
        check_machines(settings)
        self._actors: dict[int, Any] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ending = False

    def start(self) -> None:
        """Start the workers of the settings."""
        self._tasks = [asyncio.create_task(self._keep(at)) for at in range(self._settings.workers)]

    def wake(self) -> None:
        """Tell the workers that there is work."""
        for actor in self._actors.values():
            actor.wake.remote()

    async def end(self) -> None:
        """Ask the workers to end, and wait. Their jobs go back to the queue."""
        self._ending = True
        for actor in self._actors.values():
            actor.end.remote()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE)
            for task in late:
                task.cancel()
        ray.shutdown()

    async def _keep(self, number: int) -> None:
        """Keep one worker. It waits where no machine has the cores and the memory."""
        while not self._ending:
            actor = self._actors[number] = self._placed().remote(self._settings.model_dump_json())
            try:
                await actor.work.remote()
            except ray.exceptions.RayError as error:
                LOG.error("worker died: %s", str(error)[:500], extra={"number": number})
            if not self._ending:
                await asyncio.sleep(PAUSE)

    def _placed(self) -> Any:
        """The class of actors, with what each needs."""
        remote: Any = ray.remote(WorkerActor)
        return remote.options(
            num_cpus=self._settings.worker_threads,
            memory=self._settings.key_memory_bytes,
            max_concurrency=4,
        )


def check_machines(settings: Settings) -> None:
    """Refuse several machines without a common database and store. Raises as
    :class:`RayWorkers`."""
    nodes: list[Json] = ray.nodes()
    hosts = {node["NodeManagerHostname"] for node in nodes if node["Alive"]}
    if len(hosts) > 1 and not (settings.database.startswith("postgresql") and settings.store):
        words = f"Ray has {len(hosts)} machines, and database and store lie on this one"
        raise UsageError(f"{words}: set `database` to PostgreSQL and `store` to S3")
