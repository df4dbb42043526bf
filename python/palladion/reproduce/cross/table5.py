"""Table 5: times of CKKS operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.measured import on_cpu, through_xla
from palladion.reproduce.cross.model import TPU_V4, TPU_V6E
from palladion.reproduce.cross.operations import SETS, Operation, Set, operation
from palladion.reproduce.cross.paper import (
    BITS,
    CIPHERTEXT_MB,
    OPERATIONS,
    TABLE_5,
)
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

WORDS: Final = 32
"""Bits of a word of XLA's rows."""


def run(
    cross_sets: Sequence[str], measured: bool, through_xla_too: bool, runs: int, steps: Steps
) -> Reproduction:
    """The printed times beside counts, a model, and times measured here."""
    chosen = [name for name in SETS if not cross_sets or name in cross_sets]
    rows: list[tuple[Cell, ...]] = []
    securities = []
    steps.start_run()
    for done, name in enumerate(chosen):
        steps.count(name, done, len(chosen))
        given = SETS[name]
        params = given.params()
        securities.append(f"{given.name}: {described(name)}; {params.security.text}.")
        times = on_cpu(params, OPERATIONS, runs) if measured else {}
        for each in OPERATIONS:
            made = operation(given, params, each)
            seconds = in_words(given, made, runs) if through_xla_too else None
            rows.append(row(name, made, times.get(each), seconds))
    own = [cells for cells in rows if cells[0] == SETS["cross-6"].name]
    return Reproduction(
        "Table 5: CKKS operations; us in the paper, us by a model, ms measured here",
        COLUMNS,
        rows,
        (*securities, *sizes(), *NOTES),
        panels(own) if own else (),
    )


def in_words(given: Set, made: Operation, runs: int) -> float | None:
    """Seconds of an operation through XLA, if there are parameters in its words."""
    narrow = given.within(WORDS)
    if narrow is None:
        return None
    made = made if narrow is given else operation(narrow, narrow.params(), made.name)
    return through_xla(made, runs)


def described(name: str) -> str:
    """A set of ours, in words."""
    given = SETS[name]
    limbs, special = given.limbs, given.special
    return (
        f"N = 2^{given.log_n}, {limbs[0]} primes of {limbs[1]} bits, {special[0]} special ones of "
        f"{special[1]}, digits of {given.digit_limbs} limbs"
    )


def row(
    name: str, made: Operation, cpu_seconds: float | None, xla_seconds: float | None
) -> tuple[Cell, ...]:
    """Counts, the model, and measurements of an operation."""
    work = made.work
    column = next((each for each in reversed(TABLE_5) if each.set == name), None)
    return (
        *(made.set.name, made.name),
        None if column is None else f"{column.library}, {column.device}",
        None if column is None else column.times[OPERATIONS.index(made.name)],
        *(work.transforms, work.byte_products / 1e9, work.word_products / 1e6),
        *(work.compulsory_bytes / 1e6, work.pass_bytes / 1e6),
        *(1e6 * work.least_seconds(TPU_V4), 1e6 * work.unfused_seconds(TPU_V4)),
        1e6 * work.least_seconds(TPU_V6E),
        None if cpu_seconds is None else 1e3 * cpu_seconds,
        None if xla_seconds is None else 1e3 * xla_seconds,
    )


def sizes() -> list[str]:
    """The printed sizes of ciphertexts, in polynomials."""
    found = []
    for name, mebibytes in CIPHERTEXT_MB.items():
        given = SETS[name]
        polynomial = given.limbs[0] * (1 << given.log_n) * BITS[name] / 8 / 2**20
        found.append(f"{name}: {mebibytes / polynomial:.2f} polynomials of {polynomial:.2f} MiB")
    return [
        "The printed sizes of ciphertexts, by L primes of log q bits: " + "; ".join(found) + ". "
        "A ciphertext has two polynomials."
    ]


def panels(rows: Sequence[tuple[Cell, ...]]) -> tuple[Panel, ...]:
    """Times on the paper's set."""
    names = [column.name for column in COLUMNS]

    def of(column: str) -> list[float | None]:
        cells = (cells[names.index(column)] for cells in rows)
        return [float(cell) if isinstance(cell, (int, float)) else None for cell in cells]

    series = [
        Series("CROSS, TPUv4, paper", OPERATIONS, of("paper_us")),
        Series("TPUv4, model, least", OPERATIONS, of("tpuv4_us")),
        Series("TPUv4, model, unfused", OPERATIONS, of("tpuv4_unfused_us")),
        Series("TPU v6e, model, least", OPERATIONS, of("tpuv6e_us")),
    ]
    return (Panel("operation", "us", series, logarithmic=True),)


COLUMNS: Final = (
    Column("set", "set"),
    Column("operation", "operation"),
    Column("library", "library"),
    Column("paper_us", "paper", ",.2f"),
    Column("transforms", "NTTs", ","),
    Column("giga_byte_products", "G s8", ",.2f"),
    Column("mega_word_products", "M words", ",.1f"),
    Column("megabytes", "MB", ",.0f"),
    Column("unfused_megabytes", "MB u", ",.0f"),
    Column("tpuv4_us", "v4", ",.0f"),
    Column("tpuv4_unfused_us", "v4 u", ",.0f"),
    Column("tpuv6e_us", "v6e", ",.0f"),
    Column("cpu_ms", "CPU", ",.2f"),
    Column("xla_ms", "XLA", ",.2f"),
)
NOTES: Final = (
    "paper: us as printed, on the paper's device of the row; CROSS's TPUv4 where two have a set. "
    "NTTs: transforms of limbs; G s8: 10^9 products of 8-bit digits, if transforms are products "
    "with matrices of both roots of N, and basis changes with theirs; M words: 10^6 modular "
    "products word by word; MB: inputs, keys and results moved once; MB u: every pass over limbs "
    "reads and writes memory.",
    "v4, v6e: a model, no measurement: us by the larger of 8-bit products at the chip's peak (275 "
    "and 1836 TOPS) and MB at its peak bandwidth (1.2 and 1.6 TB/s); v4 u: with MB u. Vector "
    "units, whose peak is not published, are left out. Sets with primes of more than 32 bits have "
    "words of 8 bytes.",
    "CPU, XLA: ms measured here with --measure and --xla, the median of the runs: by this "
    "package's kernels on encrypted numbers, with a product of a number before the rescale; and "
    "by the waves through JAX, without loading values.",
    "XLA takes primes of at most 32 bits. Sets 1 and 5 have two for each of their own: of 30 and "
    "29 bits, and of 23 to 30 bits with a product of 51 to 53. There are too few primes for set "
    "3: it has 36 levels of 64 bits for 44 of 52, 3 digits as before, and 24 special primes of 32 "
    "bits. The paper has no bootstrapping, so no set for one.",
    "Set 2 prints no log Q, and set 4 prints 54 primes of 52 bits but log PQ = 1767: they have no "
    "set of ours. Set 3's special primes are 60 bits here instead of 61, set 6's 29 instead of "
    "28, so that a digit is below their product. A product of ours is relinearised and rescaled "
    "at once.",
    "216 us for a rescale of set 6 is below the model: a ciphertext has 102 transforms, 400 us at "
    "the peak. One polynomial has 51, which are 200 us.",
    "3.26 us for an addition of set 6 would be 25 TB/s: two ciphertexts are read and one is "
    "written, of 27 MB each in 32-bit words. The memory of a TPUv4 has 1.2 TB/s.",
)
