"""Figure 5b: traffic between memory and scratchpad by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.f1.paper import HINTS_MOST, INTERMEDIATES_CIFAR, NON_COMPULSORY
from palladion.reproduce.f1.simulated import Run, simulated
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

KINDS: Final = {
    "hints": ("hints",),
    "hints again": ("hints again",),
    "inputs": ("inputs", "constants", "outputs"),
    "inputs again": ("inputs again",),
    "loaded": ("results loaded",),
    "stored": ("results written",),
}
"""For each kind of the figure, the kinds of our reports."""
COMPULSORY: Final = ("hints", "inputs", "constants", "outputs")


def run(f1_benchmarks: Sequence[str], digit_limbs: Sequence[int], steps: Steps) -> Reproduction:
    """Shares of each kind beside the shares that the paper states."""
    best = [fastest for fastest, _ in simulated(f1_benchmarks, digit_limbs, steps)]
    names = [each.label for each in best]
    shares = tuple(
        Series(kind, names, [each.share(*ours) for each in best]) for kind, ours in KINDS.items()
    )
    return Reproduction(
        "Figure 5b: traffic by kind, in percent, simulated",
        COLUMNS,
        [row(each) for each in best],
        NOTES,
        (Panel("program", "%", shares),),
    )


def beyond(each: Run) -> float:
    """Percent that traffic exceeds the compulsory by."""
    compulsory = each.traffic(*COMPULSORY)
    return 100 * (float(each.found.traffic_total) / compulsory - 1)


def row(each: Run) -> tuple[Cell, ...]:
    """Shares, and the paper's printed shares for this program."""
    if each.benchmark.name == "LoLa-CIFAR":
        paper = f"intermediates {INTERMEDIATES_CIFAR:.0f}"
    else:
        low, high = NON_COMPULSORY
        paper = f"beyond {low:.0f}-{high:.0f}"
    return (
        *(each.program, each.made["digit_limbs"], each.found.traffic_total / 1e6),
        *(each.share(*ours) for ours in KINDS.values()),
        *(beyond(each), paper),
    )


COLUMNS: Final = (
    Column("program", "program"),
    Column("digit_limbs", "d"),
    Column("traffic_megabytes", "MB", ".0f"),
    *(Column(kind.replace(" ", "_"), kind, ".1f") for kind in KINDS),
    Column("beyond_compulsory", "beyond", ".1f"),
    Column("paper", "paper"),
)
NOTES: Final = (
    "beyond: percent that traffic exceeds what is compulsory by. The figure's bars print no "
    f"numbers; its text has {NON_COMPULSORY[0]:.0f} to {NON_COMPULSORY[1]:.0f} % beyond for all "
    f"programs but LoLa-CIFAR, and hints of up to {HINTS_MOST:.0f} % of the traffic.",
    "inputs: those loaded for the first time, constants and outputs. loaded, stored: intermediate "
    "values for which the scratchpad had no room.",
    "d: limbs of a digit, the fastest of those. Digits of one limb, as F1's, have more hints.",
)
