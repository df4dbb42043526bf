"""Table 6: an iteration of logistic regression, and section 6.2's LoLa-MNIST."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.model import TPU_V4, TPU_V6E
from palladion.reproduce.cross.paper import LOGISTIC_MS, LOLA_MNIST_MS
from palladion.reproduce.cross.programs import Program, of_benchmark, of_examples
from palladion.reproduce.reproduction import Cell, Column, Reproduction

LOGISTIC: Final = "logistic regression"
BENCHMARKS: Final = {
    "helr": (LOGISTIC, LOGISTIC_MS["CROSS"], 2),
    "helr-f1-insecure": (LOGISTIC, LOGISTIC_MS["CROSS"], 2),
    "lola-mnist": ("LoLa-MNIST", LOLA_MNIST_MS, 1),
}
"""Programs of `palladion reproduce f1`: the paper's program, its time, and limbs of a digit of key
switching."""
APPLICATIONS: Final = {
    "helr": (LOGISTIC, LOGISTIC_MS["CROSS"]),
    "helr-bootstrapped": (LOGISTIC, LOGISTIC_MS["CROSS"]),
    "lola-mnist": ("LoLa-MNIST", LOLA_MNIST_MS),
    "lenet": ("LeNet", None),
}
"""Programs of `examples/real_data`: the paper's program and its time, if it has one."""


def run(examples: Path | None, measured: bool, runs: int, steps: Steps) -> Reproduction:
    """Counts of our programs, the model of them, and times here, beside the printed times."""
    rows: list[tuple[Cell, ...]] = [
        (LOGISTIC, name, None, "printed", milliseconds, *[None] * 9)
        for name, milliseconds in LOGISTIC_MS.items()
        if name != "CROSS"
    ]
    notes: list[str] = []
    steps.start_run()
    count = len(BENCHMARKS) + (len(APPLICATIONS) if examples else 0)
    for name, (workload, printed, digits) in BENCHMARKS.items():
        steps.count(name, len(notes), count)
        program = of_benchmark(name, digits)
        rows.append(row(f"f1: {name}", program, (workload, printed), runs if measured else None))
        notes.append(note(f"f1: {name}", program))
    for name, of in APPLICATIONS.items() if examples else ():
        assert examples is not None
        steps.count(name, len(notes), count)
        program = of_examples(name, examples)
        rows.append(row(f"examples: {name}", program, of, runs if measured else None))
        notes.append(note(f"examples: {name}", program))
    return Reproduction(
        "Table 6 and section 6.2: programs; ms of an iteration or an image",
        COLUMNS,
        rows,
        (*notes, *NOTES),
    )


def row(
    name: str, program: Program, of: tuple[str, float | None], runs: int | None
) -> tuple[Cell, ...]:
    """Counts of a run, and times of an iteration. With ``runs`` they are measured here too."""
    workload, printed = of
    work, params, times = program.work(), program.params, program.iterations
    return (
        *(workload, "CROSS, TPUv4", name, "model" + ", measured" * (runs is not None), printed),
        *(f"2^{params.n.bit_length() - 1}", sum(map(len, params.moduli)), times, work.transforms),
        *(work.byte_products / 1e9, work.compulsory_bytes / 1e6),
        *(1e3 * work.least_seconds(chip) / times for chip in (TPU_V4, TPU_V6E)),
        None if runs is None else 1e3 * program.seconds(runs),
    )


def note(name: str, program: Program) -> str:
    """The parameters of a program, in words."""
    params = program.params
    return f"{name}: log2(QP) = {params.log_qp:.0f}, {params.security.text}."


COLUMNS: Final = (
    Column("workload", "workload"),
    Column("machine", "machine"),
    Column("program", "ours"),
    Column("source", "source"),
    Column("paper_ms", "paper", ".2f"),
    Column("degree", "N"),
    Column("limbs", "limbs"),
    Column("iterations", "iter."),
    Column("transforms", "NTTs", ","),
    Column("giga_byte_products", "G s8", ",.2f"),
    Column("megabytes", "MB", ",.0f"),
    Column("tpuv4_ms", "v4", ".3f"),
    Column("tpuv6e_ms", "v6e", ".3f"),
    Column("here_ms", "here", ",.1f"),
)
NOTES: Final = (
    "v4, v6e: a model, no measurement, as in table 5: the least time by 8-bit products and bytes "
    "at the chips' peaks. f1: the programs that `palladion reproduce f1` simulates, with digits of "
    "two limbs, LoLa-MNIST's of one. examples: with --examples, the programs of "
    "`examples/real_data`. Their logistic regression is the paper's, batches of 1,024 images of "
    "14 x 14 pixels: two iterations, or two after a bootstrapping. NTTs, G s8 and MB are of a run, "
    "and times of an iteration. The paper prints no time for LeNet.",
    "here: measured with --measure, on this machine's CPU by this package's kernels, on random "
    "numbers, the median of the runs; keys and encryption are left out. source: of our "
    "columns; the column paper is printed in the paper.",
    "The paper's times are sums of times of operations, by its repository. It has set 6 "
    "for all of them, N = 2^16, and ours are in smaller rings: the ratio is of two programs, and "
    "not of two machines.",
    "Its LoLa-MNIST is the network of Brutzkus et al. on an image.",
)
