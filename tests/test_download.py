"""``palladion download`` from mirrors on this machine."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from palladion.cli import commands
from palladion.errors import DataError
from palladion.nn.datasets import cifar10, mnist
from palladion.support.fetch import fetch

from tests.conftest import Command, refused
from tests.test_mnist import idx

NOWHERE = "http://127.0.0.1:9/"  # the discard port: nobody listens


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Not on the tests' output."""


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address it is served at."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    handler = partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def sum_of(data: bytes, algorithm: str = "sha256") -> str:
    return hashlib.new(algorithm, data).hexdigest()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, ["download", *map(str, arguments)])


def refusal(result: Result) -> str:
    assert isinstance(result.exception, DataError), result.exception
    return str(result.exception)


@pytest.fixture
def digits(mirror: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A mirror of small files in MNIST's place; the official addresses lead nowhere."""
    folder, address = mirror
    for name in mnist.ARCHIVES:
        data = gzip.compress(idx(3, 28, 28) if "images" in name else idx(3))
        (folder / name).write_bytes(data)
        monkeypatch.setitem(mnist.ARCHIVES, name, (len(data), sum_of(data)))
    monkeypatch.setattr(mnist, "MIRRORS", (NOWHERE,))
    return address


def test_mnist(digits: str, tmp_path: Path) -> None:
    output = tmp_path / "new" / "mnist"
    result = run("mnist", "--output", output, "--mirror", digits, "--json")
    assert json.loads(result.stdout)["written"] == list(mnist.ARCHIVES)
    assert mnist.load(output, "train")[0].shape == (3, 28, 28)
    # With all files there no mirror is asked; a damaged one is fetched again.
    again = run("mnist", "--output", output)
    assert "all there already" in again.stdout
    damaged = output / "t10k-labels-idx1-ubyte.gz"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    result = run("mnist", "--output", output, "--mirror", digits)
    assert f"{damaged.name} written" in result.stdout
    assert mnist.load(output, "test")[1].tolist() == [0, 1, 2]


@pytest.fixture
def pictures(mirror: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A mirror of an archive in CIFAR-10's place."""
    folder, address = mirror
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for number, name in enumerate(cifar10.SHA1):
            data = bytes([number]) * cifar10.RECORD
            monkeypatch.setitem(cifar10.SHA1, name, sum_of(data, "sha1"))
            member = tarfile.TarInfo(f"{cifar10.FOLDER}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (folder / "c.tar.gz").write_bytes(packed.getvalue())
    entry = ("c.tar.gz", len(packed.getvalue()), sum_of(packed.getvalue()))
    monkeypatch.setattr(cifar10, "ARCHIVE", entry)
    monkeypatch.setattr(cifar10, "MIRRORS", (NOWHERE, address))
    return address


def test_cifar10_from_the_second_mirror(pictures: str, tmp_path: Path) -> None:
    output = tmp_path / "cifar"
    assert "test_batch.bin written" in run("cifar10", "--output", output).stdout
    assert cifar10.load(output, "test")[1].tolist() == [5]
    assert cifar10.load(output, "train")[1].tolist() == [0, 1, 2, 3, 4]
    assert sorted(p.name for p in output.iterdir()) == sorted(cifar10.SHA1)


def test_archive_with_another_file(
    pictures: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cifar10.SHA1, "test_batch.bin", "0" * 40)
    assert "another test_batch.bin" in refusal(run("cifar10", "--output", tmp_path / "cifar"))
    assert not list((tmp_path / "cifar").iterdir())


def test_reasons_of_every_mirror(mirror: tuple[Path, str]) -> None:
    folder, address = mirror
    data = b"content"
    (folder / "file").write_bytes(data)
    heard: list[tuple[int, int]] = []
    found = fetch("file", [NOWHERE, address], 7, sum_of(data), lambda *n: heard.append(n))
    assert (found, heard) == (data, [(7, 7)])
    for name, size, words in (
        ("none", 7, "404"),
        ("file", 8, "7 bytes, expected 8"),
        ("file", 6, "more than 6 bytes, expected 6"),
        ("file", 7, "expected " + sum_of(b"other")),
    ):
        with pytest.raises(DataError, match=f"cannot download {name}.*refused.*{words}"):
            fetch(name, [NOWHERE, address], size, sum_of(b"other"))
    with pytest.raises(DataError, match="http"):
        fetch("file", [f"file://{folder}/"], 7, sum_of(data))


def test_nothing_is_left_of_a_download_that_failed(digits: str, tmp_path: Path) -> None:
    output = tmp_path / "mnist"
    assert "127.0.0.1:9" in refusal(run("mnist", "--output", output))
    assert not list(output.iterdir())


def test_folder_that_cannot_be_made(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    refused(command("download", "mnist", "--output", tmp_path / "file" / "x"), "cannot make")
    refused(command("download", "imagenet", "--output", tmp_path), "imagenet")
