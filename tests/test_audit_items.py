"""The list of the papers' items: well formed, and each command of palladion exists."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import click
import pytest
from palladion.cli import commands

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import audit_items


def test_every_command_of_the_list_exists() -> None:
    for item in audit_items.read():
        words = shlex.split(item.command)
        if words[:1] != ["palladion"]:
            continue
        current: click.Command = commands
        context = click.Context(commands)
        for word in words[1:]:
            if not isinstance(current, click.Group):
                options = {o for p in current.params for o in (*p.opts, *p.secondary_opts)}
                assert not word.startswith("-") or word in {*options, "--help"}, item
                continue
            if word == "--help":
                continue
            found = current.get_command(context, word)
            assert found is not None, f"{item.command}: no {word}"
            current = found


def test_papers_have_their_items() -> None:
    counts = audit_items.counts(audit_items.read())
    assert counts.keys() == {"f1", "cross", "hyena", "athena", "athena-tfhe"}
    assert all(sum(each.values()) > 15 for each in counts.values())


def test_a_table_and_json_have_the_same_items(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit_items.main(["--paper", "f1", "--verdict", "absent", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["counts"]["f1"]["absent"] == len(shown["items"]) > 0
    assert audit_items.main(["--paper", "f1", "--verdict", "absent"]) == 0
    text = capsys.readouterr().out
    assert all(item["title"] in text for item in shown["items"])


def test_a_command_that_fails_is_named() -> None:
    assert audit_items.run(["palladion reproduce f1 table"]) == []
    (failed,) = audit_items.run(["palladion reproduce f1 fig99"])
    assert failed.startswith("palladion reproduce f1 fig99: ")
    assert "fig99" in failed.partition(": ")[2]


WORKS = {"paper": "f1", "title": "x", "verdict": "works", "command": "make"}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([{"paper": "f1", "title": "x"}], r"item 1 \(x\): without verdict"),
        ([{**WORKS, "verdict": "good"}], "good, expected one of works"),
        ([{**WORKS, "verdict": "impossible"}], "impossible without a note"),
        ([{**WORKS, "command": ""}], "no command shows it"),
        ([{**WORKS, "size": 1}], "unknown size"),
        ([WORKS, WORKS], "stands there twice"),
        ([{**WORKS, "cheap": True}], "expected a command of palladion, not 'make'"),
    ],
)
def test_a_wrong_list_is_refused(
    tmp_path: Path, entries: list[dict[str, object]], words: str
) -> None:
    path = tmp_path / "items.json"
    path.write_text(json.dumps(entries))
    with pytest.raises(ValueError, match=words):
        audit_items.read(path)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text("item = [")
    with pytest.raises(ValueError, match="expected a list of objects in JSON"):
        audit_items.read(path)
