"""Hostile requests: each is refused with a problem, none is a fault, and nothing grows."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from palladion.support.records import Json

from tests.service.conftest import Linear, Running
from tests.service.postgres import Postgres

FAST, LONG = 60, 1000
"""Requests of each kind."""

amounts = pytest.mark.parametrize("amount", [FAST, pytest.param(LONG, marks=pytest.mark.long)])

GROWTH = 40_000_000
"""Bytes by which the front may grow over all requests of a test: caches fill, and buffers stay."""


@pytest.fixture(scope="module")
def target(
    small: Linear, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service without workers, over PostgreSQL, which is stricter than SQLite with texts."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "models").mkdir()
    (folder / "models" / "linear.program").write_bytes(small.program.read_bytes())
    limits = {"requests_per_minute": 1_000_000, "jobs": 10_000}
    settings = {"workers": 0, "part_bytes": 65_536, "largest_query_bytes": 1_000_000,
                "database": postgres.new(), "limits": json.dumps(limits)}  # fmt: skip
    running = Running(folder / "data", folder / "models", settings)
    running.start()
    yield running
    assert running.stop() == 0


@pytest.fixture
def steady(target: Running) -> Iterator[Running]:
    """The service, whose front must neither grow nor have a fault in its log."""
    assert target.process is not None
    front = psutil.Process(target.process.pid)
    with target.http() as http:
        for _ in range(50):
            http.get("/v2/models/linear")
    before, files = front.memory_info().rss, front.num_fds()
    yield target
    assert front.memory_info().rss - before < GROWTH
    assert front.num_fds() < files + 50
    assert not [event for event in target.events() if event["level"] == "error"]
    with target.http() as http:
        assert http.get("/v2/health/ready").status_code == 200


def check(reply: httpx.Response) -> None:
    """A response is a success, or a problem that is the client's."""
    status, kind = reply.status_code, reply.headers.get("content-type", "")
    assert status < 500, f"{reply.request.method} {reply.request.url} {status}: {reply.text}"
    if status >= 400 and reply.request.method != "HEAD":
        assert kind == "application/problem+json", f"{reply.request.url}: {kind}"
        problem = reply.json()
        assert problem["status"] == status
        assert problem["detail"]


@pytest.mark.parametrize("amount", [20, pytest.param(LONG, marks=pytest.mark.long)])
def test_requests_of_the_openapi_document(steady: Running, amount: int) -> None:
    if find_spec("schemathesis") is None:
        pytest.skip("schemathesis is not installed: pip install schemathesis")
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis.core.result import Ok
    from schemathesis.generation import GenerationMode

    schema = schemathesis.openapi.from_url(f"{steady.url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) > 25
    count = 0
    quiet = settings(
        max_examples=-(-amount // len(operations)), database=None, deadline=None,
        derandomize=True, suppress_health_check=[*HealthCheck], phases=[Phase.generate],
    )  # fmt: skip
    token = {"authorization": f"Bearer {steady.token}"}

    def send(case: schemathesis.Case[Any]) -> None:
        nonlocal count
        count += 1
        reply = case.call(base_url=steady.url, headers=token, timeout=60)
        sent = f"{case.method} {case.path} {case.path_parameters} {case.query} {case.body!r}"
        assert reply.status_code < 500, (sent, reply.text)
        if reply.status_code >= 400 and case.method != "HEAD":
            assert reply.headers["content-type"] == ["application/problem+json"], sent

    for operation in operations:
        for mode in GenerationMode:
            with suppress(Unsatisfiable):  # without parameters nothing can be wrong
                quiet(given(operation.as_strategy(generation_mode=mode))(send))()
    assert count >= amount


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Bytes that differ somewhere: flipped, cut, repeated, moved or replaced."""
    kind, at = rng.randrange(6), rng.randrange(len(data))
    if kind == 0:
        changed = bytearray(data)
        for _ in range(rng.choice([1, 3, 100])):
            changed[rng.randrange(min(len(data), rng.choice([16, 300, len(data)])))] ^= (
                1 << rng.randrange(8)
            )
        return bytes(changed)
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data + data[: rng.randrange(1, 100)]
    if kind == 3:
        return data[:at] + rng.randbytes(8) + data[at + 8 :]
    if kind == 4:
        return data[:at] + rng.choice([b"\xff", b"\x00"]) * 8 + data[at + 8 :]
    return rng.randbytes(rng.choice([0, 1, 8, 100, 4096]))


@amounts
def test_bytes_of_queries_and_inferences(
    steady: Running, small: Linear, tmp_path: Path, amount: int
) -> None:
    rng = random.Random(1)
    with steady.connect(tmp_path / "home") as client, steady.http() as http:
        model = client.model()
        model.upload_keys()
        query = model.client.encrypt(small.x[:1]).to_bytes()
        for _ in range(amount):
            broken = mutated(query, rng)
            if broken == query:
                continue
            reply = http.post("/v2/models/linear/jobs", content=broken)
            check(reply)
            assert 400 <= reply.status_code < 500, reply.text
            content, headers = inference(broken, rng)
            reply = http.post("/v2/models/linear/infer", content=content, headers=headers)
            check(reply)
            assert 400 <= reply.status_code < 500, reply.text
        assert http.get("/v2/jobs").json()["jobs"] == []


def inference(query: bytes, rng: random.Random) -> tuple[bytes, dict[str, str]]:
    """The body of an inference with a broken query, and often with more faults."""
    tensor = struct.pack("<I", len(query)) + query
    sizes: list[object] = [len(tensor)] * 3 + [-1, 0, 1 << 70, True, "7", None, 1.5, []]
    size = rng.choice(sizes)
    text = base64.b64encode(query).decode()
    values: list[object] = [text, "é", "\ud800", "\0", "=", 5, None, [text], {}, 1e400]
    tensors: Json = {
        "name": rng.choice(["query", "", "\0", 5]), "datatype": rng.choice(["BYTES", "FP32", None]),
        "shape": rng.choice([[1], [1, 1], [], [-1], [1 << 70], "1", None, [[1]]]),
    }  # fmt: skip
    binary = rng.random() < 0.5
    if binary:
        tensors["parameters"] = {"binary_data_size": size}
    else:
        tensors["data"] = rng.choice([[rng.choice(values)], rng.choice(values), [text, text], []])
    if rng.random() < 0.7:  # faults of the query alone
        tensors |= {"name": "query", "datatype": "BYTES", "shape": [1]}
    asked: Json = {"inputs": rng.choice([[tensors]] * 6 + [[], [tensors] * 2, None, tensors, 7])}
    asked["parameters"] = rng.choice([{}, {"wait": rng.choice([-1, "x", None, 1e400, [], True])}])
    header = json.dumps(asked).encode()
    if rng.random() < 0.2:
        header = mutated(header, rng)
    lengths = [str(len(header))] * 6 + ["0", "-1", "x", "9" * 30, "1", "²", str(len(header) + 1)]
    stated = rng.choice(lengths)
    headers = {"inference-header-content-length": stated} if binary else {}
    sent = {name: value for name, value in headers.items() if value.isascii()}
    return header + (tensor if binary else b""), sent


@amounts
def test_bytes_of_uploads(steady: Running, small: Linear, tmp_path: Path, amount: int) -> None:
    rng = random.Random(2)
    with steady.connect(tmp_path / "home") as client, steady.http() as http:
        model = client.model()
        model.client.write_keys(tmp_path / "keys")
        keys = (tmp_path / "keys").read_bytes()
        before = http.get("/v2/keys").json()
        for _ in range(amount // 4):
            data = mutated(keys[:100_000], rng)
            digest = hashlib.sha256(data).hexdigest()
            lengths = [len(data)] * 6 + [0, -1, 1 << 63, 1 << 70, 1.5, "x", None]
            new = {"digest": rng.choice([digest] * 6 + ["x", None, "é" * 64, "\0" * 64]),
                   "bytes": rng.choice(lengths)}  # fmt: skip
            reply = http.post("/v2/uploads", json=new)
            check(reply)
            if reply.is_success:
                send_parts(http, reply.json(), data, rng)
        assert http.get("/v2/keys").json() == before, "a broken file of keys was kept"


def send_parts(http: httpx.Client, state: Json, data: bytes, rng: random.Random) -> None:
    """Send the parts of an upload, some of them wrong, and complete it."""
    if state["complete"]:
        return
    at = f"/v2/uploads/{state['upload']}"
    for number in [*range(state["parts"]), rng.choice([-1, 1 << 40, 99, "x", "%00", "1e3"])]:
        begin = number * state["part_bytes"] if isinstance(number, int) else 0
        part = data[begin : begin + state["part_bytes"]] if begin >= 0 else b""
        own = base64.b64encode(hashlib.sha256(part).digest()).decode()
        wrong = rng.random() < 0.2
        stated = rng.choice(["", "x", "sha-256=::", f"sha-512=:{own}:", f"sha-256=:{'A' * 43}=:"])
        headers = {"content-digest": stated if wrong else f"sha-256=:{own}:"}
        check(http.put(f"{at}/parts/{number}", content=part, headers=headers))
    check(http.post(f"{at}/complete"))
    check(http.delete(at))


PATHS = ("/v2/models/{}", "/v2/models/{}/client", "/v2/models/linear/versions/{}", "/v2/jobs/{}",
         "/v2/models/linear/keys/{}", "/v2/keys/{}", "/v2/uploads/{}", "/{}", "/v2/{}",
         "/v2/jobs/{}/answer", "/v2/jobs/{}/events", "/v2/jobs?limit={}",
         "/v2/jobs?wait={}")  # fmt: skip

PIECES = ("%00", "%ff%fe", "..", "%2e%2e", "%2f", "..%2f..%2f..%2fetc%2fpasswd", "a" * 3000,
          "%0d%0a", "%c0%ae", "~", "'", "%27%20OR%201=1", "{}", "%", "%zz", "-1", "1e400", "nan",
          "%F0%9F%98%80", "linear", ".", "%5c..%5c", "\\..\\..", "//etc/passwd", "*", ";",
          "%ed%a0%80")  # fmt: skip


@amounts
def test_paths(steady: Running, amount: int) -> None:
    rng = random.Random(3)
    with steady.http() as http:
        for number in range(amount):
            path = PATHS[number % len(PATHS)]
            piece = "".join(rng.choice(PIECES) for _ in range(rng.choice([1, 1, 1, 2, 3])))
            method = rng.choice(["GET", "GET", "HEAD", "DELETE", "POST", "PUT", "PATCH", "OPTIONS"])
            url = httpx.URL(steady.url).copy_with(raw_path=path.format(piece).encode())
            reply = http.request(method, url)
            check(reply)
            assert b"root:" not in reply.content


@amounts
def test_headers(steady: Running, amount: int) -> None:
    rng = random.Random(4)
    names = ("authorization", "idempotency-key", "content-type", "accept", "range", "cookie",
             "content-encoding", "inference-header-content-length", "content-digest",
             "if-none-match", "last-event-id", "x-forwarded-for", "expect")  # fmt: skip
    values: tuple[Callable[[], bytes], ...] = (
        lambda: rng.randbytes(rng.choice([1, 30])).translate(None, b"\r\n\0"),
        lambda: b"9" * rng.choice([1, 20, 5000]),
        lambda: b"a" * rng.choice([1, 300, 20_000]),
        lambda: rng.choice([b"gzip", b"chunked", b"*/*", b"bytes=0-", b"application/json", b""]),
        lambda: b"Bearer " + rng.randbytes(20).hex().encode(),
    )
    with steady.http() as http:
        for _ in range(amount):
            path = rng.choice(["/v2/jobs", "/v2/models/linear/jobs", "/v2/uploads", "/v2/models"])
            sent = [(b"authorization", f"Bearer {steady.token}".encode())] * rng.randrange(2)
            sent += [(rng.choice(names).encode(), rng.choice(values)()) for _ in range(3)]
            headers = dict(sent)
            try:
                reply = http.request(rng.choice(["GET", "POST"]), path, headers=[*headers.items()],
                                     timeout=60)  # fmt: skip
            except httpx.LocalProtocolError:
                continue  # our own client refuses it
            if reply.headers.get("content-type", "").startswith("text/plain"):
                assert reply.status_code == 400  # of the server: it was no HTTP
                continue
            check(reply)
