"""CONTRIBUTING says which files a change touches; here the list is held to the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| ([^|]+) \| `([^`|]+)` \| ([^|]+) \|$", re.MULTILINE)
FILE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:rs|py|toml|md)|\.ci/run)`")

TESTS = re.compile(r"/src/(.*/)?tests(/|\.rs$)")
"""Unit tests of a crate, which stand beside its sources."""
RUST = ("crates/*/src/**/*.rs",)
PYTHON = ("python/palladion/**/*.py",)
SCHEME = (
    *("Cargo.toml", "scripts/check_layers.py", "crates/schemes/Cargo.toml"),
    *("crates/schemes/src/**/*.rs", "crates/python/src/schemes/*.rs"),
    *("python/palladion/*.py", "python/palladion/schemes/*.py"),
)
SEARCHES: dict[str, tuple[tuple[str, ...], str]] = {
    "Softsign": (PYTHON, r"(?i)\bsoftsign\b"),
    "InstanceNormalization": (PYTHON, r"\"InstanceNormalization\""),
    "Linear::Window": (
        ("crates/*/src/**/*.rs", "python/palladion/nn/integers/*.py"),
        r"\bLinear::Window\b|Self::Window\(|^class Window\b",
    ),
    "params": (
        ("python/palladion/cli/*.py", "docs/cli.md"),
        r"^    \"params\":|^def params\(|^\| `params\b",
    ),
    "craterlake": (
        ("crates/sim/machines/*.toml", "crates/sim/src/*.rs", "docs/machines.md"),
        r"(?i)\bcraterlake\b",
    ),
    "impl RowMachine for": (
        ("crates/*/src/**/*.rs", "crates/*/tests/**/*.rs", "docs/backends.md"),
        r"\bimpl RowMachine for\b|`RowMachine` alone",
    ),
    "Avx512": (
        ("crates/kernels/src/**/*.rs", ".ci/run"),
        r"struct Avx512\b|mod avx512;|avx512::Avx512\b|struct Zmm\b|for kernels in .*\bavx512\b",
    ),
    "Bgv": (
        SCHEME,
        r"\bBgv\b|\"bgv\"|^pub mod bgv;|^bgv\b|^palladion-bgv\b|from palladion import bgv",
    ),
}
"""For words that stand elsewhere too: the files to search, and what makes a file one of the row."""


def rows() -> list[tuple[str, str, set[str]]]:
    """The addition, the word of its example, and the files, from the root of the checkout."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## What to touch")[2].partition("## ")[0]
    return [
        (addition, word, {from_root(file) for file in FILE.findall(files)})
        for addition, word, files in ROW.findall(section)
    ]


def from_root(file: str) -> str:
    """Paths that do not begin with a folder of the checkout are those of ``crates``."""
    return file if (ROOT / file).exists() else f"crates/{file}"


def test_all_rows_are_read() -> None:
    assert len(rows()) == 18
    assert SEARCHES.keys() <= {word for _, word, _ in rows()}


def search(word: str) -> tuple[tuple[str, ...], str]:
    """Where the files of a row are, and the pattern that each has."""
    # Within an `impl` an operation is `Self::..`. Where it is declared it has no prefix.
    own = word.removeprefix("Op::")
    if word == own:
        return SEARCHES.get(word, (RUST, rf"\b{re.escape(word)}\b"))
    return RUST, rf"\b(Op::{own}|Self::{own})\b|^ +{own} ({{{{|= \")"


def texts(globs: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for path in {path for glob in globs for path in ROOT.glob(glob)}:
        if TESTS.search(path.as_posix()):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".rs" and globs is not RUST:
            text = re.sub(r"//.*", "", text.split("#[cfg(test)]")[0])
        yield str(path.relative_to(ROOT)), text


@pytest.mark.parametrize(("addition", "word", "files"), rows())
def test_the_files_to_touch_are_those_of_the_example(
    addition: str, word: str, files: set[str]
) -> None:
    globs, pattern = search(word)
    sources = {path for path, text in texts(globs) if re.search(pattern, text, re.MULTILINE)}
    assert sources == files, addition


def test_an_onnx_operator_touches_at_most_four_files() -> None:
    operators = [files for addition, _, files in rows() if "ONNX operator" in addition]
    assert len(operators) == 2
    assert all(len(files) <= 4 for files in operators)


def test_an_instruction_of_a_trace_takes_at_most_six_files() -> None:
    assert [len(files) for _, word, files in rows() if word == "Op::Shift"] == [6]
