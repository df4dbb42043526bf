"""A worker: takes jobs from the queue and runs them, one at a time."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic, perf_counter, sleep
from typing import Final, TypeVar

from palladion import _native
from palladion.deployment import CompiledModel
from palladion.errors import (
    BudgetError,
    FormatError,
    MissingKeyError,
    PalladionError,
    StoppedError,
    can_retry,
)
from palladion.service.blobs.store import FullError, MissingBlobError, Store, StoreError
from palladion.service.jobs.job import Job
from palladion.service.jobs.queue import Lease, Queue
from palladion.service.keys.stored import Keys, key_blob
from palladion.service.settings import Settings
from palladion.service.state.database import DatabaseError
from palladion.service.tracing import Run, run_of
from palladion.service.worker.calls import Calls
from palladion.service.worker.heartbeat import Heartbeat
from palladion.support.text import size

Result = TypeVar("Result")

AWAY: Final = (DatabaseError, FullError, StoreError)
"""Errors of database and store that end by themselves, or when an operator acts."""

LOG: Final = logging.getLogger("palladion.service.worker")

PROGRAMS: Final = 4
"""Programs that a worker keeps in memory."""

OPENED: Final = 64
"""Clients whose keys a worker keeps open. Their memory has a budget of its own."""

MARK_EACH: Final = 60.0
"""Seconds after which it is written down again that keys are used."""

PAUSE: Final = 0.1
"""Seconds between two looks at an empty queue, if nobody wakes the worker."""

LATER: Final = 1.0
"""Seconds after which a job is tried again that had no memory, or whose files were away."""

BETWEEN_CHECKPOINTS: Final = 5.0
"""Seconds of work, at most, that the death of a worker costs, beside the layer that it was in."""

PATIENCE: Final = 600.0
"""Seconds for which a worker holds an answer while database or store are away."""


class Worker:
    """Runs jobs until it is asked to stop."""

    def __init__(
        self, name: str, settings: Settings, queue: Queue, keys: Keys, store: Store
    ) -> None:
        self.name = name
        self._queue = queue
        self._keys = keys
        self._store = store
        self._settings = settings
        self._programs: OrderedDict[str, CompiledModel] = OrderedDict()
        self._opened: OrderedDict[tuple[str, ...], _native.EvaluationKeys] = OrderedDict()
        self._marked: dict[tuple[str, ...], float] = {}
        self._ahead = 0.0
        """Seconds of jobs in a row that were taken because their keys are in memory."""
        _native.set_threads(settings.worker_threads)
        _native.set_key_memory(settings.key_memory_bytes)

    def work(self, calls: Calls) -> None:
        """Run jobs until the worker is to stop. A run that is under way then saves where it is, and
        its job goes back to the queue."""
        stop = calls.stop
        while not stop.is_set():
            try:
                taken = self._take()
            except DatabaseError as error:
                LOG.warning("%s", error)
                stop.wait(LATER)
                continue
            if taken is None:
                calls.sleep(PAUSE)
                continue
            calls.tell()
            self.run(*taken, stop)
            calls.tell()

    def _take(self) -> tuple[Lease, Job] | None:
        """The next job, if there is one. Jobs whose keys are in memory come first, for a while."""
        in_memory = {keys.key for keys in self._opened.values() if keys.in_memory}
        if self._ahead >= self._settings.ahead_seconds:
            in_memory = set()
        taken = self._queue.take(self.name, [*in_memory])
        if taken is not None:
            _, job = taken
            self._ahead = self._ahead + job.predicted_seconds if job.key_id in in_memory else 0.0
        return taken

    def run(self, lease: Lease, job: Job, stop: threading.Event) -> None:
        """Run a job that was taken."""
        began = perf_counter()
        LOG.info(
            "job started", extra={"job": job.id, "fence": lease.fence, "program": job.program_id}
        )
        with Heartbeat(self._queue, lease, stop, self._settings.lease_seconds / 5) as heartbeat:
            try:
                with run_of(job.id, job.model, job.version, job.traceparent) as run:
                    answer = self._answer(job, heartbeat, run)
            except BaseException as error:
                self._give_up(lease, job, error)
                if not isinstance(error, Exception):
                    raise
                return
            name = f"answers/{job.id}.{lease.fence}"
            self._insist(lambda: self._store.put(name, answer))
            seconds = perf_counter() - began
            accepted = self._insist(lambda: self._queue.finish(lease, name, len(answer), seconds))
        if not accepted:
            LOG.warning("answer dropped: the job was taken away", extra={"job": job.id})
            self._store.delete(name)
            return
        LOG.info("job done", extra={"job": job.id, "seconds": round(seconds, 3)})
        self._store.delete(job.query_blob)
        self._store.delete(job.checkpoint_blob)

    def _answer(self, job: Job, heartbeat: Heartbeat, run: Run) -> bytes:
        program = self._program(job.program)
        query = program.query(self._store.read(job.query_blob))
        keys = self._opened_keys(job, program)
        last = monotonic()

        def save(checkpoint: bytes) -> None:
            nonlocal last
            if heartbeat.lost or (
                not heartbeat.stopping and monotonic() - last < BETWEEN_CHECKPOINTS
            ):
                return
            try:
                self._store.put(job.checkpoint_blob, checkpoint)
            except (FullError, StoreError) as error:  # the run itself needs no checkpoint
                LOG.warning("no checkpoint: %s", error, extra={"job": job.id})
            last = monotonic()

        def progress(layer: str, done: float, total: float) -> bool:
            run.enter_layer(layer)
            return heartbeat.progress(layer, done, total)

        with program.reserved(keys_are_loaded=True):
            try:
                checkpoint = self._store.read(job.checkpoint_blob)
            except MissingBlobError:
                checkpoint = None
            prepared = program.prepare(checkpoint=checkpoint, saving=True)
            return prepared(keys, query, progress, save).to_bytes()

    def _give_up(self, lease: Lease, job: Job, error: BaseException) -> None:
        """Put a job back, or fail it, after an error."""
        if isinstance(error, StoppedError):
            LOG.info("job stopped", extra={"job": job.id})
            self._insist(lambda: self._queue.give_back(lease))
            return
        if isinstance(error, FormatError) and self._has_checkpoint(job):
            LOG.warning("checkpoint refused: %s", error, extra={"job": job.id})
            self._store.delete(job.checkpoint_blob)
            self._insist(lambda: self._queue.give_back(lease))
            return
        if isinstance(error, (*AWAY, BudgetError)) and can_retry(error):
            LOG.warning("job waits: %s", error, extra={"job": job.id})
            self._insist(lambda: self._queue.give_back(lease, seconds=LATER))
            return
        known = isinstance(error, PalladionError)
        LOG.error("job failed", extra={"job": job.id}, exc_info=None if known else error)
        self._insist(lambda: self._queue.fail(lease, error))
        self._store.delete(job.query_blob)

    def _has_checkpoint(self, job: Job) -> bool:
        try:
            self._store.read(job.checkpoint_blob)
        except PalladionError:
            return False
        return True

    def _insist(self, act: Callable[[], Result]) -> Result:
        """Do what database or store must accept, and try again while they are away or full."""
        end = monotonic() + PATIENCE
        while True:
            try:
                return act()
            except AWAY as error:
                if monotonic() > end:
                    raise
                LOG.warning("%s: trying again", error)
                sleep(LATER)

    def _program(self, digest: str) -> CompiledModel:
        if digest not in self._programs:
            self._programs[digest] = CompiledModel.load(self._store.file(f"programs/{digest}"))
        self._programs.move_to_end(digest)
        while len(self._programs) > PROGRAMS:
            self._programs.popitem(last=False)
        return self._programs[digest]

    def _opened_keys(self, job: Job, program: CompiledModel) -> _native.EvaluationKeys:
        cover = self._keys.cover(job.tenant, job.key_id, program.terms)
        if cover.missing_keys:
            raise MissingKeyError(f"{cover.missing_keys} of the evaluation keys that the program "
                                  f"needs are not there any more, {size(cover.missing_bytes)}: "
                                  "upload them again")  # fmt: skip
        digests = [file.digest for file in cover.files]
        chosen = (job.program, job.tenant, *digests)
        # For every job: keys that have left the memory are read from these files again.
        paths = [self._store.file(key_blob(job.tenant, digest)) for digest in digests]
        if chosen not in self._opened:
            self._opened[chosen] = program.open_keys(*paths)
        self._opened.move_to_end(chosen)
        while len(self._opened) > OPENED:
            self._opened.popitem(last=False)[1].release()
        if monotonic() - self._marked.get(chosen, -MARK_EACH) >= MARK_EACH:
            self._keys.mark_used(job.tenant, digests)
            self._marked[chosen] = monotonic()
        return self._opened[chosen]
