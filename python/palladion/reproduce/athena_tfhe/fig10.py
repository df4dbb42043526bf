"""Figure 10: time of bootstrapping, as a logarithm, and power."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena_tfhe.paper import ATHENA, TABLE_5
from palladion.reproduce.athena_tfhe.table5 import simulated
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series


def run(steps: Steps) -> Reproduction:
    """Bars of every design of table V, and of the simulation."""
    found = simulated(steps)
    rows: list[tuple[Cell, ...]] = [
        (given.design, given.security, given.latency, given.power, None, None) for given in TABLE_5
    ]
    for name, given in ATHENA.items():
        ours = found[name]
        rows.append(
            (
                *(given.design, given.security, given.latency, given.power),
                *(ours.latency_ms, ours.watts),
            )
        )
    words = [f"{row[0]}\n{row[1]}".replace(" ", "\n") for row in rows]

    def series(name: str, column: int) -> Series:
        cells = [row[column] for row in rows]
        return Series(name, words, [c if isinstance(c, float) else None for c in cells])

    return Reproduction(
        "Figure 10: time and power of bootstrapping",
        COLUMNS,
        rows,
        NOTES,
        (
            Panel(
                "design, bits of security",
                "ms",
                (series("paper", 2), series("simulated", 4)),
                logarithmic=True,
            ),
            Panel("design, bits of security", "W", (series("paper", 3), series("fit", 5))),
        ),
    )


COLUMNS: Final = (
    Column("design", "design"),
    Column("security", "bits"),
    Column("paper_ms", "ms", ".2f"),
    Column("paper_watts", "W", ".1f"),
    Column("simulated_ms", "simulated ms", ".2f"),
    Column("watts", "fitted W", ".1f"),
)
NOTES: Final = (
    "The figure prints no numbers; these are table V's. Designs of different security stand side "
    "by side in it: bits are under the names here.",
)
