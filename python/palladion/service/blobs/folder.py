"""A store in a folder."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from palladion.service.blobs.store import FullError, MissingBlobError, StoreError

INCOMING = "incoming"


class Folder:
    """Blobs as files of a folder. See :class:`palladion.service.blobs.store.Store`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with translated(root):
            (root / INCOMING).mkdir(parents=True, exist_ok=True)

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        with translated(self.root):
            handle, name = tempfile.mkstemp(dir=self.root / INCOMING)
            os.close(handle)
        try:
            yield Path(name)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)

    def move_in(self, name: str, file: Path) -> None:
        to = self.root / name
        with translated(to):
            synchronise(file)
            if not to.parent.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                synchronise(to.parent.parent)
            os.replace(file, to)
            synchronise(to.parent)

    def put(self, name: str, data: bytes) -> None:
        with self.incoming() as file, translated(file):
            file.write_bytes(data)
            self.move_in(name, file)

    def read(self, name: str) -> bytes:
        file = self.file(name)
        with translated(file):
            return file.read_bytes()

    def file(self, name: str) -> Path:
        file = self.root / name
        if not file.is_file():
            raise MissingBlobError(f"there is no {name} in the store")
        return file

    def delete(self, name: str) -> None:
        with translated(self.root / name), suppress(FileNotFoundError):
            (self.root / name).unlink()

    def names(self, prefix: str) -> Iterator[str]:
        for folder, _, files in os.walk(self.root / prefix):
            for file in files:
                yield str(Path(folder, file).relative_to(self.root))

    def free(self) -> int | None:
        with translated(self.root):
            return shutil.disk_usage(self.root).free


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
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        kind = FullError if full else StoreError
        raise kind(f"the store refuses {path.name}: {error.strerror}") from error
