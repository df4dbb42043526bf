"""A worker whose store is full, or has a checkpoint that is damaged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from palladion.client import Client
from palladion.service.assembly import Parts, assemble
from palladion.service.blobs.folder import Folder
from palladion.service.blobs.store import FullError
from palladion.service.jobs.job import Job, query_blob
from palladion.service.jobs.queue import Request, new_identity
from palladion.service.keys.uploads import Upload
from palladion.service.settings import Settings
from palladion.service.worker import worker
from palladion.service.worker.calls import Calls
from palladion.service.worker.worker import Worker

from tests.service.conftest import Linear


class NearlyFull(Folder):
    """A store that takes no checkpoint, and an answer at the third attempt."""

    attempts = 0

    def put(self, name: str, data: bytes) -> None:
        """Store, or refuse."""
        self.attempts += name.startswith("answers/")
        if name.startswith("checkpoints/") or self.attempts in (1, 2):
            raise FullError(f"no space for {name}")
        super().put(name, data)


class Ready:
    """A service with a job that nobody has taken."""

    def __init__(self, parts: Parts, small: Linear, folder: Path) -> None:
        self.parts = parts
        parts.models.refresh()
        self.version = parts.models.catalogue.version("linear")
        self.client = Client.generate(self.version.terms)
        self.tenant = parts.tenants.add("one")
        self.client.write_keys(folder / "keys")
        keys = (folder / "keys").read_bytes()
        upload = parts.uploads.open(self.tenant, hashlib.sha256(keys).hexdigest(), len(keys))
        assert isinstance(upload, Upload)
        parts.uploads.add(self.tenant, upload.id, 0, keys, hashlib.sha256(keys).digest())
        parts.uploads.complete(self.tenant, upload.id)
        self.query = self.client.encrypt(small.x[:1])
        data, name = self.query.to_bytes(), new_identity()
        parts.store.put(query_blob(name), data)
        self.job = parts.queue.submit(Request(
            name, self.tenant, self.version, name, self.client.key_id,
            self.query.hash().hex(), len(data),
        ))  # fmt: skip

    def run(self, store: Folder) -> Job:
        """Have a worker with a store take the job until it has ended."""
        parts = self.parts
        own = Worker("test", parts.settings, parts.queue, parts.keys, store)
        job = self.job
        while job.active:
            taken = parts.queue.take("test")
            assert taken is not None
            own.run(*taken, Calls().stop)
            job = parts.queue.get(self.tenant, self.job.id)
        return job

    def check(self, job: Job, small: Linear) -> None:
        """Check that a job has the model's answer."""
        assert job.answer is not None
        found = self.client.decrypt(self.parts.store.read(job.answer), self.query)
        np.testing.assert_array_equal(found.integers, small.model.predict(small.x[:1]).integers)


@pytest.fixture
def ready(small: Linear, tmp_path: Path) -> Iterator[Ready]:
    """A service with a job that nobody has taken."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    parts = assemble(Settings(programs=tmp_path / "models", data=tmp_path / "data"))
    yield Ready(parts, small, tmp_path)
    parts.database.close()


def test_a_full_disk_costs_no_job(
    ready: Ready, small: Linear, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(worker, "LATER", 0.01)
    store = NearlyFull(ready.parts.settings.data / "blobs")
    job = ready.run(store)
    assert job.state == "done"
    assert store.attempts == 3
    ready.check(job, small)


def test_a_damaged_checkpoint_is_dropped(ready: Ready, small: Linear) -> None:
    ready.parts.store.put(ready.job.checkpoint_blob, b"PALLADIO" + bytes(50))
    assert isinstance(ready.parts.store, Folder)
    job = ready.run(ready.parts.store)
    assert job.state == "done"
    assert job.fence == 2
    ready.check(job, small)
