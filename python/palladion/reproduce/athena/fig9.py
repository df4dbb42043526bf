"""Figures 9 and 10: the parts of time and energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.simulated import simulated
from palladion.reproduce.athena.table6 import SOFTMAX
from palladion.reproduce.reproduction import Column, Panel, Reproduction, Series

PARTS: Final = {
    "linear": (
        *("mul_coefficients", "add_coefficients", "dense", "dense_slots", "product"),
        *("input", "output"),
    ),
    "samples": ("to_samples",),
    "packing": ("pack",),
    "FBS": ("table",),
    "S2C": ("slots_to_coefficients",),
}
"""Parts of the loop, and the operations of our programs that they are."""

PRINTED_FBS: Final = 72
"""Percent of the time, at most (section 5.2.2)."""
PRINTED_MEMORY: Final = 50
"""Percent of the energy, about (section 5.3.1)."""

ENERGY: Final = {
    "memory": ("memory",),
    "FRU": ("fru",),
    "NTT": ("ntt",),
    "other units": ("automorphism", "extraction", "prng"),
    "on-chip storage": ("register files", "scratchpad"),
    "NoC": ("network",),
}


def run(
    benchmarks: Sequence[str],
    precisions: Sequence[str],
    models: Path,
    softmax: bool,
    steps: Steps,
) -> Reproduction:
    """Shares of the time by part of the loop."""
    runs = simulated(benchmarks, precisions, models, steps, softmax)
    names = [f"{each.name}\n{each.precision}" for each in runs]
    shares = {part: [each.share(*of) for each in runs] for part, of in PARTS.items()}
    return Reproduction(
        "Figure 9: time by part of the loop, percent",
        (
            *(Column("network", "network"), Column("precision", "bits")),
            *(Column(part.lower(), part, ".1f") for part in PARTS),
            *(Column("paper_fbs", "FBS, paper", ".0f"), Column("ratio", "ratio", ".2f")),
        ),
        [
            (each.name, each.precision, *(shares[part][place] for part in PARTS),
             PRINTED_FBS, shares["FBS"][place] / PRINTED_FBS)
            for place, each in enumerate(runs)
        ],
        (
            "The paper prints one number: the non-linear part (FBS for activation, pooling and "
            "softmax) takes up to 72 %. Ours is simulated. A step's time is the time from the end "
            "of the step before it to its own end.",
            "Why ours has less of it in the ResNets: a packing's rotations of the secret are "
            "ciphertexts that do not fit 45 MB, and pass memory for every giant step.",
            SOFTMAX,
        ),
        (Panel("network", "percent of the time",
               [Series(part, names, values) for part, values in shares.items()]),),
    )  # fmt: skip


def run_figure_10(
    benchmarks: Sequence[str], precisions: Sequence[str], models: Path, steps: Steps
) -> Reproduction:
    """Energy, and its shares by component."""
    runs = simulated(benchmarks, precisions, models, steps)
    names = [f"{each.benchmark}\n{each.precision}" for each in runs]
    shares = {part: [each.energy_share(*of) for each in runs] for part, of in ENERGY.items()}
    return Reproduction(
        "Figure 10: energy by component, percent",
        (
            *(Column("network", "network"), Column("precision", "bits")),
            Column("joules", "J", ".3f"),
            *(Column(part.lower().replace(" ", "_"), part, ".1f") for part in ENERGY),
            *(Column("paper_memory", "memory, paper", ".0f"), Column("ratio", "ratio", ".2f")),
        ),
        [
            (each.benchmark, each.precision, each.found.joules,
             *(shares[part][place] for part in ENERGY),
             PRINTED_MEMORY, shares["memory"][place] / PRINTED_MEMORY)
            for place, each in enumerate(runs)
        ],
        (
            "The paper: memory access is about 50 % of the energy; of the units the FRU takes "
            "most. "
            "Ours is simulated, by activity and the peak powers of table 9. There HBM has 21 % of "
            "all "
            "peak power, so about 50 % of the energy needs HBM at work far more than the FRU, or "
            "an "
            "energy of transfers that table 9 does not print.",
        ),
        (Panel("network", "percent of the energy",
               [Series(part, names, values) for part, values in shares.items()]),),
    )  # fmt: skip
