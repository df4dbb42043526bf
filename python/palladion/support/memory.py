"""Checks of free memory before it is allocated: a process that runs out of it is just killed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from palladion.errors import BudgetError
from palladion.support.reservations import OWN
from palladion.support.text import size

if TYPE_CHECKING:
    from palladion.facts import ClientFacts, Costs

GROUPS: Final = Path("/sys/fs/cgroup")
LESS: Final = (
    "compile with a smaller batch, or a network with fewer bits of weights and activations, or "
    "take a machine with more memory"
)
"""The way out for a run."""

SMALLER: Final = "make them on a machine with more memory, or compile a smaller network"
"""The way out for making keys."""

UNLIMITED: Final = 1 << 60
"""Larger limits of a control group count as no limit."""


def available(groups: Path = GROUPS) -> int:
    """Bytes that this process can still allocate, by the machine, by its control groups, and by its
    own limits (``ulimit -v``). What this and other processes have reserved is not left."""
    left = [int(psutil.virtual_memory().available)]
    for limit, used, reclaimable in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        for folder in own_groups(groups, limit):
            most, taken = number(folder / Path(limit).name), number(folder / Path(used).name)
            if most is not None and taken is not None and most < UNLIMITED:
                left.append(most - taken + field(folder / "memory.stat", reclaimable))
    return max(0, min(min(left) - OWN.unused(), *by_limits(), UNLIMITED))


@cache
def installed(groups: Path = GROUPS) -> int:
    """Bytes of memory that this process could have if nothing else ran, by the machine and by its
    control groups."""
    most = [int(psutil.virtual_memory().total)]
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        folders = own_groups(groups, limit)
        most += [found for folder in folders if (found := number(folder / Path(limit).name))]
    return min(most)


def by_limits() -> list[int]:
    """Bytes that the limits of this process leave: of address space, and of data."""
    if sys.platform == "win32":
        return []
    import resource

    process = psutil.Process()
    used = process.memory_info()
    left = []
    for limit, taken in (
        (resource.RLIMIT_AS, used.vms),
        (resource.RLIMIT_DATA, getattr(used, "data", used.vms)),
    ):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            left.append(int(most - taken))
    return left


def own_groups(groups: Path, limit: str) -> list[Path]:
    """Folders of the control groups of this process, from the innermost to the outermost."""
    base = groups / Path(limit).parent
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return [base]
    found = [base]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            inner = base / path.lstrip("/")
            found += [p for p in (inner, *inner.parents) if base in p.parents]
    return found


def number(path: Path) -> int | None:
    """The number in a file, or ``None`` if there is none."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def field(path: Path, name: str) -> int:
    """A field of ``memory.stat``, or 0 if it is missing."""
    try:
        rows = (line.split() for line in path.read_text(encoding="ascii").splitlines())
        return next((int(row[1]) for row in rows if row[0] == name), 0)
    except (OSError, ValueError, IndexError):
        return 0


def check(what: str, needed: int, way_out: str, groups: Path = GROUPS) -> None:
    """Refuse work that needs more memory than is left.

    Raises
    ------
    BudgetError
        The message has both numbers and the remedy.
    """
    left = available(groups)
    if needed > left:
        raise BudgetError(f"{what} needs {size(needed)} of memory and {size(left)} are left: "
                          f"{way_out}")  # fmt: skip


@contextmanager
def reserved(what: str, needed: int, way_out: str) -> Iterator[None]:
    """Check the memory for the work of the body, and reserve it. Raises as :func:`check`."""
    with OWN.reserved(needed, lambda: check(what, needed, way_out)):
        yield


def check_run(network: str, costs: Costs, *, keys_are_loaded: bool = False) -> None:
    """Check the memory for a run of a network. Raises as :func:`check`."""
    check(f"a run of {network}", for_run(costs, keys_are_loaded), LESS)


@contextmanager
def reserved_run(network: str, costs: Costs, *, keys_are_loaded: bool = False) -> Iterator[None]:
    """As :func:`check_run`, and reserve the memory for the body."""
    with reserved(f"a run of {network}", for_run(costs, keys_are_loaded), LESS):
        yield


def for_run(costs: Costs, keys_are_loaded: bool) -> int:
    """Bytes of memory that a run takes."""
    keys = 0 if keys_are_loaded else costs.predicted_key_memory_bytes
    return keys + costs.predicted_running_memory_bytes


@contextmanager
def reserved_keys(facts: ClientFacts) -> Iterator[None]:
    """Reserve the memory for making keys, with room for their bytes. Raises as :func:`check`."""
    held, written = facts.predicted_key_memory_bytes, facts.predicted_evaluation_key_bytes
    with reserved(f"making the keys of {facts.network}", held + 2 * written, SMALLER):
        yield


def check_writing(facts: ClientFacts) -> None:
    """Check the memory for making keys and writing them one at a time. Raises as :func:`check`."""
    check(f"making the keys of {facts.network}", facts.predicted_writing_memory_bytes, SMALLER)


@contextmanager
def reserved_writing(facts: ClientFacts) -> Iterator[None]:
    """As :func:`check_writing`, and reserve the memory for the body."""
    needed = facts.predicted_writing_memory_bytes
    with reserved(f"making the keys of {facts.network}", needed, SMALLER):
        yield
