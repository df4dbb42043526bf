"""Print what the extra ``dev`` of pyproject.toml asks for, a line each, as pip reads it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"

if __name__ == "__main__":
    # Python 3.10 has no tomllib, but its pip has a copy.
    toml = import_module("tomllib" if find_spec("tomllib") else "pip._vendor.tomli")
    project = toml.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print(*project["optional-dependencies"]["dev"], sep="\n")
