"""Tables in the pages of docs/ that a command prints: written by the command, or compared with it.

A page names the command in a comment before the table, and ends the table with another comment:

    <!-- table of: palladion reproduce cross table8 -->

        (written by this script)

    <!-- end -->

``table of`` takes the first table that the command prints, ``table 3 of`` the third, ``output of``
all that it prints, and
``notes of`` what ``palladion reproduce`` prints behind its table. What takes minutes is
``nightly table of``. ``DATA`` in a command is a folder with MNIST's and CIFAR-10's files.

    python scripts/docs_tables.py                 # write the quick tables
    python scripts/docs_tables.py --check         # compare them, as CI does
    python scripts/docs_tables.py --nightly --check docs/reproduction/f1.md
    python scripts/docs_tables.py --nightly --data DATA

Commands run in the root of the repository. Nothing that is measured may stand in such a table.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from click.testing import CliRunner

ROOT = Path(__file__).parent.parent
MARKER = re.compile(
    r"^<!-- (?P<nightly>nightly )?(?P<part>table(?: \d)?|output|notes) of: "
    r"palladion (?P<line>[^\n]+) -->\n(?P<body>.*?)^<!-- end -->$",
    re.MULTILINE | re.DOTALL,
)
OPENING = re.compile(r"^<!-- .*\bof: palladion", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command in a page, and which part of its output stands there."""

    line: str
    part: str
    nightly: bool

    @property
    def needs_data(self) -> bool:
        """Whether it reads test images."""
        return "DATA" in self.line.split()


def pages() -> list[Path]:
    """All pages that may have tables."""
    folders = (ROOT / "docs", ROOT / "docs/reproduction", ROOT / "docs/notes")
    return [
        ROOT / "README.md",
        *(page for folder in folders for page in sorted(folder.glob("*.md"))),
    ]


def commands(text: str) -> list[Command]:
    """The commands of a page, in its order.

    Raises ``ValueError`` for a comment that is begun and not ended.
    """
    found = [
        Command(match["line"], match["part"], bool(match["nightly"]))
        for match in MARKER.finditer(text)
    ]
    begun = len(OPENING.findall(text))
    if begun != len(found):
        raise ValueError(
            f"{begun} comments begin a table and {len(found)} are whole: expected `table of`, "
            "`output of` or `notes of`, and `<!-- end -->` behind each table"
        )
    return found


@cache
def printed(line: str) -> str:
    """The text that a command prints. It runs in this process: a new one would import the package
    again."""
    from palladion.cli import commands as main

    here = Path.cwd()
    os.chdir(ROOT)
    try:
        result = CliRunner().invoke(main, shlex.split(line), prog_name="palladion")
    finally:
        os.chdir(here)
    if result.exit_code != 0:
        raise SystemExit(f"palladion {line}: {result.stderr or result.exception!r}")
    return result.stdout


def part_of(text: str, part: str) -> str:
    """The asked part of a command's output: blank lines stand around a table."""
    if part == "output":
        return text.strip("\n")
    blocks = [block.strip("\n") for block in text.strip("\n").split("\n\n")]
    tables = [place for place, block in enumerate(blocks) if len(block.splitlines()) > 1]
    if part == "notes":
        return "\n\n".join(blocks[tables[0] + 1 :])
    _, _, number = part.partition(" ")
    return blocks[tables[int(number or 1) - 1]]


def body_of(command: Command, data: str | None) -> str:
    """The lines between both comments."""
    words = [data if word == "DATA" and data else word for word in shlex.split(command.line)]
    text = part_of(printed(shlex.join(words)), command.part)
    lines = (f"    {line}".rstrip() for line in text.splitlines())
    return "\n".join(["", *lines, "", ""])


def rewritten(text: str, *, nightly: bool, data: str | None) -> str:
    """A page with its tables as the commands print them now. Slow ones are made where ``nightly``
    asks for them, and those that need data where there is a folder."""

    def again(match: re.Match[str]) -> str:
        command = Command(match["line"], match["part"], bool(match["nightly"]))
        if (command.nightly and not nightly) or (command.needs_data and data is None):
            return match[0]
        head = match[0].partition("\n")[0]
        return f"{head}\n{body_of(command, data)}<!-- end -->"

    return MARKER.sub(again, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; 1 if a page differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "pages", nargs="*", type=Path, help="default: README.md and the pages of docs/"
    )
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--nightly", action="store_true", help="also what takes minutes")
    parser.add_argument("--data", help="folder with mnist/ and cifar10/")
    asked = parser.parse_args(arguments)
    stale = []
    data = None if asked.data is None else str(Path(asked.data).resolve())
    for page in asked.pages or pages():
        text = page.read_text(encoding="utf-8")
        commands(text)
        now = rewritten(text, nightly=asked.nightly, data=data)
        if now == text:
            continue
        stale.append(page)
        if not asked.check:
            page.write_text(now, encoding="utf-8")
    for page in stale:
        state = "differs from what its commands print" if asked.check else "written"
        print(f"{page}: {state}")
    if stale and asked.check:
        print("run: python scripts/docs_tables.py, with --nightly for what takes minutes")
    return int(bool(stale) and asked.check)


if __name__ == "__main__":
    sys.exit(main())
