"""New files on the local disk, which go with the process that writes them."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from palladion.service.blobs.locks import lock_alone, lock_shared
from palladion.service.blobs.store import FullError, MissingBlobError, StoreError

FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a limit that leaves no space."""


class Incoming:
    """A folder of new files. Each is locked by the process that writes it, so that the files of
    processes that died are known. They go when the folder is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.iterdir():
                remove_unless_locked(left)

    @contextmanager
    def file(self) -> Iterator[Path]:
        """The path of a new file. It goes at the end of the body, unless it was moved.

        Raises
        ------
        FullError
            If the body leaves no space on the disk.
        """
        with translated(self._folder):
            handle, name = self._new()
        try:
            yield Path(name)
        except OSError as error:
            if error.errno in FULL:
                raise FullError(f"the disk has no space left: {error.strerror}") from error
            raise
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
            os.close(handle)

    def _new(self) -> tuple[int, str]:
        while True:
            handle, name = tempfile.mkstemp(dir=self._folder)
            lock_shared(handle)
            if os.fstat(handle).st_nlink:
                return handle, name
            os.close(handle)  # another process took it for one that was left behind


def remove_unless_locked(path: Path) -> bool:
    """Remove a file that no process has locked. Returns whether it is gone."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        if not lock_alone(handle):
            return False
        with suppress(FileNotFoundError):
            os.unlink(path)
    finally:
        os.close(handle)
    return True


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into those of a store."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingBlobError(f"there is no {path.name} in the store") from error
    except OSError as error:
        kind = FullError if error.errno in FULL else StoreError
        raise kind(f"the store refuses {path.name}: {error.strerror}") from error
