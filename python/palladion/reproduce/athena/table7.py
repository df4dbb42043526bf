"""Table 7 and figure 11: energy times delay, and times area."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.paper import AREA_MM2, EDP, OTHERS
from palladion.reproduce.athena.simulated import Run, simulated
from palladion.reproduce.athena.table6 import SOFTMAX
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

OTHERS_NOTE: Final = (
    "CraterLake, ARK, BTS, SHARP: printed, of networks under CKKS. Their times but for ResNet-20 "
    "are scaled from it by the paper's authors."
)
WHY: Final = (
    "Why: the product has the time squared. A ratio below 1 is table 6's, squared, times a lower "
    "power, since the FRU blocks rest; above 1 the time that memory takes outweighs that."
)


def run(
    benchmarks: Sequence[str], precisions: Sequence[str], models: Path, steps: Steps
) -> Reproduction:
    """Printed EDP beside that of our program, simulated."""
    runs = simulated(benchmarks, precisions, models, steps)
    return Reproduction(
        "Table 7: energy-delay product, J s",
        (
            *(Column("network", "network"), Column("precision", "bits")),
            *(Column("paper_edp", "paper", ".3f"), Column("paper_watts", "paper W", ".0f")),
            *(Column("edp", "ours", ".4f"), Column("ratio", "ratio", ".2f")),
            *(Column("joules", "ours J", ".3f"), Column("watts", "ours W", ".0f")),
            *(Column(name.lower(), name, ".3f") for name in OTHERS),
            Column("source", "source of ours"),
        ),
        [row(each) for each in runs],
        (
            "paper W: mean power, EDP over the square of the printed time. It is "
            "79 to 95 W, below the 148.1 W of table 9, so activity is counted in both.",
            "ours: simulated; each part takes its printed peak power for the share of time in "
            "which "
            "it is busy.",
            OTHERS_NOTE,
            WHY,
            SOFTMAX,
        ),
    )


def printed(run: Run) -> float:
    """The paper's EDP."""
    return EDP[run.precision][run.benchmark]


def row(run: Run) -> tuple[Cell, ...]:
    found = run.found
    watts = printed(run) / (run.printed / 1000) ** 2
    return (
        *(run.benchmark, run.precision, printed(run), watts),
        *(found.edp, found.edp / printed(run)),
        *(found.joules, found.joules / found.seconds),
        *(other.edp[run.benchmark] for other in OTHERS.values()),
        "simulated",
    )


def run_figure_11(
    benchmarks: Sequence[str], precisions: Sequence[str], models: Path, steps: Steps
) -> Reproduction:
    """EDP times area. The paper prints no number of this figure: its own follow from table 7."""
    runs = simulated(benchmarks, precisions, models, steps)
    names = [f"{each.benchmark}\n{each.precision}" for each in runs]
    theirs = [printed(each) * AREA_MM2 for each in runs]
    ours = [float(each.found.edap) for each in runs]
    return Reproduction(
        "Figure 11: energy-delay-area product, J s mm2",
        (
            *(Column("network", "network"), Column("precision", "bits")),
            *(Column("paper_edap", "EDP x area", ".3f"), Column("edap", "ours", ".3f")),
            Column("ratio", "ratio", ".2f"),
            *(Column(name.lower(), name, ".1f") for name in OTHERS),
            Column("source", "source of ours"),
        ),
        [
            (
                *(each.benchmark, each.precision, paper, own, own / paper),
                *(other.edp[each.benchmark] * other.mm2 for other in OTHERS.values()),
                "simulated",
            )
            for each, paper, own in zip(runs, theirs, ours, strict=True)
        ],
        ("The figure's bars are not printed as numbers: EDP x area is table 7's EDP times table "
         "9's "
         "116.4 mm2; those of the others by the areas there.", OTHERS_NOTE, WHY, SOFTMAX),
        (Panel("network", "J s mm2", (Series("paper, EDP x area", names, theirs),
                                      Series("ours, simulated", names, ours)), logarithmic=True),),
    )  # fmt: skip
