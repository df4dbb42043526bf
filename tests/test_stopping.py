"""SIGTERM and time limits end a command, leave no unfinished file, and keep a checkpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from palladion import DataError
from palladion.cli import stopping
from palladion.cli.stopping import saving, sigterm_as_error
from palladion.errors import Termination
from palladion.support import files

from tests.conftest import Command, Halves, failure


def start(arguments: list[object], after: str) -> subprocess.Popen[str]:
    """Start a command, and wait until its log has some words."""
    process = subprocess.Popen(
        [sys.executable, "-m", "palladion.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PALLADION_LOG": "debug"},
    )
    assert process.stderr is not None
    seen = ""
    while after not in seen:
        seen = process.stderr.readline()
        assert seen, "the command ended before"
    return process


def run_line(halves: Halves, output: Path, *more: object) -> list[object]:
    return ["run", "--program", halves.program, "--keys", halves.evaluation, "--output", output,
            halves.query, "--json", *more]  # fmt: skip


def test_sigterm_while_keys_are_written_leaves_nothing(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    process = start(["keygen", "--output", keys, "--json"], "started work=keygen")
    while not any(path.name.startswith(".evaluation.key.") for path in keys.iterdir()):
        assert process.poll() is None, "the keys were written before"
    process.terminate()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 143
    assert failure(out) == {"kind": "terminated", "status": 143, "retry": True,
                            "message": "ended by SIGTERM"}  # fmt: skip
    assert err.endswith("\nended by SIGTERM\n")
    assert "Traceback" not in err
    assert [*keys.iterdir()] == []


def test_a_time_limit_ends_a_run(command: Command, halves: Halves, tmp_path: Path) -> None:
    ended = command(*run_line(halves, tmp_path / "answer", "--timeout", 0.5))
    assert ended.returncode == 5
    error = failure(ended.stdout)
    assert (error["kind"], error["retry"]) == ("resources", True)
    assert "0.5 s has passed" in ended.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("text", ["0", "-1", "soon"])
def test_wrong_time_limits_are_refused(text: str, command: Command) -> None:
    assert command("demo", "--timeout", text).returncode == 2


@pytest.mark.long
def test_a_run_that_is_terminated_goes_on_later(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    output, checkpoint = tmp_path / "answer", tmp_path / "checkpoint"
    line = run_line(halves, output, "--checkpoint", checkpoint)
    process = start(line, "step='hidden: pack'")
    process.terminate()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 143
    assert failure(out)["kind"] == "terminated"
    assert "the same command goes on from there" in err
    assert "last: output" not in err, "the run went on to its end"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    ran = command(*line)
    assert ran.returncode == 0, ran.stderr
    # All steps before it, in the middle of a layer.
    assert json.loads(ran.stdout)["resumed_steps"] == 9
    assert [path.name for path in tmp_path.iterdir()] == ["answer"]


@pytest.mark.long
def test_a_run_without_a_checkpoint_ends_at_once(halves: Halves, tmp_path: Path) -> None:
    process = start(run_line(halves, tmp_path / "answer"), "step='conv: pack'")
    process.terminate()
    _out, err = process.communicate(timeout=120)
    assert process.returncode == 143
    assert "hidden: dense" not in err
    assert [*tmp_path.iterdir()] == []


def test_a_layer_is_finished_after_sigterm() -> None:
    saved: list[bytes] = []
    with sigterm_as_error(), saving(saved.append, lambda *_: None) as saver:
        saver.save(b"first")
        signal.raise_signal(signal.SIGTERM)
        saver.progress("a step of the layer", 0.5, 1.0)
        with pytest.raises(Termination):
            saver.save(b"second")
    assert saved == [b"first", b"second"]


def test_a_layer_has_some_seconds_after_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(stopping, "monotonic", lambda: now)
    with sigterm_as_error(), saving(list[bytes]().append, lambda *_: None) as saver:
        signal.raise_signal(signal.SIGTERM)
        now += stopping.GRACE
        saver.progress("a step", 0.5, 1.0)
        now += 0.1
        with pytest.raises(Termination):
            saver.progress("a step", 0.5, 1.0)


def test_unfinished_files_do_not_wait_for_the_end_of_the_work(tmp_path: Path) -> None:
    """The work may go on for seconds: the core's, of one call."""

    def work_on() -> None:
        with sigterm_as_error(), files.replacing(tmp_path / "file") as name:
            Path(name).write_bytes(b"half")
            with pytest.raises(Termination):
                signal.raise_signal(signal.SIGTERM)
            assert [*tmp_path.iterdir()] == []

    with pytest.raises(DataError, match="cannot write"):
        work_on()


def test_a_second_sigterm_does_not_wait() -> None:
    with sigterm_as_error(), saving(list[bytes]().append, lambda *_: None):
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Termination):
            signal.raise_signal(signal.SIGTERM)


def test_the_handler_of_an_application_stays() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with sigterm_as_error(), saving(list[bytes]().append, lambda *_: None) as saver:
            signal.raise_signal(signal.SIGTERM)
            saver.save(b"checkpoint")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


@pytest.mark.parametrize("how", [files.discard_unfinished, lambda: None], ids=["early", "late"])
def test_unfinished_files_are_removed_once(how: Callable[[], None], tmp_path: Path) -> None:
    def write_half() -> None:
        with files.replacing(tmp_path / "file") as name:
            Path(name).write_bytes(b"half")
            how()
            raise Termination

    with pytest.raises(Termination):
        write_half()
    assert [*tmp_path.iterdir()] == []
    assert not files.UNFINISHED
    files.write(tmp_path / "file", b"whole")
    assert not files.UNFINISHED
