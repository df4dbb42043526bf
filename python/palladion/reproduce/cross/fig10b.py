"""Figure 10b: transforms a second, by the rows of a batch."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.measured import median
from palladion.reproduce.cross.model import TPU_V4
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

LOG_N: Final = 16
"""log2 of the degree of set 6."""
BATCHES: Final = tuple(1 << k for k in range(14))
"""Rows of a batch. The paper has 8,192 transforms in all."""
MEASURED: Final = 64
"""Rows of the largest batch that is measured."""
ON_CHIP: Final = 128 << 20
"""Bytes of the common memory of a TPUv4: section 2.3, figure 3."""
WORD: Final = 4
PIECES: Final = 4
"""Bytes of a residue, and sums that a matrix product by BAT has for a word."""
KERNELS: Final = {"mat-bat-s8": "MAT and BAT", "butterflies-u64": "butterflies"}
"""The kernels that are measured."""


def tables_bytes(n: int) -> int:
    """Bytes of the tables of a prime: both matrices by BAT, and the factors between them."""
    rows, columns = sides(n)
    return PIECES**2 * (rows**2 + columns**2) + WORD * n


def sides(n: int) -> tuple[int, int]:
    """Rows and columns of a transform by matrices."""
    rows = 1 << (n.bit_length() - 1) // 2
    return rows, n // rows


def batch_bytes(n: int, batch: int) -> int:
    """Bytes that a batch holds at a time: tables, and for each row words, pieces and sums.

    The words are of the operand and of the result.
    """
    return tables_bytes(n) + batch * n * (2 * WORD + PIECES + WORD * PIECES)


def least_seconds(n: int, batch: int) -> float:
    """A time that no schedule of a batch is below: products, or bytes that are moved once."""
    moved = tables_bytes(n) + 2 * WORD * n * batch
    return TPU_V4.seconds(batch * products(n), moved)


def products(n: int) -> int:
    """Products of bytes in a transform."""
    return PIECES**2 * n * sum(sides(n))


def seconds_in_turn(n: int, batch: int) -> float:
    """A time if memory and matrix units wait for each other.

    The tables come once for a batch. If a batch does not fit the chip, the sums of both matrix
    products are written to memory and read again.
    """
    moved = tables_bytes(n) + 2 * WORD * n * batch
    if batch_bytes(n, batch) > ON_CHIP:
        moved += batch * 2 * 2 * WORD * PIECES * n
    computing = TPU_V4.seconds(batch * products(n), 0)
    return computing + moved / TPU_V4.bytes_per_second


def measure(name: str, n: int, batch: int, runs: int) -> float:
    """Median seconds of the transforms of a batch by a kernel, on the device that JAX chooses.

    The batch has one prime of 28 bits. Butterflies gather a table for each row.
    """
    from palladion import xla

    xla.enable()
    import jax
    import numpy as np

    from palladion.xla.kernels.choice import variant
    from palladion.xla.kernels.tune import primes

    (q,) = primes(n, 1, below=1 << 28)
    kernel = variant("ntt", name)
    tables = kernel.tables(np.array([q], np.uint32), n)
    values = np.random.default_rng(1).integers(q, size=(batch, n), dtype=np.uint32)
    prime = np.zeros(1 if name.startswith("mat") else batch, np.int32)
    placed = jax.device_put((tables, prime, values))
    compiled = jax.jit(kernel.apply).lower(*placed).compile()
    return median(lambda: compiled(*placed).block_until_ready(), runs)


def run(measured: bool, runs: int, steps: Steps) -> Reproduction:
    """Transforms a second, by the model and measured on this machine's JAX."""
    n = 1 << LOG_N
    rows: list[tuple[Cell, ...]] = []
    steps.start_run()
    for done, batch in enumerate(BATCHES):
        steps.count(f"{batch} rows", done, len(BATCHES))
        here: list[float | None] = [None] * len(KERNELS)
        if measured and batch <= MEASURED:
            here = [batch / measure(name, n, batch, runs) for name in KERNELS]
        rows.append(
            (
                *(batch, batch_bytes(n, batch) / 2**20),
                *(batch / seconds(n, batch) for seconds in (least_seconds, seconds_in_turn)),
                *here,
            )
        )
    series = [
        Series(column.title, BATCHES, [cell_number(cells[2 + k]) for cells in rows])
        for k, column in enumerate(COLUMNS[2:])
    ]
    panels = [Panel("rows of a batch", "transforms / s, model", series[:2])]
    if measured:
        panels.append(Panel("rows of a batch", "transforms / s, measured", series[2:]))
    return Reproduction(
        "Figure 10b: transforms a second at N = 2^16, by the rows of a batch",
        COLUMNS,
        rows,
        NOTES,
        panels,
    )


def cell_number(cell: Cell) -> float | None:
    """A cell as a number for a plot."""
    return float(cell) if isinstance(cell, (int, float)) else None


COLUMNS: Final = (
    Column("batch", "rows", ","),
    Column("megabytes", "MiB held", ",.1f"),
    Column("least_per_second", "v4 least", ",.0f"),
    Column("in_turn_per_second", "v4 in turn", ",.0f"),
    Column("here_bat_per_second", "here, BAT", ",.1f"),
    Column("here_butterflies_per_second", "here, butterflies", ",.1f"),
)
NOTES: Final = (
    "The figure prints no numbers. Its text says that batches of 64 are best: below, tables are "
    "used by few rows, and above, limbs contend for memory on the chip.",
    "v4: transforms a second of a TPUv4 by a model, no measurement. least: the larger of products "
    "of bytes at 275 TOPS and of bytes moved once at 1.2 TB/s: the products, for every batch. in "
    "turn: the sum of both, where the sums of products go to memory and back if the batch does "
    "not fit 128 MiB, the common memory of the chip. MiB held: tables, operands, pieces, sums and "
    "results of a batch.",
    "here: measured with --measure on the device that JAX chooses, with batches of up to 64 rows "
    "of one prime of 28 bits: by matrix products (MAT and BAT), whose tables are read for the "
    "whole batch, and by butterflies, which gather a table for each row.",
)
