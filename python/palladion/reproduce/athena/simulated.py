"""Our programs of the paper's networks, simulated on the paper's machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palladion import _native
from palladion.errors import UsageError
from palladion.evaluation import Steps
from palladion.machines import Machine
from palladion.nn.network import IntNetwork
from palladion.reproduce.athena.paper import BENCHMARKS

FILES: Final = {
    "MNIST": {"w7a7": "mnist.json", "w6a7": "mnist_w6a7.json"},
    "LeNet": {"w7a7": "lenet5_w7a7.json", "w6a7": "lenet5_w6a7.json"},
    "ResNet-20": {"w7a7": "resnet20_w7a7.json", "w6a7": "resnet20_w6a7.json"},
    "ResNet-56": {"w7a7": "resnet56_w7a7.json", "w6a7": "resnet56_w6a7.json"},
}
"""Files of integer networks in the folder of models, by the paper's name and precision."""

FBS: Final = ("pack", "table", "slots_to_coefficients")
"""Operations of our programs that the paper counts as non-linear: packing, tables, and back."""


@dataclass(frozen=True)
class Run:
    """One network at one precision on one machine. ``found`` is the report of the simulation."""

    benchmark: str
    precision: str
    network: IntNetwork
    program: dict[str, Any]
    found: dict[str, Any]

    @property
    def milliseconds(self) -> float:
        """Simulated."""
        return float(self.found["seconds"]) * 1000

    @property
    def bound(self) -> float:
        """Milliseconds that no schedule of this program can be below."""
        return self.milliseconds / float(self.found["gap"])

    @property
    def printed(self) -> float:
        """The paper's milliseconds."""
        return BENCHMARKS[self.benchmark].milliseconds[self.precision]

    def share(self, *operations: str) -> float:
        """Percent of the time between steps' ends that goes to steps of these operations."""
        steps = self.found["steps"]
        chosen = sum(s["cycles"] for s in steps if operation_of(s["name"]) in operations)
        return float(100 * chosen / max(1, sum(s["cycles"] for s in steps)))

    def energy_share(self, *components: str) -> float:
        """Percent of the energy that components take."""
        joules = self.found["joules_by_component"]
        return float(100 * sum(joules.get(name, 0.0) for name in components) / self.found["joules"])


def operation_of(step: str) -> str:
    """``table`` of a step named ``hidden: table``."""
    return step.rpartition(": ")[2]


def simulated(
    benchmarks: Sequence[str],
    precisions: Sequence[str],
    models: Path,
    steps: Steps,
    machine: Machine | None = None,
) -> list[Run]:
    """Each network at each precision, all of them if none is named.

    Raises
    ------
    UsageError
        If the folder lacks a network.
    """
    chosen = [name for name in FILES if not benchmarks or name in benchmarks]
    work = [(name, precision) for name in chosen for precision in precisions]
    return [run_of(name, precision, models, steps, machine) for name, precision in work]


def run_of(
    benchmark: str, precision: str, models: Path, steps: Steps, machine: Machine | None = None
) -> Run:
    """Compile, lower and simulate one network. ``machine`` is the paper's unless given."""
    path = models / FILES[benchmark][precision]
    if not path.is_file():
        raise UsageError(f"--models {models}: no {path.name} in it, which {benchmark} needs")
    network = IntNetwork.load(path)
    label = f"{benchmark} {precision}"
    with steps.step(f"compile {label}"):
        program = _native.compile(network.to_json(), 1)
    with steps.step(f"lower {label}"):
        trace, _ = program.lower()
        work = _native.Workload(trace.decode())
    steps.start_run()
    chosen = machine or Machine.named("athena")
    found = chosen.simulate(work, steps.count).report()
    return Run(benchmark, precision, network, program.report(), found)
