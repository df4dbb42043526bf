"""Runs that end before their time, and go on from a checkpoint."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import palladion
import pytest
from palladion import _native

from tests.conftest import Command, Halves, refused

pytestmark = pytest.mark.long


def line(halves: Halves, output: Path, checkpoint: Path) -> list[object]:
    return [
        "run", "--program", halves.program, "--keys", halves.evaluation, "--output", output,
        "--checkpoint", checkpoint, halves.query, "--json",
    ]  # fmt: skip


def loaded(
    halves: Halves,
) -> tuple[_native.Program, palladion.EvaluationKeys, palladion.Query]:
    program = _native.Program.from_bytes(halves.program.read_bytes())
    keys = palladion.EvaluationKeys.from_bytes(program, halves.evaluation.read_bytes())
    return program, keys, palladion.Query.from_bytes(program, halves.query.read_bytes())


def killed(arguments: list[object], checkpoint: Path) -> None:
    """Start a run, and kill it as soon as its first checkpoint is there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "palladion.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    end = time.monotonic() + 120
    while not checkpoint.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)
    process.kill()
    out, _err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, "the run ended before it was killed"
    assert out == b""


@pytest.fixture(scope="module")
def answer(
    command: Command, halves: Halves, tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, str]:
    """The answer of a run that nothing interrupts, and its digest before it was hidden."""
    folder = tmp_path_factory.mktemp("whole")
    output, checkpoint = folder / "answer", folder / "checkpoint"
    ran = command(*line(halves, output, checkpoint))
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["resumed_steps"] == 0
    assert [path.name for path in folder.iterdir()] == ["answer"]
    return output.read_bytes(), report["raw_digest"]


@pytest.fixture(scope="module")
def stopped(halves: Halves, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The first checkpoint of a run that was killed."""
    folder = tmp_path_factory.mktemp("stopped")
    killed(line(halves, folder / "answer", folder / "checkpoint"), folder / "checkpoint")
    assert not (folder / "answer").exists()
    return (folder / "checkpoint").read_bytes()


def test_a_killed_run_goes_on_to_the_same_answer(
    command: Command, halves: Halves, answer: tuple[bytes, str], stopped: bytes, tmp_path: Path
) -> None:
    output, checkpoint = tmp_path / "answer", tmp_path / "checkpoint"
    checkpoint.write_bytes(stopped)
    ran = command(*line(halves, output, checkpoint))
    assert ran.returncode == 0, ran.stderr
    assert not checkpoint.exists()
    report = json.loads(ran.stdout)
    assert report["raw_digest"] == answer[1]
    assert len(output.read_bytes()) == len(answer[0])
    program = _native.Program.from_bytes(halves.program.read_bytes())
    layers = [step["layer"] for step in program.facts()["steps"]]
    assert report["resumed_steps"] in {layers.index(layer) for layer in layers[1:]} - {0}
    later = set(layers[report["resumed_steps"] :])
    assert {step["name"].rpartition(": ")[0] for step in report["steps"]} == later


def test_progress_begins_at_what_is_resumed(halves: Halves, stopped: bytes) -> None:
    program, keys, query = loaded(halves)
    heard: list[tuple[float, float]] = []

    def progress(_step: str, done: float, total: float) -> bool:
        heard.append((done, total))
        return False

    with pytest.raises(palladion.StoppedError):
        program.run(keys, query, progress, stopped)
    done, total = heard[0]
    assert 0 < done < total


def test_damaged_checkpoints_are_refused(
    halves: Halves, answer: tuple[bytes, str], stopped: bytes
) -> None:
    program, keys, query = loaded(halves)
    middle = len(stopped) // 2
    for data in (
        b"",
        stopped[:middle],
        stopped[:middle] + bytes([stopped[middle] ^ 1]) + stopped[middle + 1 :],
        stopped + b"\0",
        answer[0],
    ):
        with pytest.raises(palladion.FormatError):
            program.run(keys, query, None, data)


def test_a_checkpoint_of_another_query_is_refused(halves: Halves, stopped: bytes) -> None:
    program, keys, _query = loaded(halves)
    secret = _native.SecretKey.from_bytes(program, halves.secret.read_bytes())
    image = palladion.mnist_network().inputs_of_pixels(palladion.mnist_sample().images[:1])
    query = secret.encrypt(image.reshape(1, -1).tolist())
    with pytest.raises(palladion.FormatError, match="this checkpoint belongs to another query"):
        program.run(keys, query, None, stopped)


def test_a_damaged_checkpoint_ends_the_command(
    command: Command, halves: Halves, stopped: bytes, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(stopped[:-1])
    refused(command(*line(halves, tmp_path / "answer", checkpoint)), "error:", "truncated")
    assert checkpoint.read_bytes() == stopped[:-1]
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


class EnoughError(Exception):
    """Ends a run."""


def after_the_first_layer(halves: Halves) -> bytes:
    """The first of several checkpoints."""
    program, keys, query = loaded(halves)
    saved: list[bytes] = []

    def save(checkpoint: bytes) -> None:
        saved.append(checkpoint)
        raise EnoughError

    with pytest.raises(EnoughError):
        program.run(keys, query, None, None, save)
    return saved[0]


def test_a_full_disk_ends_the_run_and_keeps_the_last_checkpoint(
    halves: Halves, tmp_path: Path
) -> None:
    stopped = after_the_first_layer(halves)

    def little_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then writing fails as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(stopped)
    arguments = map(str, line(halves, tmp_path / "answer", checkpoint))
    result = subprocess.run(
        [sys.executable, "-m", "palladion.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        preexec_fn=little_disk,
    )
    refused(result, "error: cannot write", "checkpoint")
    assert checkpoint.read_bytes() == stopped
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_no_other_file_is_taken_for_the_checkpoint(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    same = Path(os.path.relpath(answer))
    result = command(*line(halves, answer, same))
    assert result.returncode == 2
    assert "is another file too" in result.stderr
    assert list(tmp_path.iterdir()) == []
