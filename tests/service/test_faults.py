"""Processes that die at any moment: no job is lost, answered wrongly, or answered twice."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from palladion import CompiledModel, Secret
from palladion.client import Client
from palladion.remote.service import RemoteJob, Service
from palladion.remote.uploading import upload
from palladion.service.assembly import open_store
from palladion.service.settings import Settings
from palladion.support.records import Json

from tests.conftest import Halves
from tests.service.conftest import Linear, Running
from tests.service.s3 import BUCKET

MANY = pytest.mark.long
"""Fifty deaths take minutes."""


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """Deaths in the test of short jobs."""
    return 12 if request.node.get_closest_marker("long") is None else 50


@pytest.fixture(
    params=[
        "sqlite, folder",
        pytest.param("sqlite, folder", marks=MANY),
        pytest.param("postgresql, s3", marks=MANY),
    ]
)
def state(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Json:
    """The settings of a database and a store."""
    if request.param == "sqlite, folder":
        return {}
    database = request.getfixturevalue("postgres")
    store = request.getfixturevalue("s3")
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return {"database": database.new(), "store": f"s3://{BUCKET}"}


@pytest.fixture
def running(small: Linear, tmp_path: Path, state: Json) -> Iterator[Running]:
    """A service that loses its workers quickly, and gives a job many of them."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    settings = {"lease_seconds": 2, "attempts": 1000, "workers": 2, "threads": 1,
                "limits__requests_per_minute": 100_000, **state}  # fmt: skip
    found = Running(tmp_path / "data", tmp_path / "models", settings)
    found.start()
    yield found
    assert found.stop() == 0


class Killer(threading.Thread):
    """Kills a worker, or the whole service, at random moments."""

    def __init__(self, running: Running, kills: int, longest: float) -> None:
        super().__init__(daemon=True)
        self._running = running
        self._kills = kills
        self._longest = longest
        self._random = random.Random(1)
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Kill."""
        try:
            for number in range(self._kills):
                threading.Event().wait(self._random.uniform(0.05, self._longest))
                if number % 4 == 3:
                    self._running.kill()
                    self._running.start()
                else:
                    self._kill_a_worker()
        except BaseException as error:
            self.fault = error

    def _kill_a_worker(self) -> None:
        end = monotonic() + 30
        while not (workers := self._running.workers()):
            assert monotonic() < end, "no worker was started again"
        os.kill(self._random.choice(workers), signal.SIGKILL)


def test_short_jobs_survive_deaths(
    running: Running, small: Linear, tmp_path: Path, kills: int
) -> None:
    killer = Killer(running, kills, 1.0)
    expected = small.model.predict(small.x[:1]).integers
    with running.connect(tmp_path / "home") as client:
        model = client.model()
        model.upload_keys()
        killer.start()
        jobs: list[RemoteJob] = []
        while killer.is_alive() or len(jobs) <= 20:
            if len(jobs) < 900:  # a list of jobs has at most 1,000
                jobs.append(model.submit(small.x[:1]))
        assert killer.fault is None
        for job in jobs:
            np.testing.assert_array_equal(job.result().integers, expected)
        assert len({job.id for job in jobs}) == len(jobs)
        told = client._session.json("GET", "/v2/jobs?limit=1000")["jobs"]
        assert {job["id"] for job in told} == {job.id for job in jobs}
        assert all(job["state"] == "done" for job in told)
    found = open_store(Settings(data=running.folder, store=running.settings.get("store", "")))
    # Those of dead workers are swept later.
    assert len([*found.names("answers")]) >= len(jobs)


def test_a_long_job_goes_on_from_its_checkpoint(halves: Halves, tmp_path: Path) -> None:
    """A worker is asked to end in the middle of MNIST, and another one is killed."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mnist.program").write_bytes(halves.program.read_bytes())
    # On one thread, so that the job is not done before its worker is asked to end: progress is told
    # every 0.4 s.
    settings = {"lease_seconds": 2, "threads": 1}
    running = Running(tmp_path / "data", tmp_path / "models", settings)
    running.start()
    program = CompiledModel.load(halves.program)
    secret = Secret.load(halves.secret)
    with running.connect(tmp_path / "home", secret=secret) as client:
        upload(client._session, halves.evaluation)
        model = client.model()
        query = Client.of(program.terms, secret).query(halves.query.read_bytes())
        job = model._submit(query)
        wait_for(client, job, 0.3)
        assert running.stop() == 0
        assert [*(running.folder / "blobs" / "checkpoints").iterdir()]
        running.start()
        begun = wait_for(client, job, 0.3)
        assert begun >= 0.3
        (worker,) = running.workers()
        os.kill(worker, signal.SIGKILL)
        found = job.result()
    assert found.integers is not None
    assert any("worker died" in line for line in running.log)
    assert running.stop() == 0
    ours = program.run(program.open_keys(halves.evaluation), query)
    expected = model.client.decrypt(ours, query).integers
    np.testing.assert_array_equal(found.integers, expected)


def wait_for(client: Service, job: RemoteJob, share: float) -> float:
    """Wait until a share of a job is done. Returns the share that was seen first as it ran."""
    first, end = None, monotonic() + 120
    while monotonic() < end:
        state = client._session.json("GET", f"/v2/jobs/{job.id}")
        assert state["state"] in ("queued", "running"), state
        if state["state"] == "running":
            first = state["done"] if first is None else first
            if state["done"] >= share:
                return float(first)
        threading.Event().wait(0.05)
    raise AssertionError("it did not run")
