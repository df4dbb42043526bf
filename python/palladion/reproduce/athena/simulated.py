"""Our programs of the paper's networks, simulated on the paper's machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel, words_of_machine
from palladion.errors import UsageError
from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.nn.integers.network import IntNetwork
from palladion.reproduce.athena.paper import BENCHMARKS
from palladion.reproduce.athena.table5 import FILES
from palladion.simulation import SimulatedStep, SimulationReport, simulate

CALL: Final = re.compile(r"= call ([a-z_]+)\.")
STEP: Final = re.compile(r"^\s*step (.*):$")
MACHINE: Final = "athena"

SOFTMAX: Final = {
    "MNIST": ("w7a7", "mnist_softmax.json"),
    "LeNet": ("w6a7", "lenet5_softmax_w6a7.json"),
}
"""Networks that end in a softmax: precision and file."""


@dataclass(frozen=True)
class Run:
    """One network at one precision.

    ``found`` is the report of the simulation, ``calls`` the sub-traces that each operation calls,
    ``entries`` the accumulators that each table of the network takes. ``softmax`` says whether the
    network ends in a softmax.
    """

    benchmark: str
    precision: str
    found: SimulationReport
    calls: dict[str, Counter[str]]
    entries: tuple[int, ...]
    softmax: bool = False

    @property
    def name(self) -> str:
        """``MNIST``, or ``MNIST, softmax``."""
        return f"{self.benchmark}, softmax" if self.softmax else self.benchmark

    @property
    def milliseconds(self) -> float:
        """Simulated."""
        return float(self.found.seconds) * 1000

    @property
    def bound(self) -> float:
        """Milliseconds that no schedule of this program can be below."""
        return self.milliseconds / float(self.found.gap)

    @property
    def printed(self) -> float:
        """The paper's milliseconds."""
        return BENCHMARKS[self.benchmark].milliseconds[self.precision]

    @property
    def tables(self) -> list[SimulatedStep]:
        """The steps that are tables."""
        return [step for step in self.found.steps if operation_of(step.name) == "table"]

    def share(self, *operations: str) -> float:
        """Percent of the time between steps' ends that goes to steps of these operations."""
        steps = self.found.steps
        chosen = sum(s.cycles for s in steps if operation_of(s.name) in operations)
        return float(100 * chosen / max(1, sum(s.cycles for s in steps)))

    def energy_share(self, *components: str) -> float:
        """Percent of the energy that components take."""
        joules = self.found.joules_by_component
        return float(100 * sum(joules.get(name, 0.0) for name in components) / self.found.joules)


def calls(trace: str) -> dict[str, Counter[str]]:
    """For each operation of a program the sub-traces that its steps call."""
    found: dict[str, Counter[str]] = {}
    current: Counter[str] = Counter()
    for line in trace.rpartition("\nmain")[2].splitlines():
        if step := STEP.match(line):
            current = found.setdefault(operation_of(step[1]), Counter())
        elif call := CALL.search(line):
            current[call[1]] += 1
    return found


def operation_of(step: str) -> str:
    """``table`` of a step named ``hidden: table``."""
    return step.rpartition(": ")[2]


def network_of(benchmark: str, precision: str, models: Path) -> IntNetwork:
    """A network of the folder of models.

    Raises
    ------
    UsageError
        If the folder lacks it.
    """
    return network_in(models, FILES[benchmark][precision], benchmark)


def network_in(models: Path, file: str, benchmark: str) -> IntNetwork:
    """As :func:`network_of`, by the name of the file."""
    path = models / file
    if not path.is_file():
        raise UsageError(f"--models {models}: no {path.name} in it, which {benchmark} needs")
    return IntNetwork.load(path)


def simulated(
    benchmarks: Sequence[str],
    precisions: Sequence[str],
    models: Path,
    steps: Steps,
    softmax: bool = False,
) -> list[Run]:
    """Each network at each precision, all of them if none is named. ``softmax`` adds those that end
    in a softmax.

    Raises
    ------
    UsageError
        If the folder lacks a network.
    """
    chosen = [name for name in FILES if not benchmarks or name in benchmarks]
    work = [(name, precision) for name in chosen for precision in precisions]
    runs = [run_of(name, precision, models, steps) for name, precision in work]
    for name, (precision, file) in SOFTMAX.items() if softmax else ():
        if name in chosen and precision in precisions:
            network = network_in(models, file, name)
            run = run_of_network(name, precision, network, steps)
            runs.append(replace(run, softmax=True))
    return runs


RUNS: Final[dict[str, Run]] = {}
"""Runs of this process by their network's JSON: several tables show the same."""


def run_of(benchmark: str, precision: str, models: Path, steps: Steps) -> Run:
    """Compile, lower and simulate one network on the paper's machine."""
    return run_of_network(benchmark, precision, network_of(benchmark, precision, models), steps)


def run_of_network(benchmark: str, precision: str, network: IntNetwork, steps: Steps) -> Run:
    """As :func:`run_of`, for a network that was read."""
    key = network.to_json()
    if key not in RUNS:
        RUNS[key] = simulated_run(benchmark, precision, network, steps)
    return RUNS[key]


def simulated_run(benchmark: str, precision: str, network: IntNetwork, steps: Steps) -> Run:
    """As :func:`run_of`, always anew."""
    label = f"{benchmark} {precision}"
    with steps.step(f"compile {label}"):
        program = CompiledModel.of_network(network, words=words_of_machine(Machine.of(MACHINE)))
    with steps.step(f"lower {label}"):
        trace = program.lower()
        _ = trace.work
    steps.start_run()
    report = simulate(trace, MACHINE, steps.count).report
    return Run(benchmark, precision, report, calls(trace.text), entries_of(network))


def entries_of(network: IntNetwork) -> tuple[int, ...]:
    """Accumulators of each layer with a table, from minus its bound to its bound."""
    return tuple(2 * layer.bound + 1 for layer in network.layers if layer.lut is not None)
