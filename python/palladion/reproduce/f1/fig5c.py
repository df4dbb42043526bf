"""Figure 5c: average power by component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.f1.paper import COMPUTE
from palladion.reproduce.f1.simulated import Run, simulated
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

GROUPS: Final = {
    "units": ("ntt", "automorphism", "multiplier", "adder"),
    "register files": ("register files",),
    "scratchpad": ("scratchpad",),
    "network": ("network",),
    "memory": ("memory",),
}


def run(f1_benchmarks: Sequence[str], digit_limbs: Sequence[int], steps: Steps) -> Reproduction:
    """Watts of each group of components."""
    best = [fastest for fastest, _ in simulated(f1_benchmarks, digit_limbs, steps)]
    names = [each.label for each in best]
    bars = tuple(
        Series(group, names, [watts(each, *parts) for each in best])
        for group, parts in GROUPS.items()
    )
    return Reproduction(
        "Figure 5c: average power by component, in watts, simulated",
        COLUMNS,
        [row(each) for each in best],
        NOTES,
        (Panel("program", "W", bars),),
    )


def watts(each: Run, *parts: str) -> float:
    """Average power of some components."""
    joules = sum(float(each.found.joules_by_component[part]) for part in parts)
    return joules / float(each.found.seconds)


def row(each: Run) -> tuple[Cell, ...]:
    """Watts by group, all together, and the share of computation."""
    groups = [watts(each, *parts) for parts in GROUPS.values()]
    all_watts = float(each.found.joules) / float(each.found.seconds)
    return (each.program, *groups, all_watts, 100 * groups[0] / all_watts)


COLUMNS: Final = (
    Column("program", "program"),
    *(Column(group.replace(" ", "_"), group, ".1f") for group in GROUPS),
    Column("watts", "all", ".1f"),
    Column("compute_percent", "units, %", ".0f"),
)
NOTES: Final = (
    "Energy is that of activity: each component takes its share of its full power. The figure's "
    f"bars print no numbers; its text has {COMPUTE[0]:.0f} to {COMPUTE[1]:.0f} % for computation.",
    "The components' powers at full load are by memory of the longer paper's table, not checked "
    "against it; their sum is the printed 180 W, of which units are 63 %: a program that keeps all "
    "parts equally busy has that share.",
)
