"""Files that are either written whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError

LARGEST = 8_000_000_000
"""Bytes of the largest file that is read: evaluation keys are below 1 GB."""


def write(path: Path, data: bytes, *, secret: bool = False) -> None:
    """Write ``data`` beside ``path`` and rename it, so that nobody ever sees half a file.

    A secret file can be read by its owner alone.

    Raises
    ------
    DataError
        If the folder cannot be written to, or the disk is full; then ``path`` is as before.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not secret:  # mkstemp made it 0o600
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except OSError as error:
        os.unlink(name)
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    except BaseException:  # Ctrl-C too leaves nothing behind
        os.unlink(name)
        raise


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as an ``.npz`` file; raises as :func:`write`."""
    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    write(path, data.getvalue())


def remove(path: Path) -> None:
    """Remove a file, if it is there.

    Raises
    ------
    DataError
        If it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot remove {path}: {error.strerror}") from error


def read(path: Path) -> bytes:
    """Read a whole file.

    Raises
    ------
    DataError
        If it cannot be read, is no regular file, or is larger than anything of ours.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise DataError(f"cannot read {path}: it is no regular file")
            if found.st_size > LARGEST:
                raise DataError(
                    f"cannot read {path}: it has {found.st_size} bytes, expected at most {LARGEST}"
                )
            return file.read()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
