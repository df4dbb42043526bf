"""Table 4: noise of each step of the loop.

The paper adds up worst cases on one modulus Q of 720 bits. Palladion switches moduli on the way, so
the noise stays small and the modulus shrinks. The figure to compare with the paper's bits is the
budget that a step uses up, in noise or in modulus.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.nn.integers.network import IntNetwork
from palladion.reproduce.athena.measured import encrypted, images_for
from palladion.reproduce.athena.paper import LOG_N, LOG_Q, LOG_T
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series
from palladion.support.records import Json


@dataclass(frozen=True)
class Counts:
    """A row: multiplicative depths, scalar products, additions, and the printed sum."""

    pmult: int
    cmult: int
    smult: int
    hadd: int
    printed: int


PRINTED: Final = {
    "Linear": Counts(1, 0, 0, 6, 37),
    "Packing": Counts(1, 0, 0, 12, 43),
    "FBS": Counts(0, 17, 1, 15, 558),
    "S2C": Counts(2, 0, 0, 6, 68),
    "Total": Counts(4, 17, 1, 39, 706),
}
LOOP: Final = {
    "Packing": ("pack",),
    "FBS": ("table",),
    "S2C": ("slots_to_coefficients",),
    "Linear": ("mul_coefficients", "add_coefficients", "dense", "output"),
}
"""Operations of our programs, in the order in which a loop uses up the budget."""


def noise_bits(counts: Counts) -> int:
    """Section 3.3: log2 N + log2 t a product, log2 t a scalar product, 1 an addition."""
    products = (LOG_N + LOG_T) * (counts.pmult + counts.cmult)
    return products + LOG_T * counts.smult + counts.hadd


def budget(log_q: float, log_t: float = LOG_T) -> float:
    """log2 of Delta / 2 = Q / 2t, the noise that section 3.3 allows."""
    return log_q - log_t - 1


@dataclass(frozen=True)
class Measured:
    """One kind of step where least margin is left, and the budget that it used up, in bits."""

    predicted: float
    measured: float
    margin: float
    spent: float


def by_step(noise: list[Json], whole: float) -> dict[str, Measured]:
    """Steps of a run. The whole budget is ``whole``. Each step uses up the budget that the one
    before left."""
    found: dict[str, Measured] = {}
    left = whole
    for name, operations in LOOP.items():
        steps = [step for step in noise if step["name"].rpartition(": ")[2] in operations]
        if not steps:
            continue
        least = min(steps, key=lambda step: float(step["margin_bits"]))
        margin = least["margin_bits"]
        found[name] = Measured(
            least["predicted_bits"], least["measured_bits"], margin, left - margin
        )
        left = margin
    return found


def run(network: IntNetwork, data: Path | None, steps: Steps) -> Reproduction:
    """The paper's sums, and the noise of one encrypted image in ``network``."""
    found = encrypted(network, images_for(network, data, 1), 1, steps)
    whole = budget(found["report"]["log_q"])
    ours = by_step(found["noise"], whole)
    rows = [row(name, counts, ours.get(name)) for name, counts in PRINTED.items()]
    least = min(step.margin for step in ours.values())
    total = whole - least
    rows[-1] = (*rows[-1][:-5], total, total / PRINTED["Total"].printed, None, None, least)
    rows.append(("Available", *[None] * 5, budget(LOG_Q), whole, *[None] * 4))
    return Reproduction(
        "Table 4: noise in bits by step of the loop",
        COLUMNS,
        rows,
        (*NOTES, f"Ours: network {network.name}, one image, log2 Q = "
         f"{found['report']['log_q']:.1f}, N = 2^{found['report']['log_n']}."),
        (plot(ours),),
    )  # fmt: skip


def row(name: str, counts: Counts, ours: Measured | None) -> tuple[Cell, ...]:
    parts = (counts.pmult, counts.cmult, counts.smult, counts.hadd)
    first = (name, *parts, counts.printed, noise_bits(counts))
    if ours is None:
        return (*first, *[None] * 5)
    ratio = ours.spent / counts.printed
    return (*first, ours.spent, ratio, ours.predicted, ours.measured, ours.margin)


def plot(ours: dict[str, Measured]) -> Panel:
    """The budget used up, in the paper and here."""
    names = [name for name in PRINTED if name != "Total"]
    spent = [ours[name].spent if name in ours else None for name in names]
    return Panel(
        "step",
        "bits",
        (
            Series("paper", names, [PRINTED[name].printed for name in names]),
            Series("ours, measured", names, spent),
        ),
    )


COLUMNS: Final = (
    Column("step", "step"),
    Column("pmult_depth", "PMult"),
    Column("cmult_depth", "CMult"),
    Column("smult_depth", "SMult"),
    Column("hadd", "HAdd"),
    Column("paper_bits", "paper"),
    Column("formula_bits", "formula"),
    Column("spent_bits", "spent", ".1f"),
    Column("spent_over_paper", "ratio", ".2f"),
    Column("predicted_sigma_bits", "predicted", ".1f"),
    Column("measured_sigma_bits", "measured", ".1f"),
    Column("margin_bits", "margin", ".1f"),
)
NOTES: Final = (
    "paper: bits as printed; formula: from the counts; available: Delta / 2 = Q / 2t.",
    "The paper's sum of 706 is below log2 Q / 2 = 719, but above its own Delta / 2 = Q / 2t, which "
    "is 720 - 16 - 1 = 703 bits.",
    "Ours, where least margin is left: predicted and measured noise (log2 of its deviation, at the "
    "modulus of that step), margin to what decryption bears, and the bits of budget spent, in "
    "noise or in modulus, since the step before (Packing, FBS, S2C, Linear).",
)
