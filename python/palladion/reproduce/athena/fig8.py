"""Figure 8: the framework's programs on other accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel, words_of_machine
from palladion.errors import PalladionError
from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.simulated import network_of
from palladion.reproduce.reproduction import Cell, Column, Reproduction
from palladion.simulation import simulate

MACHINES: Final = ("athena", "sharp", "craterlake", "f1")
PRINTED: Final = {"sharp": 9.9, "craterlake": 3.8}
"""Section 5.2.2: the least factors by which these are slower than the Athena accelerator."""


def run(benchmarks: Sequence[str], models: Path, steps: Steps) -> Reproduction:
    """A network on each machine, by a program that is compiled for the machine's words."""
    rows: list[tuple[Cell, ...]] = []
    refused: dict[str, None] = {}
    for name in benchmarks or ("MNIST",):
        network = network_of(name, "w6a7", models)
        base = None
        for machine in MACHINES:
            try:
                with steps.step(f"compile {name} for {machine}"):
                    program = CompiledModel.of_network(
                        network, words=words_of_machine(Machine.of(machine))
                    )
                    trace = program.lower()
                steps.start_run()
                found = simulate(trace, machine, steps.count).report
            except PalladionError as error:
                rows.append((name, machine, PRINTED.get(machine), *[None] * 5))
                refused[str(error)] = None
                continue
            milliseconds = found.seconds * 1000
            base = base or milliseconds
            busiest = max(found.utilisation, key=lambda unit: found.utilisation[unit])
            rows.append(
                (
                    *(name, machine, PRINTED.get(machine), milliseconds, milliseconds / base),
                    *(found.joules, found.gap, busiest),
                )
            )
    return Reproduction(
        "Figure 8: our programs on other accelerators",
        (
            *(Column("network", "network"), Column("machine", "machine")),
            Column("paper_ratio", "paper x", ".1f"),
            *(Column("simulated_ms", "ms", ".2f"), Column("ratio", "ours x", ".2f")),
            *(Column("joules", "J", ".3f"), Column("gap", "gap", ".2f")),
            Column("busiest", "busiest"),
        ),
        rows,
        (
            *refused,
            "paper x: time over Athena's, at least; ours x: the same, simulated. Machines without "
            "a "
            "sample extraction or an FRU substitute other units, as the machine's file says beside "
            "each operation.",
            "The paper says that products and sums take more than 77 % (CraterLake) and 84 % "
            "(SHARP) "
            "of the time there: CraterLake's five multipliers of 2,048 lanes and SHARP's four "
            "units of "
            "256 against 17 blocks of 2,048.",
            "MNIST alone is no measure of the figure: it has few sums, and SHARP has 180 MB. "
            "--benchmark takes the other networks.",
        ),
    )
