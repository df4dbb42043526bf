"""The contract of a store, for a folder and for S3."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from palladion.errors import UsageError
from palladion.service.assembly import open_store
from palladion.service.blobs.cache import Cache
from palladion.service.blobs.folder import Folder
from palladion.service.blobs.store import FullError, MissingBlobError, Store, StoreError
from palladion.service.problems import retry_after, status_of
from palladion.service.settings import Settings

from tests.service.conftest import Linear, Running
from tests.service.s3 import BUCKET, Server

MIB = 1 << 20

PATIENCE = timedelta(seconds=1)

# A writer in a process of its own: the folder or URL of a store, and a folder of copies.
OPEN = """
import sys
from datetime import timedelta
from pathlib import Path
from palladion.service.assembly import open_store
from palladion.service.settings import Settings
store = open_store(Settings(data=Path(sys.argv[1]), store=sys.argv[2]))
"""


@pytest.fixture
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that the test stops and starts."""
    server = Server(tmp_path / "s3")
    server.start()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def settings(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """The settings of an empty store."""
    if request.param == "folder":
        return Settings(data=tmp_path / "data")
    server = request.getfixturevalue("s3")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    url = f"s3://{BUCKET}/{request.node.name.partition('[')[0]}"
    return Settings(data=tmp_path / "data", store=url, cache_bytes=10 * MIB)


@pytest.fixture
def store(settings: Settings) -> Store:
    """An empty store."""
    return open_store(settings)


def all_names(store: Store) -> set[str]:
    """The names of all blobs."""
    return {name for prefix in ("keys", "queries", "uploads") for name in store.names(prefix)}


def run(settings: Settings, code: str) -> subprocess.Popen[bytes]:
    """Run code over a store of the same settings in a process of its own."""
    words = [sys.executable, "-c", OPEN + code, str(settings.data), settings.store]
    return subprocess.Popen(words, stdout=subprocess.PIPE)


@pytest.mark.parametrize("length", [0, 1, MIB, 16 * MIB, 40 * MIB + 1])
def test_a_blob_comes_back(store: Store, length: int) -> None:
    data = os.urandom(length)
    name = f"keys/tenant/{length}"
    store.put(name, data)
    assert store.read(name) == data
    assert store.file(name).read_bytes() == data
    with store.incoming() as file:
        file.write_bytes(data[::-1])
        store.move_in(f"{name}b", file)
    assert store.read(f"{name}b") == data[::-1]
    store.delete(name)
    with pytest.raises(MissingBlobError):
        store.read(name)
    with pytest.raises(MissingBlobError):
        store.file(name)
    store.delete(name)


def test_a_blob_is_replaced_as_a_whole(store: Store) -> None:
    """Readers see one content or the other while writers replace it."""
    contents = [bytes([number]) * (3 * MIB + number) for number in range(4)]
    store.put("checkpoints/job", contents[0])
    stop = threading.Event()

    def write(content: bytes) -> None:
        for _ in range(8):
            store.put("checkpoints/job", content)

    def read() -> int:
        count = 0
        while not stop.is_set():
            try:
                assert store.read("checkpoints/job") in contents
            except StoreError:  # it was replaced between two requests of one reader
                continue
            count += 1
        return count

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for writer in [pool.submit(write, content) for content in contents]:
            writer.result()
        stop.set()
        assert sum(reader.result() for reader in readers)


def test_names_are_those_beneath_a_prefix(store: Store) -> None:
    for name in ("queries/1", "queries/2", "queriesx/3", "uploads/a/0", "uploads/a/1"):
        store.put(name, b"x")
    assert {*store.names("queries")} == {"queries/1", "queries/2"}
    assert {*store.names("uploads")} == {"uploads/a/0", "uploads/a/1"}
    assert {*store.names("uploads/a")} == {"uploads/a/0", "uploads/a/1"}
    assert not [*store.names("answers")]


def test_two_stores_of_one_bucket_are_apart(s3: Server, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    one, two = (
        open_store(Settings(data=tmp_path / name, store=f"s3://{BUCKET}/{name}"))
        for name in ("one", "two")
    )
    one.put("queries/1", b"1")
    assert not [*two.names("queries")]
    with pytest.raises(MissingBlobError):
        two.read("queries/1")


def test_a_body_that_fails_leaves_nothing(store: Store) -> None:
    begun: list[Path] = []

    def fail() -> None:
        with store.incoming() as file:
            begun.append(file)
            file.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not begun[0].exists()
    assert not all_names(store)


def test_a_writer_that_is_killed_leaves_nothing(settings: Settings) -> None:
    store = open_store(settings)
    code = """
data = bytes(200_000_000)
with store.incoming() as file:
    file.write_bytes(data[:1000])
    print("begun", flush=True)
    for number in range(1000):
        file.write_bytes(data)
        store.move_in(f"keys/tenant/big{number}", file)
        file = file.with_name("again")
"""
    for seconds in (0.0, 0.3):
        writer = run(settings, code)
        assert writer.stdout is not None
        writer.stdout.readline()
        threading.Event().wait(seconds)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        for name in all_names(store):
            assert len(store.read(name)) == 200_000_000
            store.delete(name)
    again = open_store(settings)
    assert not [*settings.data.glob("*/incoming/*")]
    with again.incoming() as file:  # one that is written stays
        open_store(settings)
        assert file.exists()


def test_many_writers(settings: Settings) -> None:
    store = open_store(settings)
    code = """
import os
for number in range(20):
    store.put(f"queries/{os.getpid()}.{number}", str(number).encode() * 1000)
    store.put("queries/shared", b"the same")
"""
    writers = [run(settings, code) for _ in range(3)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert len([*store.names("queries")]) == 61
    for writer in writers:
        for number in range(20):
            data = store.read(f"queries/{writer.pid}.{number}")
            assert data == str(number).encode() * 1000


def fill(store: Store) -> None:
    """Write until the disk is full."""
    with store.incoming() as file, file.open("wb", buffering=0) as opened:
        while True:
            opened.write(bytes(MIB // 2 + 1))


def test_a_full_disk(settings: Settings) -> None:
    """A limit of the process stands for the disk: the system refuses the same writes."""
    store = open_store(settings)
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    store.put("keys/tenant/large", bytes(3 * MIB))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MIB, most[1]))
    try:
        with pytest.raises(FullError) as raised:
            fill(store)
        assert not [*settings.data.glob("*/incoming/*")]
        assert status_of(raised.value) == 507
        assert retry_after(raised.value)
        if settings.store:  # there is no room for a copy
            with pytest.raises(FullError):
                store.file("keys/tenant/large")
        else:
            with pytest.raises(FullError):
                store.put("queries/1", bytes(3 * MIB))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert not [*store.names("queries")]
    assert len(store.file("keys/tenant/large").read_bytes()) == 3 * MIB


def test_a_server_that_is_away(
    own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = own_server
    monkeypatch.setattr("palladion.service.blobs.s3.PATIENCE", PATIENCE)
    settings = Settings(data=tmp_path / "data", store=f"s3://{BUCKET}")
    store = open_store(settings)
    store.put("keys/tenant/1", b"keys")
    kept = store.file("keys/tenant/1")
    server.stop()
    for act in (
        lambda: store.put("queries/1", b"query"),
        lambda: store.read("keys/tenant/1"),
        lambda: [*store.names("queries")],
        lambda: store.delete("queries/1"),
        store.check,
    ):
        with pytest.raises(StoreError) as raised:
            act()
        assert status_of(raised.value) == 503
        assert retry_after(raised.value)
        assert "palladion-secret" not in str(raised.value)
    assert store.file("keys/tenant/1") == kept  # its copy is here
    server.start()
    assert store.read("keys/tenant/1") == b"keys"
    assert not [*store.names("queries")]


def test_wrong_settings_of_s3(s3: Server, tmp_path: Path,
                              monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match="404 Not Found; expected a bucket that is there"):
        open_store(Settings(data=tmp_path, store="s3://nowhere"))
    with pytest.raises(UsageError, match="expected s3://BUCKET/PREFIX"):
        open_store(Settings(data=tmp_path, store="s3:///prefix"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(StoreError) as raised:
        open_store(Settings(data=tmp_path, store=f"s3://{BUCKET}"))
    assert "another" not in str(raised.value)


def test_copies_leave_by_least_recent_use(settings: Settings) -> None:
    if not settings.store:
        pytest.skip("a folder has no copies")
    for number in range(1, 61):
        open_store(settings).put(f"keys/tenant/{number:02}", bytes(MIB))
    store = open_store(settings)
    first = store.file("keys/tenant/01")
    for number in range(2, 61):
        store.file(f"keys/tenant/{number:02}")
        assert store.file("keys/tenant/01") == first
        assert first.stat().st_size == MIB
    copies = {
        path.name for path in (settings.data / "cache" / "blobs").rglob("*") if path.is_file()
    }
    # Those in use stay beyond the budget of 10, and one was in use until the last one came.
    assert copies == {"01", *(f"{number:02}" for number in range(29, 61))}


def test_copies_that_another_process_uses_stay(tmp_path: Path) -> None:
    budget = 10

    def fetch(path: Path) -> None:
        path.write_bytes(bytes(4))

    one, two = Cache(tmp_path, budget), Cache(tmp_path, budget)
    held = one.file("keys/0", lambda: 4, fetch)
    for number in range(1, 40):
        two.file(f"keys/{number}", lambda: 4, fetch)
    assert held.exists()
    one.forget("keys/0")
    assert not held.exists()
    assert one.file("keys/0", lambda: 4, fetch) == held
    assert held.exists()


def test_a_folder_is_as_it_was(tmp_path: Path) -> None:
    Folder(tmp_path).put("keys/tenant/1", b"keys")
    assert (tmp_path / "keys" / "tenant" / "1").read_bytes() == b"keys"


@pytest.mark.long
def test_a_service_whose_store_is_away(small: Linear, own_server: Server, tmp_path: Path) -> None:
    """Requests are told to come back, and jobs end when the store is there again."""
    server = own_server
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "linear.program").write_bytes(small.program.read_bytes())
    running = Running(tmp_path / "data", tmp_path / "models", {"store": f"s3://{BUCKET}/x"})
    running.start()
    expected = small.model.predict(small.x[:1]).integers
    with running.connect(tmp_path / "home") as client, running.http() as http:
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:1]).to_bytes()
        jobs = [model.submit(small.x[:1]) for _ in range(10)]
        server.stop()
        for reply in (
            http.get("/v2/health/ready"),
            http.post("/v2/models/linear/jobs", content=query),
        ):
            assert reply.status_code == 503, reply.text
            assert int(reply.headers["retry-after"]) > 0
            assert "refuses" in reply.json()["detail"]
        server.start()
        jobs.append(model.submit(small.x[:1]))
        for job in jobs:
            np.testing.assert_array_equal(job.result().integers, expected)
    assert running.stop() == 0
