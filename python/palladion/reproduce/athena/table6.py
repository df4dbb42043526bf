"""Table 6: time of the four networks on the accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena import loop
from palladion.reproduce.athena.paper import OTHERS
from palladion.reproduce.athena.simulated import Run, simulated
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series


def run(
    benchmarks: Sequence[str],
    precisions: Sequence[str],
    models: Path,
    softmax: bool,
    steps: Steps,
) -> Reproduction:
    """The printed time, the sum of the paper's description, and our program simulated."""
    runs = simulated(benchmarks, precisions, models, steps, softmax)
    names = [f"{each.name}\n{each.precision}" for each in runs]
    return Reproduction(
        "Table 6: time on the accelerator, ms",
        COLUMNS,
        [row(each) for each in runs],
        (*arithmetic(), *NOTES),
        (
            Panel(
                "network",
                "ms",
                (
                    Series("paper", names, [each.printed for each in runs]),
                    Series("ours, simulated", names, [each.milliseconds for each in runs]),
                    Series("ours, lower bound", names, [each.bound for each in runs]),
                ),
                logarithmic=True,
            ),
        ),
    )


def sums_ms(run: Run) -> float:
    """The paper's sums for as many full tables, as the printed share of the whole."""
    return len(run.entries) * loop.TABLE_MS / loop.NON_LINEAR_SHARE


def fitted_ms(run: Run) -> float:
    """The same for tables of the degrees that the layers of our network need (section 3.3)."""
    return sum(loop.Table(entries).sums_ms for entries in run.entries) / loop.NON_LINEAR_SHARE


def row(run: Run) -> tuple[Cell, ...]:
    fastest = min(other.milliseconds[run.benchmark] for other in OTHERS.values())
    return (
        *(run.name, run.precision, run.printed, len(run.entries), sums_ms(run)),
        *(sums_ms(run) / run.printed, fitted_ms(run), fitted_ms(run) / run.printed),
        *(run.milliseconds, run.milliseconds / run.printed),
        *(run.bound, run.found.gap, fastest),
    )


def arithmetic() -> tuple[str, ...]:
    """Both accountings of one table, with their numbers."""
    table = loop.Table()
    products = table.products_ms(loop.SCALE_INVARIANT)
    shared = table.products_ms(loop.RELINEARISE)
    return (
        f"Accounting 1, which gives the printed times: {table.entries} sums x 2 components x "
        f"{loop.LIMBS} limbs x {loop.ROWS} cycles on {loop.BLOCKS} blocks are "
        f"{table.sums_ms:.2f} ms a table; ResNet-20's 65.5 ms x {loop.NON_LINEAR_SHARE} are "
        f"{65.5 * loop.NON_LINEAR_SHARE / table.sums_ms:.1f} of them, ResNet-56's 198.7 ms "
        f"{198.7 * loop.NON_LINEAR_SHARE / table.sums_ms:.1f}, and they have 19 and 55 ReLUs. The "
        "column `sums` is this, for as many full tables as our network has. But sections 3.3 and "
        "5.2.2 fit a table to its layer, which is why w6a7 is faster: `fitted` is the same for the "
        "degrees that the layers of our network need.",
        f"Accounting 2, all that the description says: {table.products} products of ciphertexts "
        f"with {loop.SCALE_INVARIANT} transforms each, {loop.TRANSFORM_PASSES * loop.ROWS} cycles "
        f"a transform on the one unit of region 0, are {products:.1f} ms a table, "
        f"{products / table.sums_ms:.1f} times the sums that they are to be balanced with (section "
        f"4.3). With products of residuals, whose only transforms are the key switch's "
        f"{loop.RELINEARISE}, they are {shared:.1f} ms; with one key switch for all giant steps, "
        f"as "
        f"we do it, about {shared / 2:.1f} ms.",
        f"The {table.steps} baby steps are {table.powers_bytes / 1e9:.2f} GB; "
        f"{loop.SCRATCHPAD >> 20} "
        "MB hold those of one limb and one component at a time. So they and the sums pass memory, "
        f"written once and read once: {table.traffic_ms:.1f} ms a table at 1 TB/s, "
        f"{table.traffic_ms / table.sums_ms:.1f} times the time of the sums.",
        f"Inferred in both: words of {loop.WORD_BITS} bits, and for key switches {loop.DIGITS} "
        f"digits "
        f"and {loop.SPECIAL} special limbs.",
    )


SOFTMAX: Final = (
    "The client computes the softmax in our programs. The paper's figure 9 has it on the "
    "accelerator for MNIST and LeNet, so their ratios flatter ours. --softmax adds rows of both "
    "with the softmax encrypted: exponentials, their sum and its inverse, and before them the "
    "largest logit, which the paper does not have."
)
COLUMNS: Final = (
    Column("network", "network"),
    Column("precision", "bits"),
    Column("paper_ms", "paper", ".1f"),
    Column("tables", "tables"),
    Column("sums_ms", "sums", ".1f"),
    Column("sums_ratio", "sums x", ".2f"),
    Column("fitted_ms", "fitted", ".1f"),
    Column("fitted_ratio", "fitted x", ".2f"),
    Column("simulated_ms", "ours", ".1f"),
    Column("ratio", "ours x", ".2f"),
    Column("bound_ms", "bound", ".1f"),
    Column("gap", "gap", ".2f"),
    Column("fastest_other_ms", "CKKS", ".0f"),
)
NOTES: Final = (
    "x: over the paper. ours: our program of the network on the machine `athena`, simulated; "
    "bound: no schedule of it "
    "is faster; gap: ours over bound. Our tables have degrees below 2^15 and fewer products than "
    "the "
    "paper's. Words of 36 bits are inferred for the machine, and the programs compiled for them.",
    "CKKS: the fastest of the four accelerators of CKKS that the paper prints. `headline` has all "
    "of them.",
    SOFTMAX,
)
