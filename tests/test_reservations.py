"""Memory that processes reserve, so that two runs do not count on the same room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from palladion.errors import BudgetError
from palladion.support import memory, reservations
from palladion.support.reservations import Reservations

GIGABYTE = 10**9

HOLDER = """
import sys
from pathlib import Path
from palladion.support.reservations import Reservations
with Reservations(Path(sys.argv[1])).reserved(int(sys.argv[2]), lambda: None):
    print("reserved", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reservations:
    """Reservations in a folder of their own, on a machine with 2 GB left."""
    found = Reservations(tmp_path / "reservations")
    monkeypatch.setattr(memory, "OWN", found)
    monkeypatch.setattr(memory, "own_groups", lambda _groups, _limit: [])
    monkeypatch.setattr(memory, "by_limits", list)
    left = type("Left", (), {"available": 2 * GIGABYTE})
    monkeypatch.setattr(psutil, "virtual_memory", lambda: left)
    return found


@pytest.fixture
def other(own: Reservations) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has reserved 1.5 GB."""
    command = [sys.executable, "-c", HOLDER, str(own.folder), str(3 * GIGABYTE // 2)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reserved\n"
        yield process
        process.kill()


def work(needed: int) -> None:
    with memory.reserved("a run", needed, "wait"):
        pass


def test_of_two_runs_under_a_limit_for_one_the_second_is_refused(
    own: Reservations, other: subprocess.Popen[str]
) -> None:
    with pytest.raises(BudgetError, match=r"a run needs 1.00 GB of memory and [45]\d\d\.\d MB are"):
        work(GIGABYTE)
    work(GIGABYTE // 4)  # both have room
    other.communicate("")  # it ends
    work(GIGABYTE)
    assert not [file for file in own.folder.iterdir() if file.name != reservations.LOCK]


def test_the_reservation_of_a_killed_process_ends(
    own: Reservations, other: subprocess.Popen[str]
) -> None:
    assert own.unused() > GIGABYTE
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert (own.folder / str(other.pid)).exists()
    work(GIGABYTE)
    assert not (own.folder / str(other.pid)).exists()


def test_memory_that_is_taken_is_not_reserved_any_more(own: Reservations) -> None:
    with own.reserved(GIGABYTE, lambda: None):
        file = own.folder / str(os.getpid())
        process, found = reservations.owner(file)
        assert process is not None
        assert found is not None
        assert found.unused(process) == pytest.approx(GIGABYTE, rel=0.05)
        for taken, unused in ((0, GIGABYTE), (GIGABYTE // 4, 3 * GIGABYTE // 4), (2 * GIGABYTE, 0)):
            now = Mock(spec=psutil.Process)
            now.memory_info.return_value.rss = found.most - GIGABYTE + taken
            assert found.unused(now) == unused
    assert not file.exists()


def test_a_reservation_counts_for_the_work_within_it(own: Reservations) -> None:
    with memory.reserved("a run", 3 * GIGABYTE // 2, "wait"):
        work(GIGABYTE)  # such as the keys of the run
        with pytest.raises(BudgetError):
            work(3 * GIGABYTE)
    assert own.unused() == 0


def test_a_reservation_ends_with_an_error(own: Reservations) -> None:
    with pytest.raises(ValueError, match="of the body"), memory.reserved("a run", 1, "wait"):
        raise ValueError("of the body")
    assert not list(own.folder.glob("[0-9]*"))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"created": "x", "most": 1}', "\x00"])
def test_a_damaged_file_is_no_reservation(own: Reservations, text: str) -> None:
    own.folder.mkdir(mode=0o700)
    (own.folder / str(os.getppid())).write_text(text)
    assert own.unused() == 0


def test_a_folder_that_others_can_write_to_is_not_used(own: Reservations) -> None:
    own.folder.mkdir()
    own.folder.chmod(0o777)
    (own.folder / str(os.getpid())).write_text('{"created": 1.0, "most": 1000000000000}')
    work(GIGABYTE)
    assert own.unused() == 0
