"""The log of runs and keys: identities and times, no data and no secret."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import palladion
import pytest
from palladion import Client, CompiledModel, Query
from palladion.errors import BudgetError
from palladion.support import events
from palladion.targets import Logged

from tests.conftest import Command

EVENT = re.compile(
    r"(started|step|finished|refused) work=(run|keygen|encrypt|decrypt) id=[0-9a-f]{8}"
    r"( (program|profile|query)=[0-9a-f]{64}| key=[0-9a-f]{32}| kind=[a-z]+| seconds=\d+\.\d{3}"
    r"| step=('[\w: ]+'|\w+))*"
)
"""All that an event may have."""


@pytest.fixture(scope="module")
def client() -> Client:
    return CompiledModel.of_network(palladion.mnist_network()).client()


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG, logger="palladion"):
        yield caplog


@pytest.fixture
def query(client: Client) -> Query:
    pixels = palladion.mnist_sample().images[:1, None]
    return client.encrypt_pixels(pixels)


def answer_with(progress: object) -> object:
    """The answer of a run of two steps that calls its progress."""
    assert callable(progress)
    for step in ("conv: table", "conv: table", "last: output"):
        progress(step, 0.5, 1.0)
    return "answer"


def test_a_run_is_told_from_start_to_end(
    heard: pytest.LogCaptureFixture, client: Client, query: Query
) -> None:
    heard.clear()
    asked: list[str] = []
    run = Logged(lambda _keys, _query, progress, _save: answer_with(progress), "ab" * 32)  # type: ignore[arg-type]
    answer: object = run(None, query, lambda step, *_: asked.append(step))  # type: ignore[arg-type]
    assert answer == "answer"
    assert asked == ["conv: table", "conv: table", "last: output"], "the caller hears it too"
    lines = [record.getMessage() for record in heard.records]
    assert [line.split()[0] for line in lines] == ["started", "step", "step", "finished"]
    assert all(EVENT.fullmatch(line) for line in lines), lines
    for line in (lines[0], lines[-1]):
        assert f" program={'ab' * 32} key={client.key_id} query={query.hash().hex()}" in line
    fields = vars(heard.records[0])["fields"]
    assert (fields["event"], fields["work"], fields["key"]) == ("started", "run", client.key_id)


def test_a_refusal_has_its_kind_and_not_its_words(
    heard: pytest.LogCaptureFixture, query: Query
) -> None:
    def refuse(*_: object) -> object:
        raise BudgetError("the value 12345 of the input")

    heard.clear()
    with pytest.raises(BudgetError):
        Logged(refuse, "ab" * 32)(None, query)  # type: ignore[arg-type]
    first, last = heard.records
    assert (first.levelname, last.levelname) == ("INFO", "WARNING")
    assert EVENT.fullmatch(last.getMessage())
    assert " kind=resources " in last.getMessage()
    assert "12345" not in heard.text


def test_nothing_is_printed_or_computed_unless_asked(
    client: Client, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Client) -> dict[str, str]:
        raise AssertionError("identities that nobody hears")

    monkeypatch.setattr(Client, "_ids", refuse)
    client.encrypt_pixels(palladion.mnist_sample().images[:1, None])
    assert capfd.readouterr() == ("", "")


def test_the_log_has_no_secret_and_no_input(client: Client, tmp_path: Path) -> None:
    """By its form: an event of another form might have anything."""
    terms, secret, data = tmp_path / "client", tmp_path / "secret", tmp_path / "x.npy"
    terms.write_bytes(client.terms.to_bytes())
    client.save(secret)
    np.save(data, palladion.mnist_sample().images[:1, None] / 255)
    line = ["encrypt", "--client", terms, "--secret", secret, "--output", tmp_path / "q", data]
    code = (
        "import os, sys; os.environ['PALLADION_LOG'] = 'debug'\n"
        "from palladion.cli import main; main()"
    )
    found = subprocess.run([sys.executable, "-c", code, *map(str, line)], capture_output=True,
                           text=True, timeout=120, check=True)  # fmt: skip
    logged = [line for line in found.stderr.splitlines() if "palladion:" in line]
    for entry in logged:
        time_and_level, words = entry.split(" palladion: ")
        assert re.fullmatch(r"[-\d]+ [:,\d]+ (DEBUG|INFO)", time_and_level)
        assert EVENT.fullmatch(words), words
    assert [line.split(" palladion: ")[1].split()[0] for line in logged] == ["started", "finished"]
    assert palladion.Secret.load(secret).key_id in logged[0]


def test_an_unknown_level_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALLADION_LOG", "loud")
    found = command("info")
    assert found.returncode == 2
    assert "PALLADION_LOG is 'loud', expected one of debug, info, warning" in found.stderr


@pytest.mark.parametrize(
    ("value", "word"), [("conv", "conv"), ("a b", "'a b'"), ("a\nb", r"'a\nb'"), ("", "''")]
)
def test_a_value_is_one_word_on_one_line(value: str, word: str) -> None:
    assert events.quoted(value) == word
