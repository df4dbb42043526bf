"""Runs a program that names its stages, with limits on memory and on the time of each stage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .environments import NotRunError, last_line

_STAGE = "stage: "
_PAUSE = 0.2
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Finished:
    output: str
    # Memory of the largest process, in bytes.
    peak_memory: int


@dataclass(frozen=True)
class Limits:
    """The limits of one program: bytes of resident memory, and seconds of one stage."""

    memory: int
    seconds: float


def available_memory() -> int:
    """Bytes that a new process may use. No limit if the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return sys.maxsize
    return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable:"))


def run(command: list[str], threads: int, limits: Limits, say: Callable[[str], None]) -> Finished:
    """Runs a command to its end, or ends it and raises NotRunError with the stage and the
    reason."""
    pools = ("GOMAXPROCS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            env=os.environ | dict.fromkeys(pools, str(threads)),
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        progress = _Progress(process, say)
        try:
            while True:
                pid, status, used = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if reason := _beyond(process.pid, progress, limits):
                    raise NotRunError(f"{reason} while {progress.stage}")
                time.sleep(_PAUSE)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            os.wait4(process.pid, 0)
            raise
        finally:
            process.returncode = 0  # its end was waited for
            progress.join()
        if status != 0:
            raise NotRunError(f"failed while {progress.stage}: {last_line(progress.text)}")
        output.seek(0)
        return Finished(output.read(), used.ru_maxrss * 1024)


def _beyond(pid: int, progress: _Progress, limits: Limits) -> str | None:
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, IndexError):
        resident = 0
    if resident > limits.memory:
        return f"more than {limits.memory / 1e9:.1f} GB of memory"
    if time.monotonic() - progress.since > limits.seconds:
        return f"more than {limits.seconds:.0f} s"
    return None


class _Progress(threading.Thread):
    """Reads a program's messages on standard error."""

    def __init__(self, process: subprocess.Popen[str], say: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self.stage, self.since, self.text = "starting", time.monotonic(), ""
        self._lines, self._say = process.stderr, say
        self.start()

    def run(self) -> None:
        for line in self._lines or ():
            if line.startswith(_STAGE):
                self.stage, self.since = line.removeprefix(_STAGE).strip(), time.monotonic()
                self._say(f"  {self.stage}")
            else:
                # The error is at the end.
                self.text = (self.text + line)[-20_000:]
