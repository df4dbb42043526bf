"""Runs the programs in turn, so that a drift of the machine meets all of them."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .programs import Command, Line, NotRunError, Program, run_program

GROUPS = ("ntt", "bfv")


@dataclass
class Measured:
    """One operation of one program over all rounds."""

    program: str
    name: str
    parameters: dict[str, Any]
    threads: int
    samples: int = 0
    # Median and minimum of each round.
    medians: list[float] = field(default_factory=list)
    minima: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Median of the rounds' medians."""
        return median(self.medians)

    def as_row(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "name": self.name,
            "parameters": self.parameters,
            "threads": self.threads,
            "seconds": self.seconds,
            "samples": self.samples,
            "min": min(self.minima),
            "round_medians": self.medians,
        }


@dataclass
class Outcome:
    """Everything a run found out."""

    rows: list[Measured]
    # (group, program) -> why there are no rows.
    not_run: dict[tuple[str, str], str]
    pinned_to: int | None
    # Load average before the first round.
    load: float
    # Least share of its wall time that any program had a core for itself.
    least_core_share: float


def pin_to_one_core() -> int | None:
    """Binds this process and its children to one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def measure(
    programs: list[Program],
    commands: dict[str, Command],
    groups: list[str],
    rounds: int,
    say: Callable[[str], None],
) -> Outcome:
    """All groups, each in rounds: A B C, A B C, ..."""
    load = os.getloadavg()[0]
    outcome = Outcome([], {}, pin_to_one_core(), load, 1.0)
    found: dict[tuple[str, ...], Measured] = {}
    for group in groups:
        for number in range(1, rounds + 1):
            for program in programs:
                if group not in program.groups or (group, program.name) in outcome.not_run:
                    continue
                say(f"{group}: round {number} of {rounds}, {program.name}")
                command = commands[program.name]
                try:
                    if isinstance(command, NotRunError):
                        raise command
                    lines, share = _timed(command, group)
                except NotRunError as reason:
                    outcome.not_run[group, program.name] = str(reason)
                    continue
                outcome.least_core_share = min(outcome.least_core_share, share)
                for line in lines:
                    key = (program.name, line["name"], json.dumps(line["parameters"]))
                    row = found.setdefault(
                        key,
                        Measured(program.name, line["name"], line["parameters"], line["threads"]),
                    )
                    row.samples += line["samples"]
                    row.medians.append(line["seconds"])
                    row.minima.append(line["min"])
    outcome.rows = list(found.values())
    return outcome


def _timed(command: list[str], group: str) -> tuple[list[Line], float]:
    """The rows of one run, and the share of its wall time in which it had the core."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    lines = run_program(command, "time", group)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return lines, min(1.0, cpu / wall)
