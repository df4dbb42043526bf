"""A service while the clock of its machine jumps, and while its disk fills."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import httpx
import numpy as np
import pytest
from palladion.remote.service import RemoteJob

from tests.service.conftest import Linear, Running

DAY = 86_400
DISK = 48_000_000


def service(small: Linear, folder: Path, data: Path, **settings: object) -> Running:
    """A service that is not started yet."""
    (folder / "models").mkdir()
    (folder / "models" / "linear.program").write_bytes(small.program.read_bytes())
    return Running(data, folder / "models", {"lease_seconds": 2, "attempts": 100, **settings})


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the seconds by which the clock of the day is wrong in processes started now."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a clock that jumps needs Linux and a C compiler")
    library, offset = tmp_path / "clock.so", tmp_path / "jump"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    offset.write_text("0")
    monkeypatch.setenv("JUMP", str(offset))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    words = "import time; print(int(time.time()))"
    offset.write_text(str(10 * DAY))
    told = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True)
    offset.write_text("0")
    here = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True)
    assert 10 * DAY - 60 < int(told.stdout) - int(here.stdout) < 10 * DAY + 60
    return offset


def kill_worker(running: Running) -> None:
    """Kill a worker, and wait for the next one, which begins with the clock as it is then."""
    end = monotonic() + 30
    while not (workers := running.workers()):
        assert monotonic() < end, "no worker"
    os.kill(workers[0], signal.SIGKILL)
    while not set(running.workers()) - {workers[0]}:
        assert monotonic() < end, "no further worker"
        threading.Event().wait(0.05)


def test_a_clock_that_jumps_ends_no_job_and_no_answer(
    small: Linear, tmp_path: Path, clock: Path
) -> None:
    running = service(small, tmp_path, tmp_path / "data", answer_seconds=3600)
    running.start()
    expected = small.model.predict(small.x[:1]).integers
    with running.connect(tmp_path / "home") as client:
        model = client.model()
        model.upload_keys()
        jobs: list[RemoteJob] = []
        for offset in (0, 2 * DAY, -3 * DAY, 400 * DAY, 0):
            clock.write_text(str(offset))
            jobs += [model.submit(small.x[:1]) for _ in range(5)]
            kill_worker(running)
            jobs += [model.submit(small.x[:1]) for _ in range(5)]
            np.testing.assert_array_equal(jobs[-1].result().integers, expected)
        for job in jobs:
            np.testing.assert_array_equal(job.result().integers, expected)
        assert len({job.id for job in jobs}) == 50
    assert running.stop() == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("kept_free", [0, 8_000_000])
def test_a_disk_that_fills_under_load_loses_no_job(
    small: Linear, tmp_path: Path, disk: Path, kept_free: int
) -> None:
    """Requests are refused while it is full, also where the system itself refuses to write."""
    running = service(small, tmp_path, disk / "data", free_bytes=kept_free)
    running.start()
    expected = small.model.predict(small.x[:1]).integers
    with running.connect(tmp_path / "home") as client:
        model = client.model()
        model.upload_keys()
        jobs = [model.submit(small.x[:1]) for _ in range(3)]
        np.testing.assert_array_equal(jobs[-1].result().integers, expected)
        query = model.client.encrypt(small.x[:1]).to_bytes()
        statuses = set()
        with running.http() as http:
            for _ in range(3):
                with suppress(OSError), (disk / "other").open("wb", buffering=0) as other:
                    while True:
                        other.write(bytes(1_000_000))
                for _ in range(5):
                    reply = http.post("/v2/models/linear/jobs", content=query)
                    statuses.add(reply.status_code)
                    if reply.is_error:
                        check_refusal(reply)
                    threading.Event().wait(0.1)
                (disk / "other").unlink()
                for _ in range(3):
                    jobs.append(model.submit(small.x[:1]))
            for job in jobs:
                np.testing.assert_array_equal(job.result().integers, expected)
            listed = http.get("/v2/jobs?limit=1000").json()["jobs"]
            assert {job.id for job in jobs} <= {job["id"] for job in listed}
            assert http.get("/v2/health/live").is_success
    assert 507 in statuses, statuses
    assert statuses <= {202, 503, 507}
    assert running.stop() == 0


def check_refusal(reply: httpx.Response) -> None:
    """Check that a refusal says what is wrong and when to come back."""
    assert reply.headers["content-type"] == "application/problem+json", reply.text
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["detail"]
