"""Table 8: area of modular reduction in an element of a TPU's vector unit."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.paper import AREAS, GAIN, NET
from palladion.reproduce.reproduction import Cell, Column, Reproduction


def run(steps: Steps) -> Reproduction:
    """The ratios of the printed areas, and the throughput that follows for the same area."""
    steps.start_run()
    plain = AREAS["vector unit's element"][0]
    rows: list[tuple[Cell, ...]] = []
    for name, (area, printed, cycles) in AREAS.items():
        ratio = area / plain
        net = GAIN / ratio if cycles is not None else None
        rows.append((name, area, cycles, printed, ratio, net))
    return Reproduction(
        "Table 8: an element of the vector unit with modular reduction, 28 nm, 500 MHz",
        COLUMNS,
        rows,
        (
            "net: throughput for the same area, if a unit of its own makes an element "
            f"{GAIN:g} times as fast, as section 6.4 assumes; it prints {NET} for the smallest. "
            "All figures follow from the printed areas: nothing is simulated or measured.",
        ),
    )


COLUMNS: Final = (
    Column("element", "element"),
    Column("um2", "um^2", ",.0f"),
    Column("cycles", "cycles"),
    Column("printed_ratio", "printed", ".2f"),
    Column("ratio", "ratio", ".3f"),
    Column("net", "net", ".2f"),
)
