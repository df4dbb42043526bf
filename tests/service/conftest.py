"""Fixtures: a service as its operator starts it, and programs for it."""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import palladion
import pytest
from palladion.remote.service import Service
from palladion.support.records import Json

from tests.service.postgres import Postgres
from tests.service.s3 import Server
from tests.test_manifest import dense

PREFIX = "PALLADION_SERVE_"


@dataclass
class Running:
    """A service in processes of its own."""

    folder: Path
    """Its folder of data."""
    models: Path
    """Its folder of programs."""
    settings: Json = field(default_factory=dict)
    url: str = ""
    token: str = ""
    log: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None
    reader: threading.Thread | None = None

    def start(self) -> None:
        """Start it, and wait until models are ready."""
        line = [sys.executable, "-m", "palladion.cli", "serve", str(self.models)]
        port = re.sub(r".*:", "", self.url) or "0"
        environment = {**os.environ, **{PREFIX + name.upper(): str(value)
                                        for name, value in self.settings.items()}}  # fmt: skip
        self.process = subprocess.Popen(
            [*line, "--data", str(self.folder), "--port", port],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        atexit.register(self._leave_nothing)
        assert self.process.stderr is not None
        for text in self.process.stderr:
            words = text.strip()
            if words.startswith("palladion_"):
                self.token = words
            self.log.append(words)
            if words.startswith("http://"):
                self.url = words
                break
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()
        self.wait_until_ready()

    def _drain(self) -> None:
        assert self.process is not None
        assert self.process.stderr is not None
        self.log.extend(line.strip() for line in self.process.stderr)

    def wait_until_ready(self) -> None:
        """Wait until models can be run."""
        retrying = httpx.HTTPTransport(retries=20)
        with httpx.Client(transport=retrying, timeout=60) as client:
            for _ in range(600):
                assert self.process is not None
                assert self.process.poll() is None, "\n".join(self.log)
                try:
                    if client.get(f"{self.url}/v2/health/ready").is_success:
                        return
                except httpx.HTTPError:
                    pass
                threading.Event().wait(0.1)
        raise AssertionError("\n".join(self.log))

    def workers(self) -> list[int]:
        """Process numbers of the workers."""
        return self._children(b"service.worker")

    def sessions(self) -> list[int]:
        """Process numbers of the sessions."""
        return self._children(b"service.sessions.process")

    def _children(self, module: bytes) -> list[int]:
        children = Path(f"/proc/{self._number}/task/{self._number}/children").read_text()
        numbers = []
        for number in map(int, children.split()):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                if module in Path(f"/proc/{number}/cmdline").read_bytes():
                    numbers.append(number)
        return numbers

    def kill(self) -> None:
        """Kill the service and its workers, as a loss of power does."""
        for number in [self._number, *self.workers()]:
            os.kill(number, signal.SIGKILL)
        self._ended()

    def _leave_nothing(self) -> None:
        """Kill what a test that failed left running."""
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def stop(self) -> int:
        """End it as an operator does."""
        assert self.process is not None
        self.process.terminate()
        return self._ended()

    def _ended(self) -> int:
        assert self.process is not None
        assert self.process.stderr is not None
        assert self.reader is not None
        status = self.process.wait(timeout=60)
        self.reader.join()
        self.process.stderr.close()
        return status

    @property
    def _number(self) -> int:
        assert self.process is not None
        return self.process.pid

    def connect(self, home: Path, token: str | None = None, **options: Any) -> Service:
        """A client, whose secret is in ``home``."""
        return palladion.connect(self.url, token or self.token, home=home, **options)

    def http(self, token: str | None = None) -> httpx.Client:
        """A bare connection with a token."""
        headers = {"authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def tenant(self, name: str, *options: str) -> str:
        """Add a tenant as an operator does. Returns its token."""
        line = [sys.executable, "-m", "palladion.cli", "tenants", "--data", str(self.folder), "add"]
        done = subprocess.run([*line, name, *options], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def events(self) -> list[Json]:
        """The lines of the log."""
        return [json.loads(line) for line in self.log if line.startswith("{")]


@dataclass(frozen=True)
class Linear:
    """A small model and some of its inputs."""

    model: palladion.Model
    program: Path
    x: np.ndarray[Any, np.dtype[np.float32]]


def linear(folder: Path, seed: int) -> Linear:
    """A program of a linear model of four features."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 4)).astype(np.float32)
    model = palladion.Model.from_onnx(dense(seed), calibrate=x)
    path = folder / f"linear-{seed}.program"
    model.compile(batch=2).save(path)
    return Linear(model, path, x)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of PostgreSQL."""
    server = Postgres()
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of S3."""
    server = Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, of each kind; empty for SQLite, whose file is in the folder of
    data."""
    if request.param == "sqlite":
        return ""
    server = request.getfixturevalue("postgres")
    assert isinstance(server, Postgres)
    return server.new()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Linear:
    """A small model."""
    return linear(tmp_path_factory.mktemp("small"), 1)


@pytest.fixture(scope="module")
def service(small: Linear, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of a small model in two versions."""
    folder = tmp_path_factory.mktemp("service")
    models = folder / "models"
    (models / "linear").mkdir(parents=True)
    other = linear(folder, 2)
    (models / "linear" / "1.program").write_bytes(small.program.read_bytes())
    (models / "linear" / "2.program").write_bytes(other.program.read_bytes())
    (models / "broken.program").write_bytes(b"PALLADIO" + bytes(100))
    settings = {"models": json.dumps({"linear": {"version": "1"}}), "part_bytes": 1_000_000}
    running = Running(folder / "data", models, settings)
    running.start()
    yield running
    assert running.stop() == 0
