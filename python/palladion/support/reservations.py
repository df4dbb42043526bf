"""Reservations of memory, which the processes of a user see.

A look at the free memory does not suffice: of two runs that start together, each sees the room that
the other is about to take. Each process therefore writes down how much it is going to take, and
counts as taken what others have reserved and do not use yet.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

LOCK: Final = "lock"


@dataclass(frozen=True)
class Reservation:
    """The memory that a process has reserved, as its file says."""

    created: float
    """When the process was made: another one may get its number later."""
    most: int
    """Bytes that it may take in all."""

    def unused(self, process: psutil.Process) -> int:
        """Bytes that it has reserved and not taken."""
        return max(0, self.most - process.memory_info().rss)


class Reservations:
    """The reservations of all processes that share a folder, and those of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._guard = threading.RLock()
        self._held: list[int] = []
        self._base = 0
        self._inside = threading.local()

    @property
    def inside(self) -> bool:
        """Whether this thread works within a reservation."""
        return getattr(self._inside, "reserved", False)

    def unused(self) -> int:
        """Bytes that processes have reserved and not taken. Those of this process count unless the
        caller works within a reservation: it is about to take them."""
        total = 0
        for file in self._files():
            if self.inside and file.name == str(os.getpid()):
                continue
            process, reservation = owner(file)
            if process is None or reservation is None:
                with suppress(OSError):
                    file.unlink()
                continue
            with suppress(psutil.Error):
                total += reservation.unused(process)
        return total

    @contextmanager
    def reserved(self, needed: int, check: Callable[[], None]) -> Iterator[None]:
        """Reserve ``needed`` bytes for the body, if ``check`` raises nothing. Within another
        reservation, which counts for the body too, nothing is reserved."""
        if self.inside:
            check()
            yield
            return
        with self._alone():
            check()
            if not self._held:
                self._base = psutil.Process().memory_info().rss
            self._held.append(needed)
            self._write()
        self._inside.reserved = True
        try:
            yield
        finally:
            self._inside.reserved = False
            with self._guard:
                self._held.remove(needed)
                self._write()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes and threads from looking and reserving while the body does."""
        with self._guard:
            # On Windows, two looks at the same moment may both find room.
            if sys.platform == "win32" or not self._make_folder():
                yield
                return
            import fcntl

            handle = os.open(self.folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                yield
            finally:
                os.close(handle)

    def _make_folder(self) -> bool:
        """Make the folder. False if that does not succeed, or another user can write to it."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, exist_ok=True)
        return self._is_own()

    def _is_own(self) -> bool:
        """Whether the folder is there, and only this user writes to it."""
        with suppress(OSError):
            found = self.folder.lstat()
            if stat.S_ISDIR(found.st_mode):
                own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
                return own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return False

    def _files(self) -> list[Path]:
        with suppress(OSError):
            if self._is_own():
                return [file for file in self.folder.iterdir() if file.name.isdigit()]
        return []

    def _write(self) -> None:
        """Write the file of this process, or remove it. A failure leaves a look without it."""
        file = self.folder / str(os.getpid())
        with suppress(OSError):
            if not self._held:
                file.unlink()
                return
            if self._make_folder():
                created = psutil.Process().create_time()
                text = json.dumps({"created": created, "most": self._base + sum(self._held)})
                fresh = self.folder / f"{os.getpid()}.new"
                fresh.write_text(text, encoding="ascii")
                fresh.replace(file)


def owner(file: Path) -> tuple[psutil.Process | None, Reservation | None]:
    """The process that a file is of, if it still runs, and its reservation."""
    try:
        found = json.loads(file.read_text(encoding="ascii"))
        reservation = Reservation(float(found["created"]), int(found["most"]))
        process = psutil.Process(int(file.name))
        same = process.create_time() == reservation.created
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return None, None
    return (process, reservation) if same else (None, None)


def folder() -> Path:
    """The folder of this user's reservations."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"palladion-{user}"


OWN: Final = Reservations(folder())
"""The reservations of this process among those of its user."""
