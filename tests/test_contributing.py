"""CONTRIBUTING says which files a change touches; here the list is held to the sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| ([^|]+) \| `([^`|]+)` \| ([^|]+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, set[str]]]:
    """What is added, the word of its example, and the files."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## What to touch")[2].partition("## ")[0]
    found = ROW.findall(section)
    return [(what, word, set(re.findall(r"`([^`]+\.rs)`", files))) for what, word, files in found]


def test_all_rows_are_read() -> None:
    assert len(rows()) == 9


@pytest.mark.parametrize(("what", "word", "files"), rows())
def test_the_files_to_touch_are_those_of_the_example(what: str, word: str, files: set[str]) -> None:
    # Within an `impl` an operation is `Self::..`. Where it is declared it has no prefix.
    own = word.removeprefix("Op::")
    if word == own:
        pattern = re.compile(rf"\b{re.escape(word)}\b")
    else:
        pattern = re.compile(rf"\b(Op::{own}|Self::{own})\b|^ +{own} ({{|= \")", re.MULTILINE)
    sources = (ROOT / "crates").glob("*/src/**/*.rs")
    found = {
        str(path.relative_to(ROOT / "crates"))
        for path in sources
        if path.name != "tests.rs" and pattern.search(path.read_text())
    }
    assert found == files, what


def test_an_instruction_of_a_trace_takes_at_most_six_files() -> None:
    assert [len(files) for _, word, files in rows() if word == "Op::Shift"] == [6]
