"""Copies of blobs on the local disk, within a budget of bytes."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from palladion.service.blobs.incoming import (
    Incoming,
    remove_unless_locked,
    synchronise,
    translated,
)
from palladion.service.blobs.locks import lock_shared

HELD: Final = 32
"""Copies that a process used last. They stay, however small the budget is. A worker uses a program
and some files of keys at once."""


class Cache:
    """Copies in a folder that the processes of a machine share. Those that were used last stay.

    A process locks the copies that it used last, and no process removes what another has locked. A
    name has one copy until it is removed: a process may open the same path twice.

    Parameters
    ----------
    budget
        Bytes that all copies may have. Copies that are in use may have more.
    """

    def __init__(self, folder: Path, budget: int) -> None:
        self._folder = folder
        self._budget = budget
        self._incoming = Incoming(folder / "incoming")
        self._blobs = folder / "blobs"
        self._held: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        self.incoming = self._incoming.file

    def file(self, name: str, size: Callable[[], int], fetch: Callable[[Path], None]) -> Path:
        """The copy of a blob. If there is none, ``size`` asks for its bytes, and ``fetch`` writes
        them to a file."""
        path = self._blobs / name
        while not self._hold(name, path):
            self._make_room(size())
            with self.incoming() as new:
                fetch(new)
                with translated(path):
                    synchronise(new)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    # Where another process was faster, its copy stays: it may use it already.
                    with suppress(FileExistsError):
                        os.link(new, path)
        return path

    def forget(self, name: str) -> None:
        """Remove the copy of a blob that is gone, also while it is in use."""
        with self._lock:
            if (handle := self._held.pop(name, None)) is not None:
                os.close(handle)
        with translated(self._blobs / name):
            (self._blobs / name).unlink(missing_ok=True)

    def _hold(self, name: str, path: Path) -> bool:
        """Lock a copy. Returns whether there is one."""
        with self._lock:
            handle = self._held.pop(name, None)
            if handle is not None and not os.fstat(handle).st_nlink:
                os.close(handle)  # another process forgot it
                handle = None
            if handle is None:
                handle = locked(path)
            if handle is None:
                return False
            self._held[name] = handle
            os.utime(handle)
            while len(self._held) > HELD:
                os.close(self._held.popitem(last=False)[1])
        return True

    def _make_room(self, size: int) -> None:
        """Remove copies until there is room for ``size`` bytes more, or all the others are in
        use."""
        copies = sorted(self._copies())
        held = sum(size for _, size, _ in copies)
        for _, bytes_of_copy, path in copies:
            if held + size <= self._budget:
                return
            if remove_unless_locked(path):
                held -= bytes_of_copy

    def _copies(self) -> Iterator[tuple[float, int, Path]]:
        """Last use, size and path of each copy."""
        for folder, _, files in os.walk(self._blobs):
            for file in files:
                path = Path(folder, file)
                try:
                    stat = path.stat()
                except FileNotFoundError:
                    continue
                yield stat.st_mtime, stat.st_size, path


def locked(path: Path) -> int | None:
    """An open file that other processes do not remove; ``None`` if there is none."""
    with translated(path):
        try:
            handle = os.open(path, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return None
    lock_shared(handle)
    if os.fstat(handle).st_nlink:
        return handle
    os.close(handle)
    return None
