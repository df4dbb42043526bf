"""Table 1: accuracies of private inference that others report."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import TABLE_1
from palladion.reproduce.reproduction import Cell, Column, Reproduction

OURS: Final = (
    ("Palladion, ResNet-20 w7a7, recorded", "FHE", 91.70, 75.0, None, None),
    ("Palladion, ResNet-20 w7a7, recorded", "hybrid", 91.70, 0.41, None, None),
)
"""Recorded: the accuracy of the first 1,000 test images in docs/reproduction/athena.md, the
seconds of one image in docs/figures.md and docs/hybrid.md."""


def run(steps: Steps) -> Reproduction:
    """The printed rows, and ours."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = [*TABLE_1, *OURS]
    return Reproduction(
        "Table 1: accuracies and times that works report, CIFAR-10 and CIFAR-100",
        (
            *(Column("work", "work"), Column("setup", "setup")),
            *(Column("c10_percent", "C10 %", ".2f"), Column("c10_seconds", "C10 s", ",.1f")),
            *(Column("c100_percent", "C100 %", ".2f"), Column("c100_seconds", "C100 s", ".2f")),
        ),
        rows,
        (
            "Rows of Palladion are recorded figures, all others the printed ones. FHE is the "
            "paper's setup A, hybrid its setup B. Networks and machines differ, so the times are "
            "no comparison.",
            "Palladion: 917 of the first 1,000 test images (`reproduce athena table5`), one image "
            "on two cores of an AMD EPYC (Genoa) in 75 to 79 s (docs/figures.md, `Program.run`), "
            "and the online phase of both parties at 2 Gbit/s (docs/hybrid.md). Its activations "
            "are exact in both setups, which have one accuracy: the paper's reason for the hybrid "
            "one is the approximation that others need.",
        ),
    )
