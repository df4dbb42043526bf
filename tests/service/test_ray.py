"""Workers as actors of Ray: two nodes on this machine, of which one is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import palladion
import psutil
import pytest
from palladion import CompiledModel, Secret
from palladion.client import Client
from palladion.remote.uploading import upload

from tests.conftest import Halves
from tests.service.conftest import Linear, Running

pytest.importorskip("ray", reason="Ray is not installed: pip install 'palladion[ray]'")
pytestmark = pytest.mark.long


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes with a core each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("python", os.environ.get("PYTHONPATH", ""))))
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.add_node(num_cpus=1)
    yield found
    found.shutdown()


def started(cluster: Any, folder: Path, program: Path) -> Running:
    """A service with two workers on a cluster."""
    (folder / "models").mkdir()
    (folder / "models" / "model.program").write_bytes(program.read_bytes())
    settings = {"ray": cluster.address, "workers": 2, "threads": 1, "lease_seconds": 3,
                "attempts": 100, "key_memory_bytes": 1_000_000_000}  # fmt: skip
    running = Running(folder / "data", folder / "models", settings)
    running.start()
    return running


def actors() -> list[psutil.Process]:
    """The processes of workers."""
    return [process for process in psutil.process_iter(["cmdline"])
            if "WorkerActor" in " ".join(process.info["cmdline"] or [])]  # fmt: skip


def test_jobs_survive_the_death_of_workers(cluster: Any, small: Linear, tmp_path: Path) -> None:
    running = started(cluster, tmp_path, small.program)
    expected = small.model.predict(small.x[:1]).integers
    with running.connect(tmp_path / "home") as client:
        model = client.model()
        model.upload_keys()
        jobs, deaths, end = [], 0, monotonic() + 120
        while deaths < 20:
            assert monotonic() < end, "workers were not started again"
            jobs.append(model.submit(small.x[:1]))
            for process in actors()[:1]:
                process.send_signal(signal.SIGKILL)
                deaths += 1
            threading.Event().wait(0.5)
        for job in jobs:
            np.testing.assert_array_equal(job.result().integers, expected)
    assert running.stop() == 0


def test_jobs_survive_the_death_of_a_node(cluster: Any, halves: Halves, tmp_path: Path) -> None:
    """Six runs of MNIST, of which some are under way on a node that dies."""
    running = started(cluster, tmp_path, halves.program)
    program, secret = CompiledModel.load(halves.program), Secret.load(halves.secret)
    with running.connect(tmp_path / "home", secret=secret) as client:
        upload(client._session, halves.evaluation)
        model = client.model()
        query = Client.of(program.terms, secret).query(halves.query.read_bytes())
        jobs = [model._submit(query) for _ in range(6)]
        end = monotonic() + 120
        while sum(job["state"] == "running" for job in client.jobs()) < 2:
            assert monotonic() < end, "no two workers run"
            threading.Event().wait(0.1)
        (node,) = (node for node in cluster.worker_nodes)
        cluster.remove_node(node, allow_graceful=False)
        found = [job.result().integers for job in jobs]
    assert running.stop() == 0
    for integers in found[1:]:
        np.testing.assert_array_equal(integers, found[0])


def test_an_evaluation_is_spread_and_survives_the_death_of_a_node(
    cluster: Any, tmp_path: Path
) -> None:
    sample = palladion.mnist_sample()
    np.savez(tmp_path / "test.npz", x=sample.images[:8, None] / 255, y=sample.labels[:8])
    # The packaged network could be through before the node dies.
    network = Path(__file__).parents[2] / "models" / "mnist_w7a7.json"
    line = ["evaluate", "--network", network, "--data", tmp_path / "test.npz", "--count", 8,
            "--encrypted", 8, "--batch", 1, "--ray", cluster.address, "--cores", 1,
            "--json"]  # fmt: skip
    command = subprocess.Popen([sys.executable, "-m", "palladion.cli", *map(str, line)],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    threading.Event().wait(20)
    (node,) = (node for node in cluster.worker_nodes)
    cluster.remove_node(node, allow_graceful=False)
    out, _ = command.communicate(timeout=900)
    assert command.returncode == 0
    encrypted = json.loads(out)["encrypted"]
    assert (encrypted["images"], encrypted["correct"], encrypted["exceptions"]) == (8, 8, 0)
