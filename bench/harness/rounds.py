"""Runs the programs in turn, so that a drift of the machine meets all of them."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from .environments import NotRunError
from .programs import Command, Program, run_program

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
    # Cores that other processes kept busy meanwhile, on average; None where it cannot be told.
    others: float | None


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
    outcome = Outcome([], {}, pin_to_one_core(), None)
    started = Clocks.read()
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
                    lines = run_program(command, "time", group)
                except NotRunError as reason:
                    outcome.not_run[group, program.name] = str(reason)
                    continue
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
    outcome.others = started.others_until(Clocks.read())
    return outcome


@dataclass
class Clocks:
    """Seconds: wall time, processor time of our children, and of all processes."""

    wall: float
    ours: float
    all: float | None

    @classmethod
    def read(cls) -> Clocks:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            first_line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
        except OSError:
            busy = None
        else:
            user, nice, system, _idle, _wait, irq, soft_irq, *_ = map(int, first_line.split()[1:])
            busy = (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK")
        return cls(time.perf_counter(), children.ru_utime + children.ru_stime, busy)

    def others_until(self, end: Clocks) -> float | None:
        """Cores that others kept busy between two readings."""
        if self.all is None or end.all is None:
            return None
        busy = end.all - self.all - (end.ours - self.ours)
        return max(0.0, busy / (end.wall - self.wall))
