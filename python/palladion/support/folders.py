"""Folders that are written completely or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from palladion.errors import DataError, UsageError
from palladion.support.destination import check_folder
from palladion.support.files import UMASK


def check_new(path: Path, option: str) -> None:
    """Check that ``path`` is a folder without files, or can be made, before work whose result it
    gets. ``option`` is what names it.

    Raises
    ------
    UsageError
        If it has files, is no folder, or cannot be written to.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{option}: {path} exists, expected a new folder or an empty one")
    check_folder(path)


def write(path: Path, contents: Iterable[tuple[str, bytes]]) -> None:
    """Write files, by their paths with ``/``, into the new or empty folder ``path``.

    They are written beside it first, so that half of them are never visible.

    Raises
    ------
    DataError
        If the folder cannot be written to, or the disk is full. Then nothing is left.
    """
    unfinished: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
        for name, content in contents:
            to = Path(unfinished, name)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(content)
        os.chmod(unfinished, 0o777 & ~UMASK)
        if path.exists():
            path.rmdir()
        Path(unfinished).rename(path)
    except OSError as error:
        raise DataError(f"cannot write the folder {path}: {error.strerror}") from error
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
