"""Area and power of the chip."""

from __future__ import annotations

from typing import Final

from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.reproduce.f1.paper import AREA_MM2, COMPONENTS, SHARES, WATTS
from palladion.reproduce.reproduction import Cell, Column, Reproduction

GROUPS: Final = {
    "units": ("ntt", "automorphism", "multiplier", "adder", "register files"),
    "memories": ("scratchpad",),
    "network": ("network",),
    "memory": ("memory",),
}


def run(steps: Steps) -> Reproduction:
    """Components of the machine's file, and their sums beside the printed ones."""
    steps.start_run()
    parts = {name: (area, watts) for name, area, watts in Machine.named("f1").parts()}
    area, watts = (sum(part[i] for part in parts.values()) for i in range(2))
    rows: list[tuple[Cell, ...]] = [
        (name, *COMPONENTS.get(name, (None, None)), *found, 100 * found[0] / area, None)
        for name, found in parts.items()
    ]
    for group, names in GROUPS.items():
        sums = [sum(parts[name][i] for name in names) for i in range(2)]
        rows.append((f"all {group}", None, None, *sums, 100 * sums[0] / area, SHARES[group]))
    rows.append(("chip", AREA_MM2, WATTS, area, watts, 100.0, 100))
    return Reproduction("Area and power of F1, by component", COLUMNS, rows, NOTES)


COLUMNS: Final = (
    Column("component", "component"),
    Column("paper_mm2", "paper mm2", ".2f"),
    Column("paper_watts", "paper W", ".2f"),
    Column("mm2", "f1.toml mm2", ".2f"),
    Column("watts", "f1.toml W", ".2f"),
    Column("share", "area, %", ".1f"),
    Column("paper_share", "paper, %"),
)
NOTES: Final = (
    "The text prints 151 mm2 and 180 W, and the shares. Components are by memory of the table of "
    "the longer paper, arXiv 2109.05371, not checked against it; their sums agree with the text.",
    "The printed shares are met if units have their register files with them, and memories are the "
    "scratchpad alone: 42 and 32 %. Without the register files units are 36 %.",
    "Watts are those of full load, of all units of a kind. Nothing is simulated here: f1.toml "
    "holds the paper's numbers, for one unit each.",
)
