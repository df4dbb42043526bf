"""Files and errors of the stages, for the submissions to all workloads."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from palladion import DataError, FormatError, PalladionError

T = TypeVar("T")


def read(path: Path) -> bytes:
    """The bytes of a file. Raises ``DataError`` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def parsed(path: Path, parse: Callable[[bytes], T], data: bytes | None = None) -> T:
    """The result of ``parse`` for a file, or for ``data`` from it. A ``FormatError`` names the
    file."""
    try:
        return parse(read(path) if data is None else data)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def emptied(folder: Path) -> Path:
    """A folder without the files of an earlier run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def exit_status(stage: Callable[[], None]) -> int:
    """Run a stage. An error of the user or of the files is one line, and the status 1."""
    try:
        stage()
    except (PalladionError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
