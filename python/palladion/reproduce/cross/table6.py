"""Table 6: an iteration of logistic regression, and section 6.2's LoLa-MNIST."""

from __future__ import annotations

from typing import Final

from palladion import _native
from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.model import TPU_V4, TPU_V6E, Work
from palladion.reproduce.cross.paper import LOGISTIC_MS, LOLA_MNIST_MS
from palladion.reproduce.reproduction import Cell, Column, Reproduction

PROGRAMS: Final = {
    "helr": ("logistic regression", LOGISTIC_MS["CROSS"], 2),
    "helr-f1-insecure": ("logistic regression", LOGISTIC_MS["CROSS"], 2),
    "lola-mnist": ("LoLa-MNIST", LOLA_MNIST_MS, 1),
}
"""Programs of ours: the paper's program, its time, and limbs of a digit of key switching."""


def run(steps: Steps) -> Reproduction:
    """Counts of our programs, and the model of them, beside the printed times."""
    rows: list[tuple[Cell, ...]] = [
        ("logistic regression", name, None, milliseconds, *[None] * 7)
        for name, milliseconds in LOGISTIC_MS.items()
        if name != "CROSS"
    ]
    notes = []
    steps.start_run()
    for done, (name, (what, milliseconds, digits)) in enumerate(PROGRAMS.items()):
        steps.count(name, done, len(PROGRAMS))
        _, made = _native.benchmark_trace(name, digits)
        work = Work.of(1 << made["log_n"], 32, made["counts"])
        rows.append(
            (
                *(what, "CROSS, TPUv4", name, milliseconds),
                *(f"2^{made['log_n']}", made["limbs"], work.transforms),
                *(work.byte_products / 1e9, work.compulsory_bytes / 1e6),
                *(1e3 * work.least_seconds(chip) for chip in (TPU_V4, TPU_V6E)),
            )
        )
        notes.append(f"{name}: log2(QP) = {made['log_qp']:.0f}, {made['security']['text']}.")
    return Reproduction(
        "Table 6 and section 6.2: programs; ms in the paper, ms by a model",
        COLUMNS,
        rows,
        (*notes, *NOTES),
    )


COLUMNS: Final = (
    Column("workload", "workload"),
    Column("machine", "machine"),
    Column("program", "ours"),
    Column("paper_ms", "paper", ".2f"),
    Column("degree", "N"),
    Column("limbs", "limbs"),
    Column("transforms", "NTTs", ","),
    Column("giga_byte_products", "G s8", ",.2f"),
    Column("megabytes", "MB", ",.0f"),
    Column("tpuv4_ms", "v4", ".3f"),
    Column("tpuv6e_ms", "v6e", ".3f"),
)
NOTES: Final = (
    "v4, v6e: a model, no measurement, as in table 5: the least time by 8-bit products and bytes "
    "at the chips' peaks. Ours are the programs that `palladion reproduce f1` simulates, with "
    "digits of two limbs, LoLa-MNIST's of one, and random weights.",
    "The paper's times are sums of times of operations, by its repository. It has set 6 "
    "for all of them, N = 2^16, and ours are in smaller rings: the ratio is of two programs, and "
    "not of two machines.",
    "Its logistic regression has batches of 1,024 images of 14 x 14 pixels, and its LoLa-MNIST is "
    "the network of Brutzkus et al. on an image.",
)
