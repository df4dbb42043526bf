"""The two parties of the hybrid mode, through the commands."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import palladion
import pytest
from click.testing import CliRunner
from palladion.cli import commands
from palladion.cli.hybrid import packing_text
from palladion.hybrid import HybridModel, Link, compare_packings

MODELS = Path(__file__).parent.parent / "models"


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments)
    assert result.exception is None, result.output
    return result.stdout


def moved(part: dict[str, int]) -> int:
    """Bytes in both directions."""
    return part["bytes_to_server"] + part["bytes_to_client"]


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments)
    assert result.exception is not None
    return str(result.exception) + result.output


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hybrid") / "mnist.hybrid"
    report = json.loads(
        invoke(
            "compile",
            str(MODELS / "mnist.json"),
            "--mode",
            "hybrid",
            "--output",
            str(path),
            "--json",
        )
    )
    assert not report["reveals_accumulators"]
    assert all(layer["security_bits"] >= 128 for layer in report["layers"])
    return path


@contextmanager
def serving(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A server in another process. It ends with the test, even with one that fails."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def server(program: Path) -> Iterator[tuple[str, str]]:
    """Address and certificate hash of a server in another process."""
    hashes = program.with_name("hash")
    command = [sys.executable, "-m", "palladion.cli", "serve-hybrid", str(program), "--listen"]
    command += ["127.0.0.1:0", "--hash-file", str(hashes), "--any-client", "--json"]
    command += ["--inputs-per-client", "10000"]
    with serving(command) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        for _ in range(100):
            if hashes.exists():
                break
            time.sleep(0.05)
        yield event["address"], hashes.read_text()


def test_a_query_gives_the_integer_networks_logits(server: tuple[str, str], tmp_path: Path) -> None:
    address, trust = server
    network = palladion.mnist_network()
    pixels = palladion.mnist_sample().images[:2]
    np.save(tmp_path / "x.npy", pixels.reshape(2, 1, 28, 28).astype(np.float32) / 255)
    found = json.loads(
        invoke("query", address, "--trust", trust, "--input", str(tmp_path / "x.npy"),
               "--integers", "--json")
    )  # fmt: skip
    expected = network.evaluate(network.inputs_of_pixels(pixels)).logits
    assert found["logits"] == expected.tolist()
    online, predicted = found["report"]["online"], found["predicted_cost"]["online"]
    assert online["sent"] == 2 * predicted["bytes_to_server"]
    assert online["received"] == 2 * predicted["bytes_to_client"]
    assert online["rounds"] == 2 * predicted["rounds"]


def test_what_does_not_fit_is_refused(
    server: tuple[str, str], program: Path, tmp_path: Path
) -> None:
    address, trust = server
    (tmp_path / "empty").write_bytes(b"")
    np.save(tmp_path / "wrong.npy", np.zeros((1, 3, 5, 5), np.float32))
    wrong, good = str(tmp_path / "wrong.npy"), ("--trust", trust)
    assert "an empty file" in refused("serve-hybrid", str(tmp_path / "empty"), "--any-client")
    assert "certificate" in refused("query", address, "--trust", "07" * 32, "--offline-only")
    assert "another program" in refused(
        "query", address, *good, "--program", "07" * 32, "--offline-only"
    )
    assert "5" in refused("query", address, *good, "--input", wrong)
    assert "cannot connect" in refused("query", "127.0.0.1:1", *good, "--offline-only")
    assert "without it any server" in refused("query", address, "--offline-only")
    assert "hexadecimal" in refused("query", address, "--trust", "xyz", "--offline-only")
    assert "--batch" in refused(
        "compile", str(MODELS / "mnist.json"), "--mode", "hybrid", "--batch", "4", "--output", wrong
    )
    assert "--mode hybrid" in refused(
        "compile", str(MODELS / "mnist.json"), "--reveal-accumulators", "--output", wrong
    )
    # The server still answers after all of these.
    found = json.loads(invoke("query", address, *good, "--offline-only", "--json"))
    assert found["report"]["offline"]["seconds"] > 0


def asked(server: tuple[str, str], inputs: Path) -> subprocess.Popen[str]:
    """A query in another process."""
    address, trust = server
    command = [sys.executable, "-m", "palladion.cli", "query", address, "--trust", trust]
    command += ["--input", str(inputs), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def digits(path: Path, count: int) -> Path:
    pixels = palladion.mnist_sample().images[:1].reshape(1, 1, 28, 28).astype(np.float32) / 255
    np.save(path, np.repeat(pixels, count, axis=0))
    return path


def test_a_silent_a_busy_and_a_killed_client_keep_no_other_waiting(
    server: tuple[str, str], tmp_path: Path
) -> None:
    address, _ = server
    host, port = address.split(":")
    many, one = digits(tmp_path / "many.npy", 3000), digits(tmp_path / "one.npy", 1)
    with socket.create_connection((host, int(port))), asked(server, many) as busy:
        time.sleep(3)  # it has its keys, and is at its inputs
        with asked(server, one) as other:
            output, errors = other.communicate(timeout=100)
        assert other.returncode == 0, errors
        assert json.loads(output)["predicted"] == [7]
        assert busy.poll() is None, "more inputs are needed for this test"
        busy.send_signal(signal.SIGKILL)
    with asked(server, one) as after:
        output, errors = after.communicate(timeout=100)
    assert after.returncode == 0, errors


def test_a_server_with_a_client_ends_when_it_is_asked_to(program: Path) -> None:
    command = [sys.executable, "-m", "palladion.cli", "serve-hybrid", str(program), "--listen"]
    command += ["127.0.0.1:0", "--any-client", "--json"]
    # A shell that runs the tests in the background lets its children ignore this signal.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heard) as process:
        assert process.stdout is not None
        host, port = json.loads(process.stdout.readline())["address"].split(":")
        with socket.create_connection((host, int(port))):
            assert json.loads(process.stdout.readline())["event"] == "connected"
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)


def test_errors_say_what_to_do(server: tuple[str, str], program: Path, tmp_path: Path) -> None:
    address, trust = server
    (tmp_path / "text").write_text("no certificate")
    text = str(tmp_path / "text")
    serve = ("serve-hybrid", str(program), "--any-client")
    assert "choose another port" in refused(*serve, "--listen", address)
    assert "HOST:PORT" in refused(*serve, "--listen", "here")
    assert "HOST:PORT" in refused("query", "here", "--trust", trust, "--offline-only")
    assert "serve-hybrid runs there" in refused(
        "query", "127.0.0.1:1", "--trust", trust, "--offline-only"
    )
    assert "give both" in refused(*serve, "--cert", text)
    assert text in refused(*serve, "--cert", text, "--key", text)
    assert "any stranger" in refused("serve-hybrid", str(program))
    assert "any stranger" in refused(*serve, "--client", "07" * 32)
    assert "hexadecimal" in refused("serve-hybrid", str(program), "--client", "xyz")
    assert text in refused("query", address, "--cert", text, "--offline-only")
    assert "new certificate" in refused("query", address, "--trust", "07" * 32, "--offline-only")
    count = ("--offline-only", "--count", "10001")
    assert "--count" in refused("query", address, "--trust", trust, *count)
    for command in ("run", "encrypt"):
        half = "--client" if command == "encrypt" else "--program"
        given = (half, str(program), text, "--output", text)
        secret = ("--secret", text) if command == "encrypt" else ()
        assert "hybrid mode" in refused(command, *given, *secret)


def test_layouts_are_chosen_by_the_connection(tmp_path: Path) -> None:
    path, bytes_sent, shown = str(MODELS / "resnet20_w7a7.json"), [], []
    for bandwidth in ("100000", "1"):
        given = ("--mode", "hybrid", "--bandwidth", bandwidth, "--output", str(tmp_path / "p"))
        found = json.loads(invoke("compile", path, *given, "--json"))
        bytes_sent.append([moved(layer["linear"]) for layer in found["layers"]])
        shown.append(found)
        for layer in found["layers"]:
            assert len(layer["tile_channels"]) == len(layer["layouts"])
            assert layer["ciphertexts"][0] >= len(layer["layouts"])
    assert all(slow <= fast for fast, slow in zip(*bytes_sent, strict=True))
    assert sum(bytes_sent[1]) < sum(bytes_sent[0])
    # With as many channels as fit, a layer of 64 channels of 8 x 8 took 2 queries and 64 answers.
    for found in shown:
        assert any(sum(layer["ciphertexts"]) < 24 for layer in found["layers"][-4:])


def test_packings_in_slots_stand_beside_the_one_in_use() -> None:
    network = palladion.mnist_network()
    texts = []
    for rate in (10_000.0, 1.0):
        link = Link(rate, 0.2)
        program = HybridModel.of_network(network, link=link)
        found = compare_packings(network, program.facts, link)
        assert [each.layer for each in found] == ["conv", "hidden", "last"]
        for each in found:
            assert each.compared == 8
            assert each.slots_seconds is not None
            assert min(each.used_seconds, each.slots_seconds) > 0
        texts.append(packing_text(found))
    # Whatever kernels this machine has: both sides are predicted for one core.
    assert texts == [
        "c2pc in 3 layers, cheaper than slots in 2; slots would be in: last hyena",
        "c2pc in 3 layers, cheaper than slots in 3",
    ]


def test_a_known_client_is_served_and_a_stranger_is_not(program: Path, tmp_path: Path) -> None:
    own, other = str(tmp_path / "own.pem"), str(tmp_path / "other.pem")
    known = json.loads(invoke("identity", own, "--json"))["certificate_hash"]
    invoke("identity", other)
    assert (tmp_path / "own.pem").stat().st_mode & 0o777 == 0o600
    assert "exists" in refused("identity", own)
    command = [sys.executable, "-m", "palladion.cli", "serve-hybrid", str(program), "--listen"]
    command += ["127.0.0.1:0", "--client", known, "--inputs-per-client", "2", "--json"]
    with serving(command) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        assert event["inputs_of_client"] == 2
        assert event["log2_distance"] < -43
        one = str(digits(tmp_path / "one.npy", 1))
        asked = ("query", event["address"], "--trust", event["certificate_hash"], "--input", one)
        assert "palladion identity" in refused(*asked)
        assert "palladion identity" in refused(*asked, "--identity", other)
        assert json.loads(invoke(*asked, "--identity", own, "--json"))["predicted"] == [7]
        # The refused ones may be told after it.
        events = map(json.loads, process.stdout)
        served = next(event for event in events if event["event"] == "served")
        assert (served["event"], served["client"], served["inputs"]) == ("served", known, 1)
        again = (*asked, "--identity", own, "--count", "2")
        assert json.loads(invoke(*again, "--json"))["predicted"] == [7]
        assert "2 of this one's are answered" in refused(*again)


def test_a_query_reads_its_inputs_first_and_does_not_wait_for_ever(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 28, 28), np.float32))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        asked = ("query", address, "--trust", "07" * 32)
        began = time.monotonic()
        # Before a connection is made.
        assert "does not exist" in refused(*asked, "--input", str(tmp_path / "missing.npy"))
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()
        said = refused(*asked, "--input", str(tmp_path / "x.npy"), "--patience", "0.5")
        assert "does not greet" in said
        assert time.monotonic() - began < 10, "the default is longer"
