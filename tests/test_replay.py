"""Traces: written, read back, executed, and refused when they are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command, Halves, refused

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def trace(command: Command, halves: Halves, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of the packaged network."""
    path = tmp_path_factory.mktemp("trace") / "mnist.trace"
    result = command("lower", halves.program, "--output", path, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["trace_bytes"] == path.stat().st_size < 5_000_000
    assert report["instructions"]["ntt"] > 500 < report["passes"]["ntt"]
    assert command("lower", halves.program, "--output", path).stdout.count("\n") < 30
    return path


def test_a_replayed_trace_gives_the_words_of_a_run(
    command: Command, halves: Halves, trace: Path, tmp_path: Path
) -> None:
    run, replay = tmp_path / "run", tmp_path / "replay"
    given = ["--keys", halves.evaluation, halves.query]
    result = command("run", "--program", halves.program, "--output", run, *given, "--json")
    assert result.returncode == 0, result.stderr
    digest = json.loads(result.stdout)["raw_digest"]
    result = command("replay", trace, "--output", replay, *given, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["answer_bytes"] == len(replay.read_bytes()) == len(run.read_bytes())
    assert found["raw_digest"] == digest
    # An answer is hidden by fresh randomness each time.
    assert replay.read_bytes() != run.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("\nend\n", "\n", ("the text is cut off", "expected a last line `end`")),
        (" = ntt %", " = nnt %", ("line ", "`nnt`", "expected an operation: load")),
        ("= load query/0", "= load query/7", ("query/7", "missing", "among the keys")),
        ("keys/relinearization/0", "keys/relinearization/77", ("relinearization/77", "missing")),
        ("eval 0..2 = load", "eval 0..99 = load", ("line ", "0..99", "below 25")),
        ("decompose.18 %", "decompose.99 %", ("line ", "decompose.99")),
        ("# of {", "# {", ("the trace's program", "missing")),
        ('"input_level":1', '"input_level":99', ("the level of the inputs", "99", "0 to 19")),
    ],
)
def test_a_wrong_trace_is_refused_by_what_is_wrong(
    command: Command,
    halves: Halves,
    trace: Path,
    tmp_path: Path,
    old: str,
    new: str,
    words: tuple[str, ...],
) -> None:
    text = trace.read_text()
    assert old in text
    wrong = tmp_path / "wrong.trace"
    wrong.write_text(text.replace(old, new, 1))
    answer = tmp_path / "answer"
    result = command("replay", wrong, "--keys", halves.evaluation, "--output", answer, halves.query)
    refused(result, *words)
    assert not answer.exists()


def test_a_trace_is_held_to_its_program(
    command: Command, halves: Halves, trace: Path, tmp_path: Path
) -> None:
    answer, changed = tmp_path / "answer", tmp_path / "changed.trace"
    given = ["--keys", halves.evaluation, "--program", halves.program, "--output", answer]
    result = command("replay", trace, *given, halves.query)
    assert result.returncode == 0, result.stderr
    # A sum of two values of one type, with one of them twice: well formed, and wrong.
    text = trace.read_text()
    place = text.index(" = add %", text.index("\nmain:"))
    line = text[place : text.index("\n", place)]
    left, right = line.removeprefix(" = add ").split()
    changed.write_text(text.replace(line, f" = add {right} {left}", 1))
    answer.unlink()
    refused(
        command("replay", changed, *given, halves.query),
        "changed.trace", "another program's or was changed", "instruction", "expected",
    )  # fmt: skip
    assert not answer.exists()


def test_each_floor_has_a_text(command: Command, halves: Halves, tmp_path: Path) -> None:
    for floor, words in (
        ("program", "= table %"),
        ("recording", "= relinearize %"),
        ("trace", "sub relinearize."),
    ):
        path = tmp_path / floor
        result = command("lower", halves.program, "--to", floor, "--output", path, "--json")
        assert result.returncode == 0, result.stderr
        assert words in path.read_text()


def test_other_files_are_named(
    command: Command, halves: Halves, trace: Path, tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    given = ["--keys", halves.query, "--output", answer, halves.query]
    refused(command("replay", trace, *given), "encrypted images", "expected evaluation keys")
    given = ["--keys", halves.evaluation, "--output", answer, halves.query]
    refused(command("replay", halves.program, *given), "expected a trace")
    half = tmp_path / "half.trace"
    half.write_text(trace.read_text()[:500_000])
    refused(command("replay", half, *given), "half.trace", "line ")
