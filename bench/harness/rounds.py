"""Runs the programs in turn, so that a drift of the machine's speed affects all of them."""

from __future__ import annotations

import itertools
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
from .judges import refuse_wrong
from .programs import Command, Line, Program, Run, definition, run_program

# Groups of rows by scheme. The transforms belong to the scheme that was first.
SCHEMES = {
    "bfv": ("ntt", "bfv"),
    "bgv": ("bgv",),
    "ckks": ("ckks", "bootstrap", "lookup"),
    "tfhe": ("tfhe",),
}
GROUPS = tuple(group for groups in SCHEMES.values() for group in groups)


@dataclass(frozen=True)
class Plan:
    """The measurements to make, and the number of repetitions."""

    groups: list[str]
    # Each group is run with each of these numbers of threads.
    threads: list[int]
    rounds: int


@dataclass
class Measured:
    """One operation of one program over all rounds."""

    program: str
    name: str
    parameters: dict[str, Any]
    threads: int
    # Operations done in parallel. The seconds are then the total time divided by their number.
    at_once: int = 1
    samples: int = 0
    # Median and minimum of each round.
    medians: list[float] = field(default_factory=list)
    minima: list[float] = field(default_factory=list)
    # Memory of the process that makes all rows of the group, in bytes.
    peak_memory: int = 0
    # The report of the program about the result, if it checks the result itself.
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The median of the rounds' medians."""
        return median(self.medians)

    def add(self, line: Line, peak_memory: int) -> None:
        """Adds another round."""
        self.samples += line["samples"]
        self.medians.append(line["seconds"])
        self.minima.append(line["min"])
        self.peak_memory = max(self.peak_memory, peak_memory)
        self.found = line.get("found", {})

    def as_row(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "name": self.name,
            "parameters": self.parameters,
            "threads": self.threads,
            "at_once": self.at_once,
            "seconds": self.seconds,
            "samples": self.samples,
            "min": min(self.minima),
            "round_medians": self.medians,
            "peak_memory_bytes": self.peak_memory,
            **({"found": self.found} if self.found else {}),
        }


@dataclass
class Outcome:
    """All results of a run."""

    rows: list[Measured]
    # (group, program) -> the reason why there are no rows.
    not_run: dict[tuple[str, str], str]
    # Cores of the programs with the most threads. None if the system cannot bind to cores.
    pinned_to: list[int] | None
    # Average number of cores that other processes kept busy. None if that is not known.
    others: float | None


def cores() -> list[int]:
    """The cores that this process may use; numbers from 0 on if the system cannot bind to cores."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_to(chosen: list[int]) -> list[int] | None:
    """Binds this process and its children to cores, if the system can."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    os.sched_setaffinity(0, chosen)
    return chosen


def measure(
    programs: list[Program],
    commands: dict[str, Command],
    plan: Plan,
    say: Callable[[str], None],
) -> Outcome:
    """All groups, each in rounds: A B C, A B C, ..."""
    outcome = Outcome([], {}, None, None)
    started, allowed = Clocks.read(), cores()
    found: dict[tuple[str, int, str, str], Measured] = {}
    for group, threads in itertools.product(plan.groups, sorted(plan.threads)):
        outcome.pinned_to = pin_to(allowed[-threads:])
        # Circuits that take minutes are measured once.
        rounds = 1 if "available_gb" in definition(group) else plan.rounds
        for number in range(1, rounds + 1):
            for program in programs:
                key = (group, program.name)
                if group not in program.groups or key in outcome.not_run:
                    continue
                say(f"{group} on {threads}: round {number} of {rounds}, {program.name}")
                run = Run(program.name, "time", group, threads)
                try:
                    lines, peak = _measured_lines(commands[program.name], run, say)
                except NotRunError as reason:
                    outcome.not_run[key] = str(reason)
                    continue
                for line in lines:
                    name, parameters = line["name"], line["parameters"]
                    row = found.setdefault(
                        (program.name, threads, name, json.dumps(parameters)),
                        Measured(program.name, name, parameters, threads),
                    )
                    row.at_once = line.get("at_once", 1)
                    row.add(line, peak)
    pin_to(allowed)
    outcome.rows = list(found.values())
    outcome.others = started.others_until(Clocks.read())
    return outcome


def _measured_lines(
    command: Command, run: Run, say: Callable[[str], None]
) -> tuple[list[Line], int]:
    if isinstance(command, NotRunError):
        raise command
    lines, peak = run_program(command, run, say)
    for line in lines:
        refuse_wrong(run.group, line)
    return lines, peak


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
        """Average number of cores that others kept busy between two readings."""
        if self.all is None or end.all is None:
            return None
        busy = end.all - self.all - (end.ours - self.ours)
        return max(0.0, busy / (end.wall - self.wall))
