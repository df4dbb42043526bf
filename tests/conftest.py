"""Fixtures: the command as users start it, and keys made once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from palladion.cli import main
from PIL import Image

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def command() -> Command:
    """Run ``palladion`` with arguments, in a process of its own."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "palladion.cli", *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)

    return run


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it wrote."""

    status: int
    out: str
    err: str


Say = Callable[..., Said]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run the command in this process, as its script does."""

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["palladion", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        found = capsys.readouterr()
        return Said(int(ended.value.code or 0), found.out, found.err)

    return run


def failure(out: str) -> dict[str, Any]:
    """The error that a command printed as JSON: its only line."""
    (line,) = out.splitlines()
    found: dict[str, Any] = json.loads(line)
    assert found.keys() == {"error"}
    error: dict[str, Any] = found["error"]
    assert error.keys() == {"kind", "status", "retry", "message"}
    return error


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """A command failed as it should: a status for its kind, no result, a clear word, no
    traceback.
    """
    assert 2 <= result.returncode <= 8, result
    if result.stdout:
        error = failure(result.stdout)
        assert error["status"] == result.returncode
        assert error["message"] in result.stderr
    assert "Traceback" not in result.stderr
    assert "panicked" not in result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


@dataclass(frozen=True)
class Halves:
    """The files that keygen and encrypt wrote: the client's folder and the server's."""

    client: Path
    server: Path

    @property
    def secret(self) -> Path:
        return self.client / "secret.key"

    @property
    def terms(self) -> Path:
        """The file of the program's terms, which the client has."""
        return self.client / "program.client"

    @property
    def program(self) -> Path:
        return self.server / "program"

    @property
    def evaluation(self) -> Path:
        return self.server / "evaluation.key"

    @property
    def query(self) -> Path:
        return self.server / "query"

    @classmethod
    def folders(cls, root: Path) -> Halves:
        """Both folders, the client's empty."""
        (root / "client").mkdir()
        return cls(root / "client", root / "server")

    def encrypt(self, command: Command, picture: Path) -> None:
        """Move the secret key from keygen's folder to the client's, and encrypt a picture."""
        (self.server / "secret.key").rename(self.secret)
        sent = command(
            "encrypt", "--client", self.terms, "--secret", self.secret,
            "--output", self.query, picture,
        )  # fmt: skip
        assert sent.returncode == 0, sent.stderr


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first MNIST test image, a 7, as a PNG."""
    path = tmp_path_factory.mktemp("picture") / "seven.png"
    Image.fromarray(palladion.mnist_sample().images[0]).save(path)
    return path


@pytest.fixture(scope="session")
def halves(command: Command, picture: Path, tmp_path_factory: pytest.TempPathFactory) -> Halves:
    """Keys and one query, with the secret key in another folder than all that the server reads."""
    halves = Halves.folders(tmp_path_factory.mktemp("halves"))
    keygen = command("keygen", "--output", halves.server)
    assert keygen.returncode == 0, keygen.stderr
    (halves.server / "program.client").rename(halves.terms)
    halves.encrypt(command, picture)
    return halves


@pytest.fixture(scope="module")
def quick_to_compile() -> Iterator[None]:
    """Programs of JAX are compiled with few optimisations. Others take longer than they save in
    tests. Integers are the same with any."""
    config: Any = pytest.importorskip("jax").config
    config.update("jax_disable_most_optimizations", True)
    yield
    config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2024)
