"""Items of the papers that Palladion reproduces: a command that shows each, and how far it goes.

The list is ``audit_items.json``. Verdicts are ``works``, ``partial``, ``absent`` and
``impossible``. An item that is
impossible has a note with the measurement or the reason.

A verdict is that of the last audit by hand, unless later work on the item changed it. No command
judges it again.

    python scripts/audit_items.py                            # a table
    python scripts/audit_items.py --paper f1 --verdict absent
    python scripts/audit_items.py --json
    python scripts/audit_items.py --run                      # run the cheap commands

``--run`` runs the commands that are marked ``cheap``, each once, and fails if one of them fails. It
shows that the item can be seen, and does not judge its figures.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from click.testing import CliRunner

ITEMS = Path(__file__).with_suffix(".json")
VERDICTS = ("works", "partial", "absent", "impossible")
WIDTH = 62
"""Characters of a title in the table."""


@dataclass(frozen=True)
class Item:
    """One item: ``command`` is empty if nothing shows it, ``cheap`` if it takes seconds."""

    paper: str
    title: str
    verdict: str
    command: str = ""
    note: str = ""
    cheap: bool = False


def read(path: Path = ITEMS) -> list[Item]:
    """The items of a file.

    Raises ``ValueError`` for a file that is no such list: the message names the item.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: {error}, expected a list of objects in JSON") from error
    known = {field.name for field in fields(Item)}
    items = []
    for number, entry in enumerate(entries, 1):
        name = f"{path}, item {number} ({entry.get('title', 'without a title')})"
        if unknown := entry.keys() - known:
            raise ValueError(f"{name}: unknown {', '.join(sorted(unknown))}, expected {known}")
        if missing := {"paper", "title", "verdict"} - entry.keys():
            raise ValueError(f"{name}: without {', '.join(sorted(missing))}")
        item = Item(**entry)
        check(item, name)
        items.append(item)
    titles = Counter((item.paper, item.title) for item in items)
    if twice := [title for title, count in titles.items() if count > 1]:
        raise ValueError(f"{path}: {twice[0]} stands there twice, expected once")
    return items


def check(item: Item, name: str) -> None:
    """Raise ``ValueError`` if fields of an item contradict each other."""
    if item.verdict not in VERDICTS:
        raise ValueError(f"{name}: verdict {item.verdict}, expected one of {', '.join(VERDICTS)}")
    if item.verdict == "impossible" and not item.note:
        raise ValueError(f"{name}: impossible without a note, expected the measurement or reason")
    if item.verdict == "works" and not item.command:
        raise ValueError(f"{name}: works, and no command shows it")
    if item.cheap and not item.command.startswith("palladion "):
        raise ValueError(f"{name}: cheap, expected a command of palladion, not {item.command!r}")


def run(commands: Sequence[str]) -> list[str]:
    """Run commands in this process, in the root of the repository. Returns the failed ones with
    their reasons."""
    from palladion.cli import commands as main

    failed = []
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="palladion")
        print(f"{'failed' if result.exit_code else 'ran'}: {command}", file=sys.stderr)
        if result.exit_code:
            failed.append(f"{command}: {result.stderr.strip() or result.exception!r}")
    return failed


def table(items: Sequence[Item]) -> str:
    """Rows of verdict, paper, title and command, with the note beneath."""
    lines = []
    for item in items:
        title = item.title if len(item.title) <= WIDTH else item.title[: WIDTH - 2] + ".."
        lines.append(
            f"{item.verdict:10}  {item.paper:11}  {title:{WIDTH}}  {item.command}".rstrip()
        )
        if item.note:
            lines.append(f"{'':25}{item.note}")
    return "\n".join(lines)


def counts(items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """For each paper the number of items of each verdict."""
    papers = dict.fromkeys(item.paper for item in items)
    found = Counter((item.paper, item.verdict) for item in items)
    return {paper: {verdict: found[paper, verdict] for verdict in VERDICTS} for paper in papers}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the items; with ``--run``, 1 if a command fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--paper", help="items of one paper")
    parser.add_argument("--verdict", choices=VERDICTS, help="items of one verdict")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--run", action="store_true", help="run the cheap commands of the items")
    asked = parser.parse_args(arguments)
    every = read()
    papers = sorted({item.paper for item in every})
    if asked.paper is not None and asked.paper not in papers:
        parser.error(f"--paper {asked.paper}, expected one of {', '.join(papers)}")
    items = [
        item
        for item in every
        if asked.paper in (None, item.paper) and asked.verdict in (None, item.verdict)
    ]
    cheap = dict.fromkeys(item.command for item in items if item.cheap)
    failed = run([*cheap]) if asked.run else []
    if asked.json:
        shown = [asdict(item) for item in items]
        print(json.dumps({"items": shown, "counts": counts(items), "failed": failed}, indent=2))
    else:
        print(table(items))
        for paper, each in counts(items).items():
            words = ", ".join(f"{verdict} {count}" for verdict, count in each.items())
            print(f"{paper}: {words}")
    for reason in failed:
        print(f"error: {reason}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
