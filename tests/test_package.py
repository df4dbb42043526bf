"""The package as it is distributed: where it runs, and what is said of getting it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from palladion.cli.common import peak_memory

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "palladion"
UNIX_ALONE = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def imported_at_once(tree: ast.AST) -> set[str]:
    """Modules that a file imports when it is imported itself: not those within functions."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= imported_at_once(node)
    return found


def test_no_module_imports_what_windows_has_not() -> None:
    assert imported_at_once(ast.parse("import a\nif b: import c\ndef f(): import d")) == {"a", "c"}
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 100
    for path in paths:
        needed = imported_at_once(ast.parse(path.read_text(encoding="utf-8")))
        assert not needed & UNIX_ALONE, path


def test_the_peak_of_memory_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    used = SimpleNamespace(memory_info=lambda: SimpleNamespace(peak_wset=12345))
    monkeypatch.setattr(psutil, "Process", lambda: used)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory() == 12345


FROM_INDEX = re.compile(r"pip3? install\s+(-\S+\s+)*['\"`]?palladion(?![\w/\\*[-]|\.\w)")
"""The bare name, which pip looks up on PyPI. Files, and extras of what is installed, are others."""


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("`pip install palladion`", True),
        ("python -m pip install -U palladion, then", True),
        ('pip install "palladion"', True),
        ("pip install palladion>=0.1", True),
        ("Type pip install palladion.", True),
        ("pip install 'palladion[train]'", False),
        ("pip install wheels/palladion-*.whl", False),
        ("pip install palladion-0.1.0.tar.gz", False),
    ],
)
def test_what_counts_as_an_installation_from_the_index(line: str, is_one: bool) -> None:
    assert bool(FROM_INDEX.search(line)) == is_one


def test_no_document_promises_an_installation_from_the_index() -> None:
    """It is not there before the first release, which takes this test away."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "models").glob("*.md")]
    pages += [*PACKAGE.rglob("*.py"), *(ROOT / "examples").glob("*.py")]
    assert len(pages) > 100
    for page in pages:
        assert not FROM_INDEX.search(page.read_text(encoding="utf-8")), page
