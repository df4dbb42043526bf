"""Table 3: units and areas for each packing."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import REGISTERS_MM2, TABLE_3, TABLE_4
from palladion.reproduce.hyena.runs import title
from palladion.reproduce.reproduction import Cell, Column, Reproduction

UNITS: Final = ("MAC unit", "Rotate (Benes)", "NTT")
FOR: Final = (2, 2, 1)
"""Numbers of VMults, rotations and NTTs of which the areas of table 4 are: Hyena's numbers."""


def run(steps: Steps) -> Reproduction:
    """Printed areas, their sums, and areas by the units of table 4."""
    steps.start_run()
    each = [TABLE_4[unit][1] / count for unit, count in zip(UNITS, FOR, strict=True)]
    storage = sum(TABLE_4[part][1] for part in TABLE_4 if part not in UNITS)
    rows: list[tuple[Cell, ...]] = []
    for packing, (counts, areas, total) in TABLE_3.items():
        ours = storage + sum(n * area for n, area in zip(counts, each, strict=True))
        parts = sum(areas) + REGISTERS_MM2
        units = " ".join(map(str, counts))
        rows.append((title(packing), units, *areas, parts, total, ours, ours / total))
    return Reproduction(
        "Table 3: VMults, automorphisms and NTTs, mm2",
        (
            *(Column("packing", "packing"), Column("units", "units")),
            *(Column("vmult_mm2", "VMult"), Column("automorph_mm2", "automorph")),
            *(Column("ntt_mm2", "NTT"), Column("sum_mm2", "sum")),
            *(Column("printed_mm2", "printed"), Column("ours_mm2", "ours", ".1f")),
            Column("ratio", "ratio", ".2f"),
        ),
        rows,
        (
            f"sum: the printed parts with the printed {REGISTERS_MM2} mm2 of registers and L2. It "
            "is 20 to 22 mm2 above the printed total for every packing but Hyena, where it is 2 "
            "below. The printed 136 mm2 can be Hyena's alone: its 64 ciphertexts of partial sums "
            "are 25 of them, but A+W has these too (section 6.3).",
            f"ours: the units by the areas of table 4, and its {storage:.1f} mm2 of registers and "
            "L2. Ch and C2PC have one VMult, which is 3 mm2 in print and half of 7.3 here.",
        ),
    )
