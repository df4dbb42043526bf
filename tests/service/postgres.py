"""A server of PostgreSQL for tests, of Debian's package ``postgresql`` or any other."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from tests.service.s3 import free_port

USER = "palladion"


def programs() -> Path:
    """The folder of its programs. The test is skipped without it."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *map(Path, os.get_exec_path())]
    for folder in folders:
        if all((folder / name).exists() for name in ("initdb", "pg_isready", "postgres")):
            return folder
    pytest.skip("PostgreSQL is not installed: `apt-get install postgresql` brings it")


def unprivileged() -> dict[str, Any]:
    """Options of a process that runs as another user: PostgreSQL refuses root."""
    if os.geteuid():
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@dataclass
class Postgres:
    """A server with databases that tests make."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="palladion-pg-")))
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    count: int = 0

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = unprivileged()
        if options:
            os.chown(self.folder, options["user"], options["group"])
        data, log = self.folder / "data", (self.folder / "log").open("ab")
        with log:
            if not data.exists():
                words = [programs() / "initdb", "-D", data, "-U", USER, "--auth=trust", "--no-sync"]
                subprocess.run(
                    [*map(str, words)], check=True, stdout=log, stderr=log, cwd="/", **options
                )
            line = [programs() / "postgres", "-D", data, "-p", self.port, "-h", "127.0.0.1",
                    "-k", "", "-F"]  # fmt: skip
            self.process = subprocess.Popen(
                [*map(str, line)], stdout=log, stderr=log, cwd="/", **options
            )
        ready = [str(programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        end = monotonic() + 60
        while subprocess.run(ready).returncode:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert monotonic() < end, "it does not answer"
            sleep(0.05)

    def stop(self) -> None:
        """Stop it at once. Transactions under way fail."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)

    def url(self, database: str) -> str:
        """The URL of a database."""
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/{database}"

    def new(self) -> str:
        """The URL of a new, empty database."""
        self.count += 1
        name = f"test{self.count}"
        engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)

    def remove(self) -> None:
        """Stop it, and remove its files."""
        self.stop()
        shutil.rmtree(self.folder)
