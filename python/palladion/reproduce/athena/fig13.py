"""Figure 13: sensitivity to the lanes of each unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.simulated import network_of
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series
from palladion.simulation import SimulationReport, simulate
from palladion.traces import Trace

UNITS: Final = {"NTT": "ntt", "FRU": "fru", "Automorphism": "automorphism", "SE": "extraction"}
LANES: Final = (256, 512, 1024, 2048)
FIGURES: Final = ("seconds", "joules", "edp", "edap")


def run(benchmarks: Sequence[str], models: Path, steps: Steps) -> Reproduction:
    """Delay, energy, EDP and EDAP with fewer lanes of one unit, divided by those with all lanes."""
    chosen = [*(benchmarks or ("MNIST",))]
    if len(chosen) > 1:
        raise UsageError(f"fig13 sweeps one network at a time, {len(chosen)} are given")
    network = network_of(chosen[0], "w7a7", models)
    with steps.step(f"compile {chosen[0]}"):
        trace = CompiledModel.of_network(network).lower()
    machine = Machine.named("athena")
    steps.start_run()
    whole = simulate(trace, machine).report
    found: dict[str, list[SimulationReport]] = {}
    points = [(name, lanes) for name in UNITS for lanes in LANES]
    for done, (name, lanes) in enumerate(points):
        steps.count(f"{name}, {lanes} lanes", done, len(points))
        found.setdefault(name, []).append(point(machine, trace, UNITS[name], lanes, whole))
    rows: list[list[Cell]] = [
        [name, lanes, *(ratio(each, whole, figure) for figure in FIGURES)]
        for name, reports in found.items()
        for lanes, each in zip(LANES, reports, strict=True)
    ]
    return Reproduction(
        f"Figure 13: lanes of one unit, over 2,048 lanes, {chosen[0]} w7a7 simulated",
        (
            *(Column("unit", "unit"), Column("lanes", "lanes")),
            *(Column("delay", "delay", ".3f"), Column("energy", "energy", ".3f")),
            *(Column("edp", "EDP", ".3f"), Column("edap", "EDAP", ".3f")),
        ),
        rows,
        (
            "The paper prints no number of this figure. It says: the FRU matters most, then the "
            "NTT, "
            "then automorphisms, and sample extraction least.",
            "Automorphism: 8 cores with an eighth of the lanes each.",
            f"Area and watts of a part grow with {machine.scaling()}.",
        ),
        tuple(
            Panel(
                "lanes",
                f"{figure} over that of 2,048 lanes",
                [
                    Series(name, [*map(float, LANES)],
                           [ratio(each, whole, figure) for each in reports])
                    for name, reports in found.items()
                ],
            )
            for figure in FIGURES
        ),
    )  # fmt: skip


def point(
    machine: Machine, trace: Trace, unit: str, lanes: int, whole: SimulationReport
) -> SimulationReport:
    """The report with ``lanes`` lanes of one unit."""
    own = lanes // 8 if unit == "automorphism" else lanes
    if lanes == LANES[-1]:
        return whole
    return simulate(trace, machine.varied({f"unit.{unit}.lanes": own})).report


def ratio(report: SimulationReport, whole: SimulationReport, figure: str) -> float:
    """A figure over that of the machine with all lanes."""
    return float(getattr(report, figure) / getattr(whole, figure))
