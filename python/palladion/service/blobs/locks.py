"""Locks of files by the processes that use them. They end with the process, however it ends."""

from __future__ import annotations

import sys


def lock_shared(handle: int) -> None:
    """Lock an open file, beside others that do. Windows, which keeps open files anyway, needs no
    lock."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_SH)


def lock_alone(handle: int) -> bool:
    """Lock an open file, if no other process has. Returns whether it did."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
