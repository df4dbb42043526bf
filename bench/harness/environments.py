"""Tools and virtual environments of the programs, created on the first run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent


class NotRunError(Exception):
    """The reason why a program cannot be measured here, in a few words."""


def checked(command: list[str], what: str, **environment: str) -> str:
    """Standard output of a command that must succeed."""
    try:
        done = subprocess.run(
            command, cwd=BENCH, env=os.environ | environment, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise NotRunError(f"needs {error.filename}") from None
    if done.returncode != 0:
        raise NotRunError(f"{what} failed: {last_line(done.stderr)}")
    return done.stdout


def last_line(text: str) -> str:
    """The most informative line: the first error, else the last line that is not a note."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("note:")]
    errors = [line for line in lines if line.lower().startswith(("error", "panic"))]
    return (errors or lines or ["no message"])[0 if errors else -1][:200]


Version = tuple[int, int]


def environment(venv: Path, requirements: Path, module: str, version: Version = (3, 10)) -> str:
    """The interpreter of a virtual environment of a version of CPython that can import a module."""
    python = str(venv / "bin" / "python")
    check = [python, "-c", f"import {module}"]
    if Path(python).exists() and subprocess.run(check, capture_output=True).returncode == 0:
        return python
    checked([_cpython(version), "-m", "venv", "--clear", str(venv)], "venv")
    pip = [python, "-m", "pip", "install", "--quiet", "--requirement", str(requirements)]
    checked(pip, "pip install")
    checked(check, f"import {module}")
    return python


def _cpython(version: Version) -> str:
    """That version of Python on the path, or one that pyenv or uv keeps elsewhere."""
    name = f"{version[0]}.{version[1]}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = pyenv.glob(f"versions/{name}.*/bin/python{name}")
    candidates = [f"python{name}", *map(str, kept)]
    if shutil.which("uv"):
        found = subprocess.run(["uv", "python", "find", name], capture_output=True, text=True)
        candidates += found.stdout.split()
    for candidate in candidates:
        # A shim on the path may have nothing behind it, so it must actually run.
        check = [candidate, "-c", f"import sys; sys.exit(sys.version_info[:2] != {version})"]
        if shutil.which(candidate) and subprocess.run(check, capture_output=True).returncode == 0:
            return candidate
    raise NotRunError(f"needs CPython {name}")
