"""The two parties of the hybrid mode, through the commands."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import palladion
import pytest
from click.testing import CliRunner
from palladion.cli import commands

MODELS = Path(__file__).parent.parent / "models"


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(commands, arguments)
    assert result.exception is None, result.output
    return result.stdout


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


@pytest.fixture(scope="module")
def server(program: Path) -> Iterator[tuple[str, str]]:
    """Address and certificate hash of a server in another process."""
    hashes = program.with_name("hash")
    command = [sys.executable, "-m", "palladion.cli", "serve-hybrid", str(program), "--listen"]
    command += ["127.0.0.1:0", "--hash-file", str(hashes), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        for _ in range(100):
            if hashes.exists():
                break
            time.sleep(0.05)
        yield event["address"], hashes.read_text()
        process.terminate()


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
    assert "an empty file" in refused("serve-hybrid", str(tmp_path / "empty"))
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
