"""A store in a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from palladion.service.blobs.incoming import Incoming, synchronise, translated
from palladion.service.blobs.store import MissingBlobError


class Folder:
    """Blobs as files of a folder. See :class:`palladion.service.blobs.store.Store`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._incoming = Incoming(root / "incoming")

    def incoming(self) -> AbstractContextManager[Path]:
        return self._incoming.file()

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

    def check(self) -> None:
        self.free()
