"""Sessions of two parties: exact answers, budgets that nothing resets, and ends of every kind."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import numpy as np
import palladion
import psutil
import pytest
from palladion.errors import KINDS, DataError, NetworkError, StoppedError, UsageError
from palladion.hybrid import HybridClient, HybridModel, identity_for_one_use
from palladion.remote.loopback import Loopback
from palladion.remote.session import ServiceError, Session
from palladion.service.front.head_timeout import HEAD_SECONDS
from palladion.service.front.relay import LARGEST_MESSAGE
from palladion.service.sessions.host import GRACE
from palladion.service.sessions.process import Orders
from palladion.support.records import Json
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_websocket

from tests.conftest import Say
from tests.service.conftest import Linear, Running

NOBODY = "07" * 32
"""Hash of a certificate that nobody has."""


@dataclass(frozen=True)
class Digits:
    """The MNIST network for two parties, and some images."""

    program: Path
    x: np.ndarray[Any, np.dtype[np.float32]]
    logits: np.ndarray[Any, np.dtype[np.int64]]
    """The integer network's own outputs."""


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Digits:
    network, pixels = palladion.mnist_network(), palladion.mnist_sample().images[:4]
    path = tmp_path_factory.mktemp("digits") / "digits.hybrid"
    HybridModel.of_network(network).save(path)
    x = pixels.reshape(4, 1, 28, 28).astype(np.float32) / np.float32(255)
    return Digits(path, x, network.evaluate(network.inputs_of_pixels(pixels)).logits)


def started(
    folder: Path, digits: Digits, more: dict[str, bytes] | None = None, **settings: Any
) -> Running:
    """A service of the digits for two parties, without workers, with ``more`` files of models."""
    (folder / "models").mkdir()
    contents = {"digits.hybrid": digits.program.read_bytes(), **(more or {})}
    for name, content in contents.items():
        (folder / "models" / name).write_bytes(content)
    running = Running(folder / "data", folder / "models", {"workers": 0, **settings})
    running.start()
    return running


@pytest.fixture(scope="module")
def target(
    digits: Digits, small: Linear, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service of the digits and of a model that runs on encrypted queries."""
    folder = tmp_path_factory.mktemp("sessions")
    limits = {"requests_per_minute": 1_000_000, "hybrid_inputs": 100_000}
    program, hybrid = small.program.read_bytes(), digits.program.read_bytes()
    models = {"linear.program": program, "both.program": program, "wrong.hybrid": program,
              "both.hybrid": hybrid, "broken.hybrid": hybrid[:-9]}  # fmt: skip
    running = started(folder, digits, models, limits=json.dumps(limits))
    yield running
    assert running.stop() == 0


@pytest.fixture
def service(target: Running) -> Iterator[Running]:
    """The service, of which no session must be left, and no fault in the log."""
    yield target
    wait(lambda: not target.sessions())
    assert figure(target, "palladion_sessions_running") == 0
    assert not [event for event in target.events() if event["level"] == "error"]


def wait(condition: Callable[[], bool]) -> None:
    end = monotonic() + 30
    while not condition():
        assert monotonic() < end
        threading.Event().wait(0.05)


def figure(service: Running, name: str) -> float:
    """A figure of the service, with its labels in the name."""
    lines = httpx.get(f"{service.url}/metrics").text.splitlines()
    (value,) = (line.rpartition(" ")[2] for line in lines if line.startswith(name + " "))
    return float(value)


def budget(service: Running, token: str | None = None) -> tuple[int, int]:
    """Inputs that a tenant used, and may use."""
    with service.http(token) as http:
        facts = http.get("/v2/models/digits").json()["parameters"]
    return facts["inputs_allowed"] - facts["inputs_left"], facts["inputs_allowed"]


@contextmanager
def opened(
    service: Running, inputs: object = 1, client: str = NOBODY, token: str | None = None,
    model: str = "digits",
) -> Iterator[ClientConnection]:  # fmt: skip
    """A bare WebSocket."""
    url = service.url.replace("http", "ws", 1)
    with connect_websocket(
        f"{url}/v2/models/{model}/session?inputs={inputs}&client={client}",
        additional_headers={"authorization": f"Bearer {token or service.token}"},
        compression=None,
    ) as connection:
        yield connection


def refusal(service: Running, **wish: Any) -> tuple[int, Json]:
    """Status and problem of a WebSocket that is refused."""
    with pytest.raises(InvalidStatus) as ended, opened(service, **wish):
        pass
    response = ended.value.response
    problem = json.loads(response.body or b"")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert problem["status"] == response.status_code
    assert problem["kind"] in {kind.name for kind in KINDS}
    return response.status_code, problem


def last_words(connection: ClientConnection) -> Json | None:
    """The problem with which the service ends a session."""
    problem = None
    with suppress(ConnectionClosed):
        while True:
            message = connection.recv(timeout=20)
            if isinstance(message, str):
                problem = json.loads(message)
    return problem


def in_the_middle(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something before the eighth message of a client: after the handshake, and long before the
    answer. Callbacks of progress do not hold a session up, and messages do."""
    counts: Counter[ClientConnection] = Counter()
    send = ClientConnection.send

    def tap(self: ClientConnection, message: Any, **options: Any) -> None:
        counts[self] += 1
        if counts[self] == 8:
            act()
        send(self, message, **options)

    monkeypatch.setattr(ClientConnection, "send", tap)


def certificate_of(service: Running) -> str:
    """The hash of the certificate of sessions."""
    with service.http() as http:
        return str(http.get("/v2/models/digits").json()["parameters"]["certificate_hash"])


def test_three_lines_give_the_integer_networks_logits(
    service: Running, digits: Digits, tmp_path: Path
) -> None:
    steps: list[tuple[str, float, float]] = []

    def tell(*step: Any) -> None:
        steps.append(step)

    before = budget(service)[0]
    client = palladion.connect(service.url, service.token, home=tmp_path)
    prediction = client.predict(digits.x[:3], "digits", progress=tell)
    assert prediction.integers is not None
    np.testing.assert_array_equal(prediction.integers, digits.logits[:3])
    assert budget(service)[0] == before + 3
    assert steps[0] == ("open a session", 0.0, 1.0)
    assert len({step for step, _, _ in steps}) > 3
    assert all(0 <= done <= total for _, done, total in steps)
    model = client.hybrid_model("digits")
    pinned = client.hybrid_model(
        "digits",
        "1",
        program_hash=HybridModel.load(digits.program).facts.program_hash,
        certificate_hash=model.certificate_hash,
    )
    integers = pinned.predict(digits.x[3:]).integers
    np.testing.assert_array_equal(integers, digits.logits[3:])
    for options in ({"program_hash": NOBODY}, {"certificate_hash": NOBODY}):
        with pytest.raises(DataError, match=f"expected {NOBODY}"):
            client.hybrid_model("digits", **options)
    client.close()


def test_asyncio(service: Running, digits: Digits, tmp_path: Path) -> None:
    async def predict() -> Any:
        async with await palladion.connect_async(
            service.url, service.token, home=tmp_path
        ) as client:
            return (await client.predict(digits.x[:1], "digits")).integers

    np.testing.assert_array_equal(asyncio.run(predict()), digits.logits[:1])


def test_the_command(
    service: Running, digits: Digits, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALLADION_TOKEN", service.token)
    monkeypatch.setenv("PALLADION_URL", service.url)
    np.save(tmp_path / "x.npy", digits.x[:2])
    line = ["remote", "predict", tmp_path / "x.npy", "--model", "digits", "--home", tmp_path]
    done = say(*line, "--output", tmp_path / "y.npz", "--json")
    assert done.status == 0, done.err
    printed = json.loads(done.out)
    assert (printed["model"], printed["protocol"], printed["inputs"]) == ("digits", "hybrid", 2)
    assert say(*line, "--program", printed["program_hash"]).status == 0
    wrong = say(*line, "--program", NOBODY)
    assert (wrong.status, "expected 0707" in wrong.err) == (3, True)
    wrong = say(*line, "--client-digest", NOBODY)
    assert (wrong.status, "--client-digest is for a model that runs" in wrong.err) == (2, True)
    wrong = say(*line, "--program", NOBODY, "--model", "linear")
    assert (wrong.status, "--program is for a model that has two parties" in wrong.err) == (2, True)


def test_two_tenants_side_by_side(
    service: Running, digits: Digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = [service.tenant("left"), service.tenant("right")]
    barrier = threading.Barrier(2)
    in_the_middle(monkeypatch, lambda: barrier.wait(timeout=30))

    def predict(token: str) -> Any:
        with service.connect(tmp_path / token[-8:], token) as client:
            return client.predict(digits.x[:2], "digits").integers

    with ThreadPoolExecutor(2) as pool:
        for integers in pool.map(predict, tokens):
            np.testing.assert_array_equal(integers, digits.logits[:2])
    assert [budget(service, token)[0] for token in tokens] == [2, 2]


def test_metadata_tell_the_protocol(service: Running, digits: Digits) -> None:
    with service.http() as http:
        fhe = http.get("/v2/models/linear").json()
        hybrid = http.get("/v2/models/digits/versions/1").json()
        assert http.get("/v2/models/digits/ready").json() == {"ready": True}
    assert fhe["parameters"]["protocol"] == "fhe"
    facts = HybridModel.load(digits.program).facts
    stated = hybrid["parameters"]
    assert stated["protocol"] == "hybrid"
    assert stated["program_hash"] == facts.program_hash
    assert stated["log2_distance"] == facts.log2_distance
    parts = (facts.keys, facts.material, facts.online)
    assert stated["rounds"] == sum(part.rounds for part in parts)
    assert stated["bytes_to_client"] == sum(part.bytes_to_client for part in parts)
    assert (hybrid["inputs"], hybrid["outputs"]) == ([], [])


def test_files_that_are_refused(service: Running, say: Say) -> None:
    events = [event for event in service.events() if "is not served" in event["message"]]
    (both,) = (event["message"] for event in events if "both.hybrid" in event["message"])
    assert "there is also a .program of both version 1" in both
    assert "rename one of the two files" in both
    assert any("broken.hybrid" in event["message"] for event in events)
    (wrong,) = (event["message"] for event in events if "wrong.hybrid" in event["message"])
    assert "is a program, expected a program of the hybrid mode" in wrong
    with service.http() as http:
        assert http.get("/v2/models/both").json()["parameters"]["protocol"] == "fhe"


def test_check_lists_programs_for_two_parties(digits: Digits, say: Say, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "digits.hybrid").write_bytes(digits.program.read_bytes())
    line = ["serve", tmp_path / "models", "--data", tmp_path / "data", "--check"]
    done = say(*line, "--json")
    assert done.status == 0, done.err
    (model,) = json.loads(done.out)["two_parties"]
    hidden = HybridModel.load(digits.program).facts.hidden_inputs
    assert model["inputs_allowed"] == hidden
    assert -41 < model["log2_distance"] <= -40
    assert "warning" not in say(*line).err
    (tmp_path / "service.toml").write_text(f"[limits]\nhybrid_inputs = {2 * hidden}\n")
    done = say(*line, "--config", tmp_path / "service.toml")
    assert f"allows {2 * hidden} inputs of digits 1 to each tenant" in done.err


def test_routes_of_the_other_protocol(service: Running, digits: Digits, tmp_path: Path) -> None:
    with service.http() as http:
        for method, path in (("GET", "client"), ("GET", "keys/0"), ("POST", "jobs"),
                             ("POST", "infer")):  # fmt: skip
            reply = http.request(method, f"/v2/models/digits/{path}", content=b"{}")
            assert reply.status_code == 422, reply.text
            assert "open a session at /v2/models/digits/session" in reply.json()["detail"]
        reply = http.get("/v2/models/linear/session")
        assert reply.status_code == 422
        assert "send a query to /v2/models/linear/jobs" in reply.json()["detail"]
        reply = http.get("/v2/models/digits/session")
        assert (reply.status_code, reply.headers["upgrade"]) == (426, "websocket")
    assert refusal(service, model="linear")[0] == 422
    with service.connect(tmp_path) as client:
        with pytest.raises(UsageError, match="without keys and jobs"):
            client.model("digits")
        with pytest.raises(UsageError, match="has no sessions"):
            client.hybrid_model("linear")


def test_wishes_that_are_refused(service: Running, digits: Digits, tmp_path: Path) -> None:
    before = budget(service)
    status, problem = refusal(service, token="palladion_wrong")
    assert (status, "palladion tenants token NAME" in problem["detail"]) == (401, True)
    status, problem = refusal(service, model="nothing")
    assert (status, "the models are" in problem["detail"]) == (404, True)
    for wish, word in (
        ({"inputs": 0}, "inputs"), ({"inputs": 10_001}, "inputs"), ({"inputs": "x"}, "inputs"),
        ({"inputs": "1e400"}, "inputs"), ({"client": "x"}, "client"),
        ({"client": "AB" * 32}, "client"), ({"client": ""}, "client"),
    ):  # fmt: skip
        status, problem = refusal(service, **wish)
        assert (status, word in problem["detail"]) == (422, True), problem
    with service.connect(tmp_path) as client:
        model = client.hybrid_model("digits")
        with pytest.raises(NetworkError):
            model.predict(np.zeros((1, 3, 5, 5), np.float32))
        with pytest.raises(UsageError, match="at most 10000"):
            model.predict(np.zeros((10_001, 1, 28, 28), np.float32))
    assert budget(service) == before
    with service.connect(tmp_path, "palladion_wrong") as client:
        with pytest.raises(ServiceError, match="palladion tenants token NAME") as ended:
            client.predict(digits.x[:1], "digits")
        assert ended.value.status == 401


def test_inputs_are_reserved_and_given_back(
    service: Running, digits: Digits, tmp_path: Path
) -> None:
    token = service.tenant("reserving", "--limit", "hybrid_inputs=20")
    with opened(service, inputs=15, token=token):
        assert budget(service, token) == (15, 20)
        status, problem = refusal(service, inputs=6, token=token)
        assert status == 403
        assert not problem["retry"]
        assert "reserving has used 15 of 20 inputs" in problem["detail"]
        assert "palladion tenants grant reserving INPUTS --program" in problem["detail"]
        assert budget(service, token) == (15, 20)
    # No byte of the client came, so nothing was used.
    wait(lambda: budget(service, token) == (0, 20))
    # A session that ended well used one of ten.
    trust = certificate_of(service)
    with identity_for_one_use() as own:
        session = Session(service.url, token)
        path = "/v2/models/digits/session"
        wish = {"inputs": "10", "client": own.certificate_hash}
        with session.websocket(path, wish) as connection, Loopback(connection) as loopback:
            client = HybridClient.connect(loopback.address, trust, identity=own.path)
            assert budget(service, token) == (10, 20)
            client.query(digits.x[:1])
            loopback.wait()
        assert budget(service, token) == (1, 20)
        # The core itself refuses more than were reserved, and then all stay counted.
        wish["inputs"] = "2"
        with session.websocket(path, wish) as connection, Loopback(connection) as loopback:
            client = HybridClient.connect(loopback.address, trust, identity=own.path)
            with pytest.raises(palladion.PalladionError, match="answers 2 inputs of one client"):
                client.query(digits.x[:3])
            loopback.wait()
            assert loopback.problem is not None
            assert "its 2 inputs stay counted" in str(loopback.problem)
        assert budget(service, token) == (3, 20)
        session.close()


def test_a_used_up_budget_is_an_error_with_a_way_out(
    service: Running, digits: Digits, say: Say, tmp_path: Path
) -> None:
    token = service.tenant("finite", "--limit", "hybrid_inputs=2")
    with service.connect(tmp_path, token) as client:
        client.predict(digits.x[:2], "digits")
        with pytest.raises(ServiceError, match="finite has used 2 of 2 inputs") as ended:
            client.predict(digits.x[:1], "digits")
        assert (ended.value.status, ended.value.kind.name) == (403, "security")
        program = client.hybrid_model("digits").program_hash
        tenants = ["tenants", "--data", service.folder]
        done = say(*tenants, "grant", "finite", "3", "--program", program)
        assert done.status == 0, done.err
        assert "5 inputs" in done.out
        assert "2^-50.4 for all of them" in done.out
        assert "warning" not in done.err
        integers = client.predict(digits.x[:3], "digits").integers
        np.testing.assert_array_equal(integers, digits.logits[:3])
    (row,) = json.loads(say(*tenants, "inputs", "finite", "--json").out)["programs"]
    assert (row["used"], row["allowed"], row["program_hash"]) == (5, 5, program)
    assert program in say(*tenants, "inputs", "finite").out
    done = say(*tenants, "grant", "finite", "10000", "--program", program)
    assert "floods do not hide the weights over so many inputs" in done.err
    for inputs, chosen, words in (
        ("0", program, "expected 1 to"), ("9999999999", program, "expected 1 to"),
        ("1", NOBODY, f"it has: {program}"),
    ):  # fmt: skip
        done = say(*tenants, "grant", "finite", inputs, "--program", chosen)
        assert done.status == 2
        assert words in done.err
    # The other tenants have what they had.
    assert budget(service, service.tenant("fresh"))[0] == 0


def test_the_default_budget_is_what_the_floods_hide(digits: Digits, tmp_path: Path) -> None:
    """It is counted before a session, and neither kill -9 nor a start resets it."""
    hidden = HybridModel.load(digits.program).facts.hidden_inputs
    running = started(tmp_path, digits)
    assert budget(running) == (0, hidden)
    with opened(running, inputs=hidden - 1):
        pass
    wait(lambda: budget(running) == (0, hidden))
    with opened(running, inputs=hidden - 1) as connection:
        connection.send(b"\x16")
        (child,) = running.sessions()
        running.kill()
    wait(lambda: not psutil.pid_exists(child))  # it dies with its front
    running.start()
    assert budget(running) == (hidden - 1, hidden)
    with running.connect(tmp_path / "home") as client:
        integers = client.predict(digits.x[:1]).integers
        np.testing.assert_array_equal(integers, digits.logits[:1])
        with pytest.raises(ServiceError, match=f"has used {hidden} of {hidden} inputs"):
            client.predict(digits.x[:1])
    running.kill()
    running.start()
    assert budget(running) == (hidden, hidden)
    assert running.stop() == 0
    with sqlite3.connect(running.folder / "service.sqlite") as database:
        lines = [*database.execute("SELECT action, subject FROM audit ORDER BY id")]
    actions = [action for action, _ in lines if action.startswith(("session", "inputs"))]
    assert actions == ["inputs reserved", "session unused", "inputs reserved", "inputs reserved",
                       "session served"]  # fmt: skip
    assert lines[-1][1].startswith("1 of 1 inputs of ")


def test_sessions_at_once(service: Running) -> None:
    tokens = [service.tenant(f"many-{number}") for number in range(3)]
    with opened(service, token=tokens[0]), opened(service, token=tokens[0]):
        status, problem = refusal(service, token=tokens[0])
        assert status == 429
        assert problem["retry"]
        assert "2 sessions of many-0 are open" in problem["detail"]
        with opened(service, token=tokens[1]), opened(service, token=tokens[1]):
            assert figure(service, "palladion_sessions_running") == 4
            status, problem = refusal(service, token=tokens[2])
            assert (status, problem["retry"]) == (503, True)
            assert "4 sessions are open" in problem["detail"]
    wait(lambda: figure(service, "palladion_sessions_running") == 0)
    assert [budget(service, token)[0] for token in tokens] == [0, 0, 0]


@pytest.mark.parametrize("message", [b"\x16", b"GET / HTTP/1.1\r\n\r\n", bytes(100_000)])
def test_bytes_that_are_no_tls(service: Running, message: bytes) -> None:
    token = service.tenant(f"noise-{len(message)}")
    with opened(service, inputs=3, token=token) as connection:
        connection.send(message)
        if len(message) == 1:
            return  # and the client vanishes
        problem = last_words(connection)
    assert problem is not None
    assert "the session failed at the service" in problem["detail"]
    assert "its 3 inputs stay counted" in problem["detail"]
    assert budget(service, token)[0] == 3


def test_random_messages(service: Running) -> None:
    """Hostile clients end their own sessions, and nothing else."""
    assert service.process is not None
    front, rng = psutil.Process(service.process.pid), random.Random(1)
    before = front.num_fds()
    for _ in range(12):
        with suppress(ConnectionClosed), opened(service) as connection:
            for _ in range(rng.randrange(1, 6)):
                size = rng.choice([0, 1, 5, 500, 70_000, LARGEST_MESSAGE])
                head = rng.choice([b"", b"\x16\x03\x01\x02\x00\x01", b"\x17\x03\x03\x40\x00"])
                data = (head + rng.randbytes(size))[:LARGEST_MESSAGE]
                connection.send([data[:1], data[1:]] if rng.random() < 0.3 else data)
            if rng.random() < 0.5:
                connection.socket.close()
    wait(lambda: not service.sessions())
    wait(lambda: front.num_fds() < before + 5)


def test_a_client_that_leaves_before_it_is_accepted(service: Running) -> None:
    token = service.tenant("hasty")
    url = httpx.URL(service.url)
    head = (
        f"GET /v2/models/digits/session?inputs=5&client={NOBODY} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n\r\n"
    )
    name = 'palladion_sessions_total{outcome="unused"}'
    before = figure(service, name)
    for _ in range(2):
        assert url.port is not None
        with socket.create_connection((url.host, url.port)) as raw:
            raw.sendall(head.encode())
        before += 1
        wait(lambda: figure(service, name) == before)  # noqa: B023  called at once
    assert budget(service, token)[0] == 0


def test_text_and_messages_that_are_too_large(service: Running) -> None:
    with opened(service) as connection:
        connection.send("{}")
        problem = last_words(connection)
    assert problem is not None
    assert "a text message, expected binary ones" in problem["detail"]
    assert problem["kind"] == "usage"
    for message in (bytes(LARGEST_MESSAGE + 1), [bytes(LARGEST_MESSAGE), b"0"]):
        with opened(service) as connection:
            with suppress(ConnectionClosed):
                connection.send(message)
                assert last_words(connection) is None
            assert connection.close_code == 1009


def test_a_client_that_stops_in_the_middle(
    service: Running, digits: Digits, tmp_path: Path
) -> None:
    token = service.tenant("stopping")
    with service.connect(tmp_path, token) as client:
        with pytest.raises(StoppedError, match="digits was stopped"):
            client.predict(digits.x[:2], "digits", progress=lambda step, *_: step != "hidden")
        wait(lambda: not service.sessions())
        assert budget(service, token)[0] == 2
        integers = client.predict(digits.x[:1], "digits").integers
        np.testing.assert_array_equal(integers, digits.logits[:1])


def test_a_client_that_vanishes(service: Running, digits: Digits, tmp_path: Path) -> None:
    """Its process is killed in the middle of a session."""
    token = service.tenant("vanishing")
    np.save(tmp_path / "x.npy", digits.x[:2])
    code = (
        "import os, signal, sys, numpy, palladion\n"
        "url, token, home, x = sys.argv[1:]\n"
        "def tell(step, *_): step == 'hidden' and os.kill(os.getpid(), signal.SIGKILL)\n"
        "client = palladion.connect(url, token, home=home)\n"
        "client.predict(numpy.load(x), 'digits', progress=tell)\n"
    )
    words = [service.url, token, str(tmp_path / "home"), str(tmp_path / "x.npy")]
    done = subprocess.run([sys.executable, "-c", code, *words], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    wait(lambda: not service.sessions())
    wait(lambda: figure(service, "palladion_sessions_running") == 0)
    assert budget(service, token)[0] == 2


def test_a_process_that_is_killed(
    service: Running, digits: Digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = service.tenant("killed")
    name = 'palladion_sessions_total{outcome="died"}'
    before = figure(service, name)

    def kill() -> None:
        (number,) = service.sessions()
        os.kill(number, signal.SIGKILL)

    in_the_middle(monkeypatch, kill)
    with service.connect(tmp_path, token) as client:
        with pytest.raises(ServiceError, match="the process of the session died") as ended:
            client.predict(digits.x[:1], "digits")
        monkeypatch.undo()
        assert "its 1 inputs stay counted. Ask again" in str(ended.value)
        assert (ended.value.kind.name, ended.value.retry) == ("resources", False)
        integers = client.predict(digits.x[:1], "digits").integers
    np.testing.assert_array_equal(integers, digits.logits[:1])
    assert budget(service, token)[0] == 2
    assert figure(service, name) == before + 1


@pytest.mark.parametrize("end", ["orders", "parent", "SIGTERM"])
def test_the_end_of_a_process(digits: Digits, tmp_path: Path, end: str) -> None:
    """It ends when it has no orders, when its parent is gone, and when it is told to."""
    (tmp_path / "identity.pem").write_text(palladion.hybrid.make_identity().pem)
    orders = Orders(str(digits.program), str(tmp_path / "identity.pem"), NOBODY, 1, 1)
    words = [sys.executable, "-m", "palladion.service.sessions.process"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if end != "orders":
            process.stdin.write(orders.to_line())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["event"] == "listening"
        if end == "SIGTERM":
            process.terminate()
        else:
            process.stdin.close()
        try:
            assert process.wait(timeout=30) == (-signal.SIGTERM if end == "SIGTERM" else 0)
        finally:
            process.kill()


def test_a_program_that_cannot_be_served(tmp_path: Path) -> None:
    orders = Orders(str(tmp_path / "none"), str(tmp_path / "none"), NOBODY, 1, 1)
    words = [sys.executable, "-m", "palladion.service.sessions.process"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(orders.to_line())
        process.stdin.flush()
        event = json.loads(process.stdout.readline())
        assert process.wait(timeout=30) == 1
    assert (event["event"], "none" in event["reason"]) == ("refused", True)


def ask(
    address: str, trust: str, identity: Path | None, x: np.ndarray[Any, np.dtype[np.float32]]
) -> None:
    """A session with a server itself, without a service between."""
    HybridClient.connect(address, trust, identity=identity, patience=5.0).query(x)


def test_strangers_of_the_machine_are_not_answered(
    service: Running, digits: Digits, tmp_path: Path
) -> None:
    """Who connects to the process itself needs the certificate of its one client."""
    with identity_for_one_use() as own, identity_for_one_use() as other:
        trust = certificate_of(service)
        with opened(service, client=own.certificate_hash):
            (number,) = service.sessions()
            (listener,) = (
                c for c in psutil.Process(number).net_connections() if c.status == "LISTEN"
            )
            assert listener.laddr.ip == "127.0.0.1"
            address = f"127.0.0.1:{listener.laddr.port}"
            for identity in (None, other.path):
                with pytest.raises(palladion.PalladionError):
                    ask(address, trust, identity, digits.x[:1])
            assert service.sessions() == [number]  # a stranger does not end the session


def test_the_front_sees_tls_alone(
    service: Running, digits: Digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a control: the first byte and the lengths are those of TLS records."""
    sent = bytearray()
    send = ClientConnection.send

    def tap(self: ClientConnection, message: Any, **options: Any) -> None:
        sent.extend(message)
        send(self, message, **options)

    monkeypatch.setattr(ClientConnection, "send", tap)
    with service.connect(tmp_path) as client:
        program_hash = client.hybrid_model("digits").program_hash
        client.predict(digits.x[:1], "digits")
    at = 0
    while at < len(sent):
        assert sent[at] in (20, 22, 23)
        at += 5 + int.from_bytes(sent[at + 3 : at + 5], "big")
    assert at == len(sent)
    assert len(sent) > 100_000
    assert b"PLDNHYBR" not in sent
    assert bytes.fromhex(program_hash) not in sent


def test_logs_have_no_token_and_no_address(service: Running) -> None:
    lines = [event for event in service.events() if event["logger"] == "palladion.service.sessions"]
    assert {event["message"] for event in lines} <= {"session started", "session ended"}
    assert lines
    for event in service.events():
        assert service.token not in json.dumps(event)
        assert "127.0.0.1" not in json.dumps(event)


def test_a_stop_lets_a_session_end(
    digits: Digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = started(tmp_path, digits)
    statuses: list[int] = []
    stopping = threading.Thread(target=lambda: statuses.append(running.stop()))

    def stop() -> None:
        stopping.start()
        wait(lambda: any("Shutting down" in line for line in running.log))

    in_the_middle(monkeypatch, stop)
    with running.connect(tmp_path / "home") as client:
        integers = client.predict(digits.x[:1]).integers
    np.testing.assert_array_equal(integers, digits.logits[:1])
    stopping.join()
    assert statuses == [0]
    ends = [event for event in running.events() if event["message"] == "session ended"]
    assert [event["outcome"] for event in ends] == ["served"]
    assert not [event for event in running.events() if event["level"] == "error"]


@pytest.mark.long
def test_a_stop_ends_a_session_that_lasts(
    digits: Digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = started(tmp_path, digits)

    def stop() -> None:
        assert running.process is not None
        running.process.terminate()
        threading.Event().wait(GRACE + 2)

    in_the_middle(monkeypatch, stop)
    with (
        running.connect(tmp_path / "home", patience=0) as client,
        pytest.raises(ServiceError, match="the service stopped during the session"),
    ):
        client.predict(digits.x[:1])
    assert running.stop() == 0
    ends = [event for event in running.events() if event["message"] == "session ended"]
    assert [event["outcome"] for event in ends] == ["stopped"]
    assert not [event for event in running.events() if event["level"] == "error"]


@pytest.mark.long
def test_a_session_may_last_longer_than_a_head(
    service: Running, digits: Digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_middle(monkeypatch, lambda: threading.Event().wait(HEAD_SECONDS + 4))
    with service.connect(tmp_path) as client:
        integers = client.predict(digits.x[:1], "digits").integers
    np.testing.assert_array_equal(integers, digits.logits[:1])
