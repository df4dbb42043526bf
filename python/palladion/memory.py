"""Memory that is left, asked before it is taken: a process that runs out of it just ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from palladion.errors import BudgetError
from palladion.text import size

GROUPS: Final = Path("/sys/fs/cgroup")
UNLIMITED: Final = 1 << 60
"""Limits of a control group beyond this are none."""


def available(groups: Path = GROUPS) -> int:
    """Bytes that this process can still take: of the machine, and of its control groups."""
    left = [int(psutil.virtual_memory().available)]
    for limit, used, reclaimable in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        for folder in own_groups(groups, limit):
            most, taken = number(folder / Path(limit).name), number(folder / Path(used).name)
            if most is not None and taken is not None and most < UNLIMITED:
                left.append(most - taken + field(folder / "memory.stat", reclaimable))
    return max(0, min(left))


def own_groups(groups: Path, limit: str) -> list[Path]:
    """Folders of the control groups that this process is in, from its own to the outermost."""
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
    """A number in a file; nothing if there is none."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def field(path: Path, name: str) -> int:
    """A field of ``memory.stat``; 0 if there is none."""
    try:
        rows = (line.split() for line in path.read_text(encoding="ascii").splitlines())
        return next((int(row[1]) for row in rows if row[0] == name), 0)
    except (OSError, ValueError, IndexError):
        return 0


def check(what: str, needed: int, way_out: str, groups: Path = GROUPS) -> None:
    """Refuse to begin what needs more memory than is left.

    Raises
    ------
    BudgetError
        With both numbers and the way out.
    """
    left = available(groups)
    if needed > left:
        raise BudgetError(f"{what} needs {size(needed)} of memory and {size(left)} are left: "
                          f"{way_out}")  # fmt: skip


def check_run(report: Mapping[str, Any], *, keys_are_loaded: bool = False) -> None:
    """Before a run; raises as :func:`check`."""
    keys = 0 if keys_are_loaded else report["predicted_key_memory_bytes"]
    check(
        f"a run of {report['network']}",
        int(keys + report["predicted_running_memory_bytes"]),
        "compile with a smaller batch, or a network with fewer bits of weights and activations, or "
        "take a machine with more memory",
    )


def check_keys(report: Mapping[str, Any]) -> None:
    """Before keys are made in memory, with room for their bytes; raises as :func:`check`."""
    keys = report["predicted_key_memory_bytes"] + 2 * report["predicted_evaluation_key_bytes"]
    check_making(report, keys)


def check_writing(report: Mapping[str, Any]) -> None:
    """Before keys are made and written one at a time; raises as :func:`check`."""
    check_making(report, report["predicted_writing_memory_bytes"])


def check_making(report: Mapping[str, Any], needed: float) -> None:
    """Keys that need so much memory; raises as :func:`check`."""
    check(
        f"making the keys of {report['network']}",
        int(needed),
        "make them on a machine with more memory, or compile a smaller network",
    )
