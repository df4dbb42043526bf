"""Finding and running programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from palladion_hardware.errors import ToolError


def has(name: str) -> bool:
    return shutil.which(name) is not None


def run(command: Sequence[str | Path], *, folder: Path, package: str) -> str:
    """Standard output of a program.

    Raises
    ------
    ToolError
        If it is not installed, or fails.
    """
    name = str(command[0])
    if "/" not in name and not has(name):
        raise ToolError(f"{name} is not installed: expected on PATH; Debian's package is {package}")
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise ToolError(f"{name} failed with status {done.returncode}: " + " | ".join(last))
    return done.stdout
