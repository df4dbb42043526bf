"""``palladion simulate`` in the process of a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from palladion import _native
from palladion.cli.simulate import simulate


def written(program: _native.Program, path: Path) -> str:
    """The file of a program."""
    path.write_bytes(program.to_bytes())
    return str(path)


def output(*arguments: str) -> str:
    """The text that a command prints."""
    result = CliRunner().invoke(simulate, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


def run(*arguments: str) -> dict[str, Any]:
    """The report of ``simulate run --json``."""
    found: dict[str, Any] = json.loads(output("run", "--json", *arguments))
    return found
