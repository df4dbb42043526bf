"""Removes what nobody needs any more: old jobs, uploads and keys, and blobs that a crash left."""

from __future__ import annotations

from palladion.service.blobs.store import Store
from palladion.service.jobs.job import ACTIVE, query_blob
from palladion.service.jobs.queue import Queue
from palladion.service.keys.stored import Keys
from palladion.service.keys.uploads import Uploads


class Sweeper:
    """Sweeps from time to time. A blob comes before the row that names it, so one without a row
    goes at the second sweep that finds it."""

    def __init__(self, queue: Queue, keys: Keys, uploads: Uploads, store: Store) -> None:
        self._queue = queue
        self._keys = keys
        self._uploads = uploads
        self._store = store
        self._suspects: set[str] = set()

    def sweep(self) -> None:
        """Remove what is over."""
        for job in self._queue.expire():
            for name in (job.answer, job.query_blob, job.checkpoint_blob):
                if name is not None:
                    self._store.delete(name)
        self._keys.expire()
        self._uploads.expire()
        orphans = self._orphans()
        for name in orphans & self._suspects:
            self._store.delete(name)
        self._suspects = orphans - self._suspects

    def _orphans(self) -> set[str]:
        """Blobs that no row names."""
        named = {
            prefix: {*self._store.names(prefix)}
            for prefix in ("queries", "checkpoints", "answers", "keys", "uploads")
        }
        ids = {
            name.split("/")[1].partition(".")[0]
            for prefix in ("queries", "checkpoints", "answers")
            for name in named[prefix]
        }
        states = self._queue.states(ids)
        wanted: set[str] = set()
        for job in states.values():
            if job.state in ACTIVE:
                wanted |= {query_blob(job.id), job.checkpoint_blob}
                # An answer comes before the row that names it.
                wanted |= {name for name in named["answers"] if job.id in name}
            if job.answer is not None:
                wanted.add(job.answer)
        wanted |= self._keys.blobs()
        alive = self._uploads.ids()
        wanted |= {name for name in named["uploads"] if name.split("/")[1] in alive}
        return {name for names in named.values() for name in names} - wanted
