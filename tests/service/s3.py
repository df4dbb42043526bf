"""A server of S3 for tests: versitygw, which keeps objects in a folder. Operators run it, too.

``go install github.com/versity/versitygw/cmd/versitygw@v1.8.0`` builds it. It was chosen because
it is one program of one registry and no imitation: it has multipart uploads, conditions, signatures
of version 4 and lists of its own. Of the others, MinIO and Garage come from no registry, and moto
and s3rver imitate in memory.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import pytest

BUCKET = "palladion"


def program() -> str:
    """The program. The test is skipped without it."""
    home = Path(os.environ.get("GOPATH", Path.home() / "go")) / "bin" / "versitygw"
    found = shutil.which("versitygw") or (str(home) if home.exists() else None)
    if found is None:
        pytest.skip("versitygw, a server of S3, is not installed: tests/service/s3.py says how")
    return found


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@dataclass
class Server:
    """A server with one empty bucket."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which its clients find it."""
        return {
            "AWS_ACCESS_KEY_ID": "palladion",
            "AWS_SECRET_ACCESS_KEY": "palladion-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
        }

    @property
    def bucket(self) -> Path:
        """The bucket's folder."""
        return self.folder / "data" / BUCKET

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.bucket.mkdir(parents=True, exist_ok=True)
        line = [program(), "--port", f"127.0.0.1:{self.port}", "--access", "palladion",
                "--secret", "palladion-secret", "--quiet",
                "posix", str(self.folder / "data")]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(line, stdout=log, stderr=log)
        end = monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert monotonic() < end, "it does not listen"
                sleep(0.05)

    def stop(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
