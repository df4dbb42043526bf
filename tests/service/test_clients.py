"""Clients that are slow, many, or no clients at all: the others are served all the same."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic

import httpx
import pytest
from palladion.service.front.head_timeout import HEAD_SECONDS

from tests.service.conftest import Linear, Running


@pytest.fixture(scope="module")
def target(small: Linear, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service without workers."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "models").mkdir()
    (folder / "models" / "linear.program").write_bytes(small.program.read_bytes())
    running = Running(folder / "data", folder / "models", {"workers": 0})
    running.start()
    yield running
    assert running.stop() == 0
    assert not [event for event in running.events() if event["level"] == "error"]


def connected(service: Running, stack: ExitStack) -> socket.socket:
    """A bare connection."""
    url = httpx.URL(service.url)
    assert url.port is not None
    return stack.enter_context(closing(socket.create_connection((url.host, url.port), 30)))


def answer(service: Running, *pieces: bytes) -> bytes:
    """The response to bytes, until the service closes the connection."""
    with ExitStack() as stack:
        raw = connected(service, stack)
        found = b""
        try:
            for piece in pieces:
                raw.sendall(piece)
            while data := raw.recv(1 << 16):
                found += data
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was closed while we were still sending
        return found


def slowest(service: Running, seconds: float) -> float:
    """The longest time of a request, over some seconds."""
    longest, end = 0.0, monotonic() + seconds
    with service.http() as http:
        while monotonic() < end:
            began = monotonic()
            assert http.get("/v2/models").status_code == 200
            longest = max(longest, monotonic() - began)
            threading.Event().wait(0.1)
    return longest


def is_open(raw: socket.socket) -> bool:
    """Whether the service still has the connection."""
    raw.setblocking(False)
    try:
        return raw.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("seconds", [3.0, pytest.param(HEAD_SECONDS + 4, marks=pytest.mark.long)])
def test_slow_clients_do_not_stop_others(target: Running, seconds: float) -> None:
    """A hundred connections, each a byte of a head in a second."""
    head = b"GET /v2/models HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * 100
    with ExitStack() as stack:
        slow = [connected(target, stack) for _ in range(100)]
        stop = threading.Event()

        def drip() -> None:
            at = 0
            while not stop.wait(1.0):
                for raw in slow:
                    try:
                        raw.send(head[at : at + 1])
                    except OSError:
                        continue
                at += 1

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        assert slowest(target, seconds) < 2.0
        stop.set()
        dripping.join()
        assert {is_open(raw) for raw in slow} == {seconds < HEAD_SECONDS}


def test_a_slow_body_does_not_stop_others(target: Running) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            raw = connected(target, stack)
            raw.sendall(
                b"POST /v2/models/linear/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
                b"Authorization: Bearer " + target.token.encode() + b"\r\n\r\nPALLADIO"
            )
        assert slowest(target, 2.0) < 2.0
    end = monotonic() + 20  # what they began goes when they have gone
    while [*(target.folder / "blobs" / "incoming").iterdir()]:
        assert monotonic() < end
        threading.Event().wait(0.1)


def test_oversized_heads(target: Running) -> None:
    for head in (
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /v2 HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"GET /v2 HTTP/1.1\r\nHost: x\r\n" + b"X: a\r\n" * 200_000 + b"\r\n",
        b"\0" * 1_000_000,
    ):
        found = answer(target, head)
        assert found == b"" or found.split()[1] in (b"400", b"431"), found[:100]


def test_bodies_that_are_no_bodies(target: Running) -> None:
    token = b"Authorization: Bearer " + target.token.encode() + b"\r\nConnection: close\r\n"
    post = b"POST /v2/uploads HTTP/1.1\r\nHost: x\r\n" + token
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    both = b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for status, pieces in (
        (b"400", (post + b"Content-Length: -1\r\n\r\n",)),
        (b"400", (post + b"Content-Length: 1, 2\r\n\r\nab",)),
        (b"400", (post + b"Transfer-Encoding: gzip\r\n\r\n",)),
        (b"400", (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",)),
        (b"413", (post + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 20)),
        (b"422", (post + both,)),
    ):
        found = answer(target, *pieces)
        assert found == b"" or found.split()[1] in (status, b"400", b"501"), found[:300]
        if status == b"413":
            assert b"413" in found


def test_compressed_bodies_are_refused(target: Running) -> None:
    bomb = gzip.compress(bytes(100_000_000))
    headers = {"content-encoding": "gzip", "content-digest": "sha-256=:" + "A" * 43 + "=:"}
    with target.http() as http:
        for path in ("/v2/models/linear/jobs", "/v2/models/linear/infer"):
            reply = http.post(path, content=bomb, headers=headers)
            assert reply.status_code == 400
            assert "compressed" in reply.json()["detail"]
        reply = http.put("/v2/uploads/x/parts/0", content=bomb, headers=headers)
        assert reply.status_code == 400
        small = gzip.compress(b'{"digest": "", "bytes": 1}')
        assert http.post("/v2/uploads", content=small, headers=headers).status_code in (400, 422)


def test_paths_lead_nowhere_else(target: Running, tmp_path: Path) -> None:
    token = b"Authorization: Bearer " + target.token.encode() + b"\r\nConnection: close\r\n\r\n"
    for path in (b"/../../../../etc/passwd", b"/..%2f..%2f..%2f..%2fetc%2fpasswd", b"//etc/passwd",
                 b"/v2/models/..%2f..%2f..%2fetc%2fpasswd/client", b"/%2e%2e/%2e%2e/etc/passwd",
                 b"/v2/keys/..%2fservice.sqlite", b"/v2/jobs/..%2f..%2fservice.sqlite/answer",
                 b"http://elsewhere/v2/jobs/../../x"):  # fmt: skip
        found = answer(target, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n" + token)
        assert b"root:" not in found
        assert b"SQLite format" not in found
        assert found.split()[1] in (b"400", b"404", b"405"), found[:300]


@pytest.mark.long
def test_more_connections_than_it_takes(target: Running) -> None:
    """Beyond a thousand, new ones are told to come back. When the others leave, all is well."""
    with ExitStack() as stack:
        for _ in range(1000):
            connected(target, stack)
        with target.http() as http:
            assert http.get("/v2/health/live").status_code == 503
    end = monotonic() + 20
    while True:
        with target.http() as http:
            if http.get("/v2/health/live").status_code == 200:
                return
        assert monotonic() < end
