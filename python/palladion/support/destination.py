"""Where the bytes for a path go: into a file that is replaced, or into a pipe or device."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.errors import DataError, UsageError
from palladion.support.text import size

LINKS: Final = 40
"""The most links that are followed, as Linux has it."""

FULL: Final = (1, 7)
"""Numbers of Linux's device /dev/full, which opens and then takes nothing."""


@dataclass(frozen=True)
class Destination:
    """Where the bytes for a path go."""

    path: Path
    """The path as the user gave it, for messages."""
    file: Path
    """The file behind all links."""
    handle: int | None
    """The descriptor of this process that the path names, as /dev/stdout and /dev/fd/N do."""

    @classmethod
    def of(cls, path: Path) -> Destination:
        """Follow the links of a path. The file need not exist."""
        current = path.absolute()
        for _ in range(LINKS):
            folder = os.path.realpath(current.parent)
            if folder in ("/dev/fd", f"/proc/{os.getpid()}/fd") and current.name.isdecimal():
                return cls(path, current, int(current.name))
            current = Path(folder, current.name)
            if not current.is_symlink():
                return cls(path, current, None)
            current = Path(folder, current.readlink())
        raise DataError(f"cannot write {path}: {os.strerror(errno.ELOOP)}") from os_error(
            errno.ELOOP
        )

    @property
    def streams(self) -> bool:
        """True if bytes are sent on: to a pipe or a device, which is no file to replace."""
        if self.handle is not None:
            return True
        try:
            mode = self.file.stat().st_mode
        except OSError:
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)

    @property
    def is_stdout(self) -> bool:
        """True if bytes go to the standard output of the process."""
        return self.handle == 1

    def check(self, needed: int = 0) -> None:
        """Check that ``needed`` bytes can be written, before they are computed.

        Raises
        ------
        DataError
            The message names the path and the reason.
        """
        try:
            if self.streams:
                self._check_stream()
            else:
                self._check_file(needed)
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror}") from error

    def _check_stream(self) -> None:
        found = self.file.stat() if self.handle is None else os.fstat(self.handle)
        if stat.S_ISCHR(found.st_mode) and sys.platform == "linux":
            number = (os.major(found.st_rdev), os.minor(found.st_rdev))
            if number == FULL:
                raise os_error(errno.ENOSPC)
        if self.handle is not None:
            os.write(self.handle, b"")
        elif not os.access(self.file, os.W_OK):
            raise os_error(errno.EACCES)

    def _check_file(self, needed: int) -> None:
        folder = self.file.parent
        if not folder.is_dir():
            there = "is no folder" if folder.exists() else "does not exist: make it first"
            raise DataError(f"cannot write {self.path}: the folder {folder} {there}") from os_error(
                errno.ENOENT
            )
        if self.file.is_dir():
            raise DataError(f"cannot write {self.path}: it is a folder, expected the name of a "
                            "file") from os_error(errno.EISDIR)  # fmt: skip
        if self.file.exists():
            if not self.file.is_file():
                raise DataError(f"cannot write {self.path}: it is no file, pipe or character "
                                "device")  # fmt: skip
            if not os.access(self.file, os.W_OK):
                raise DataError(f"cannot write {self.path}: it is read-only") from os_error(
                    errno.EACCES
                )
        check_room(folder, self.path, needed)


def os_error(number: int) -> OSError:
    """The error of the operating system with a number: the cause of an error found beforehand."""
    return OSError(number, os.strerror(number))


def check_room(folder: Path, path: Path, needed: int) -> None:
    """Make a file in a folder and remove it, so that the answer is the system's own.

    Raises
    ------
    DataError
        If the disk has less than ``needed`` bytes left.
    OSError
        If the system refuses the file.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix=".palladion.")
    os.close(handle)
    os.unlink(name)
    if needed and hasattr(os, "statvfs"):
        found = os.statvfs(folder)
        left = found.f_bavail * found.f_frsize
        if left < needed:
            raise DataError(f"cannot write {path}: it takes {size(needed)}, and {size(left)} are "
                            f"free in {folder}") from os_error(errno.ENOSPC)  # fmt: skip


def check_folder(path: Path) -> None:
    """Check that a folder for results can be made, if it is not there, and written to.

    Raises
    ------
    UsageError
        The message names the folder and the reason.
    """
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise UsageError(f"cannot make the folder {path}: {there} is no folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(
            f"cannot write to the folder {there}: expected one that you may write to"
        ) from os_error(errno.EACCES)
    try:
        check_room(there, path, 0)
    except OSError as error:
        raise UsageError(f"cannot write to the folder {there}: {error.strerror}") from error


def make_folder(path: Path) -> None:
    """Make a folder for results, and check that files can be written to it.

    Raises
    ------
    UsageError
        If it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {path}: {error.strerror}") from error
    check_folder(path)
