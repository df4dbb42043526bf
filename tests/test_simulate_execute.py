"""``palladion simulate run --keys --query``: a schedule that is executed on ciphertexts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from palladion.deployment import CompiledModel
from palladion.errors import FormatError
from palladion.simulation import Streams

from tests.conftest import Command, Halves, refused

MACHINE: Final = "tiny"
"""It takes words of 64 bits, and so the packaged program."""


def test_an_execution_needs_keys_query_and_output(
    command: Command, halves: Halves, tmp_path: Path
) -> None:
    line = ("simulate", "run", halves.program, "--machine", MACHINE)
    done = command(*line, "--keys", halves.evaluation)
    refused(done, r"--query, --output is missing, expected --keys, --query and --output together")
    output = tmp_path / "answer"
    done = command(*line, "--keys", halves.query, "--query", halves.query, "--output", output)
    refused(done, "evaluation key")
    assert not output.exists()


@dataclass(frozen=True)
class Executed:
    """The folder of streams, the digest of an execution, and that of ``run``."""

    streams: Path
    digest: str
    expected: str


@pytest.fixture(scope="module")
def executed(
    command: Command, halves: Halves, tmp_path_factory: pytest.TempPathFactory
) -> Executed:
    folder = tmp_path_factory.mktemp("executed")
    values = ("--keys", halves.evaluation, "--output", folder / "answer", "--json")
    ran = command("run", "--program", halves.program, *values, halves.query)
    assert ran.returncode == 0, ran.stderr
    line = ("simulate", "run", halves.program, "--machine", MACHINE, "--query", halves.query)
    done = command(*line, *values, "--streams", folder / "streams")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert 0 < report["streams_share"] < 0.01
    assert sum(report["streams"].values()) == report["streams_bytes"]
    expected = json.loads(ran.stdout)["raw_digest"]
    return Executed(folder / "streams", report["raw_digest"], expected)


@pytest.mark.long
def test_an_executed_schedule_gives_the_words_of_a_run(executed: Executed) -> None:
    assert executed.digest == executed.expected


@pytest.mark.long
def test_a_changed_stream_is_refused_or_gives_other_words(
    executed: Executed, halves: Halves
) -> None:
    trace = CompiledModel.load(halves.program).lower()
    keys = trace.keys(Path(halves.evaluation).read_bytes())
    query = trace.query(Path(halves.query).read_bytes())
    texts = [path for path in sorted(executed.streams.glob("*.txt")) if "ntt" in path.name]
    path = texts[0]
    original = path.read_text()
    try:
        lines = original.splitlines(keepends=True)
        place = next(k for k, line in enumerate(lines) if re.search(r"ntt \d+ s\d+ ->", line))
        row = re.search(r" s(\d+) ->", lines[place])
        assert row is not None
        other = f" s{int(row[1]) + 1} ->"
        lines[place] = lines[place].replace(row[0], other)
        path.write_text("".join(lines))
        try:
            changed = Streams.load(executed.streams, MACHINE, trace).run(keys, query)
        except FormatError:
            return
        assert changed.raw_digest != executed.expected
    finally:
        path.write_text(original)


@pytest.mark.long
def test_streams_that_are_cut_are_refused(executed: Executed, halves: Halves) -> None:
    trace = CompiledModel.load(halves.program).lower()
    whole = executed.streams / Streams.FILE
    assert Streams.load(whole, MACHINE, trace).fetched_bytes > 0
    cut = executed.streams / "cut.bin"
    cut.write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"cut\.bin"):
        Streams.load(cut, MACHINE, trace)
    with pytest.raises(FormatError):
        Streams.load(whole, "f1", trace)
