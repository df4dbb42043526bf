"""Table 1: accuracies of private inference that others report."""

from __future__ import annotations

from typing import Final

from palladion.evaluation import Steps
from palladion.reproduce.hyena.paper import TABLE_1
from palladion.reproduce.reproduction import Cell, Column, Reproduction

OURS: Final = ("ours, ResNet-20 w7a7", "FHE", 91.70, 62.4, None, None)
"""Accuracy on 1,000 images in docs/reproduction.md, seconds in ARCHITECTURE.md."""


def run(steps: Steps) -> Reproduction:
    """The printed rows, and ours."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = [*TABLE_1, OURS]
    return Reproduction(
        "Table 1: accuracies and times that works report, CIFAR-10 and CIFAR-100",
        (
            *(Column("work", "work"), Column("setup", "setup")),
            *(Column("c10_percent", "C10 %", ".2f"), Column("c10_seconds", "C10 s", ",.1f")),
            *(Column("c100_percent", "C100 %", ".2f"), Column("c100_seconds", "C100 s", ".2f")),
        ),
        rows,
        (
            "Rows but the last are printed ones. FHE is the paper's setup A, hybrid its setup B. "
            "Networks and machines differ, so the times are no comparison.",
            "Ours: docs/reproduction.md has the accuracy on 1,000 test images, and ARCHITECTURE.md "
            "the time, of one image on 2 threads of a CPU. Its activations are exact tables, so "
            "the setup without interaction loses no accuracy: the paper's reason for the hybrid "
            "one is the approximation that others need.",
        ),
    )
