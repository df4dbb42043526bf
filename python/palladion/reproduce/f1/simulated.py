"""Our programs on the paper's machine, with the digits of key switching that suit it best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palladion import _native
from palladion.errors import SecurityError
from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.reproduce.f1.paper import FIGURE_5, Benchmark
from palladion.simulation import SimulationReport, simulate
from palladion.support.records import Json
from palladion.traces import Trace

CALL: Final = re.compile(r"= call ([a-z.]+)\.")
ROTATIONS: Final = ("rotate", "automorphism", "turn")
"""Sub-traces of a rotation: with a decomposition of its own, with a shared one, or undivided."""


@dataclass(frozen=True)
class Run:
    """One of our programs, with digits of one size, simulated."""

    benchmark: Benchmark
    program: str
    made: Json
    calls: Counter[str]
    found: SimulationReport

    @property
    def milliseconds(self) -> float:
        """Simulated."""
        return float(self.found.seconds) * 1000

    @property
    def bound(self) -> float:
        """Milliseconds that no schedule is below."""
        return self.milliseconds / float(self.found.gap)

    @property
    def tight_bound(self) -> float:
        """The same with the chains around all work."""
        return self.milliseconds / float(self.found.tight_gap)

    @property
    def rotations(self) -> int:
        """Rotations and conjugations of ciphertexts."""
        return sum(self.calls[name] for name in ROTATIONS)

    @property
    def products(self) -> int:
        """Products of ciphertexts, or sums of them, that are relinearised."""
        return self.calls["relinearize"]

    @property
    def label(self) -> str:
        """For plots: the program, a word on a line."""
        return self.program.replace("bootstrapping", "boot").replace("-", "\n")

    def traffic(self, *kinds: str) -> int:
        """Bytes of some kinds."""
        return sum(int(self.found.traffic_bytes[kind]) for kind in kinds)

    def share(self, *kinds: str) -> float:
        """Percent of all traffic."""
        return 100 * self.traffic(*kinds) / float(self.found.traffic_total)


def simulated(
    benchmarks: Sequence[str], digit_limbs: Sequence[int], steps: Steps
) -> list[tuple[Run, list[Run]]]:
    """Of each program the fastest run, and all runs, in the order of the digits."""
    chosen = [name for name in FIGURE_5 if not benchmarks or name in benchmarks]
    work = [(FIGURE_5[name], program) for name in chosen for program in FIGURE_5[name].ours]
    runs = []
    for benchmark, program in work:
        steps.start_run()
        all_runs = list(runs_of(benchmark, program, digit_limbs or benchmark.digit_limbs, steps))
        runs.append((min(all_runs, key=lambda run: run.milliseconds), all_runs))
    return runs


def runs_of(
    benchmark: Benchmark, program: str, digit_limbs: Sequence[int], steps: Steps
) -> Iterator[Run]:
    """The digits for which the program is secure, or says that it is not.

    Raises
    ------
    SecurityError
        If there are none.
    """
    machine, refused, made_any = Machine.named("f1"), None, False
    for done, digits in enumerate(digit_limbs):
        steps.count(program, done, len(digit_limbs))
        try:
            trace, made = _native.benchmark_trace(program, digits)
        except SecurityError as error:
            refused = error
            continue
        made_any = True
        calls = Counter(CALL.findall(trace.rpartition("\nmain")[2]))
        yield Run(benchmark, program, made, calls, simulate(Trace(trace), machine).report)
    if refused is not None and not made_any:
        raise refused
