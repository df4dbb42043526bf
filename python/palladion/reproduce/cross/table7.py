"""Table 7: matrix products modulo a prime, by convolution of digits and by BAT."""

from __future__ import annotations

from typing import Any, Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.model import TPU_V4, TPU_V6E
from palladion.reproduce.cross.paper import SPEEDUPS, TABLE_7, USED
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

Shape = tuple[int, int, int]

DIGITS: Final = 4
"""8-bit digits of a prime of 28 bits."""
MEASURED: Final = 1 << 31
"""Modular products of the largest shape that is measured."""


def byte_products(shape: Shape) -> int:
    """Products of 8-bit digits by BAT."""
    rows, terms, columns = shape
    return DIGITS**2 * rows * terms * columns


def moved(shape: Shape) -> int:
    """Bytes of both factors, the left one as digits of BAT, and of the result."""
    rows, terms, columns = shape
    return DIGITS**2 * rows * terms + 4 * terms * columns + 4 * rows * columns


def run(measured: bool, runs: int, steps: Steps) -> Reproduction:
    """Printed times, the model, and our product by BAT on this machine's JAX."""
    rows: list[tuple[Cell, ...]] = []
    steps.start_run()
    for done, shape in enumerate(TABLE_7):
        steps.count(" x ".join(map(str, shape)), done, len(TABLE_7))
        small = shape[0] * shape[1] * shape[2] <= MEASURED
        rows.append(row(shape, seconds(shape, runs) if measured and small else None))
    used = [cells[7] for cells in rows]
    mean = sum(float(share) for share in used if share is not None) / len(used)
    names = ["\n".join(map(str, shape)) for shape in TABLE_7]
    series = (
        Series("convolution, paper", names, [conv for conv, _ in TABLE_7.values()]),
        Series("BAT, paper", names, [bat for _, bat in TABLE_7.values()]),
        Series("TPUv4, model", names, [float(cells[6] or 0) for cells in rows]),
    )
    average = (
        f"The printed times of BAT use {mean:.0f} % of the peak on average by these counts; "
        f"section 6.3.1 says about {USED:.0f} %, which holds for the largest shape."
    )
    return Reproduction(
        "Table 7: products of matrices modulo a prime of 28 bits; us in the paper and by a model",
        COLUMNS,
        rows,
        (average, *NOTES),
        (Panel("rows, terms, columns", "us", series, logarithmic=True),),
    )


def row(shape: Shape, here: float | None) -> tuple[Cell, ...]:
    """A shape's times, and the share of the peak that the printed one uses."""
    convolution, bat = TABLE_7[shape]
    least = TPU_V4.seconds(byte_products(shape), moved(shape))
    peak = 1e6 * 2 * byte_products(shape) / TPU_V4.int8_per_second
    return (
        *(" x ".join(map(str, shape)), convolution, bat, convolution / bat),
        SPEEDUPS[list(TABLE_7).index(shape)],
        *(byte_products(shape) / 1e9, 1e6 * least, 100 * peak / bat),
        1e6 * TPU_V6E.seconds(byte_products(shape), moved(shape)),
        None if here is None else 1e3 * here,
    )


def seconds(shape: Shape, runs: int) -> float:
    """Median seconds of our product of residues by BAT, with signed digits."""
    from palladion import xla

    xla.enable()
    import jax
    import numpy as np

    from palladion.reproduce.cross.measured import median
    from palladion.xla.kernels.bat import Aligned
    from palladion.xla.kernels.tune import primes
    from palladion.xla.kernels.words import Residues

    rows, terms, columns = shape
    (q,) = primes(1 << 12, 1)
    rng = np.random.default_rng(1)
    way, residues = Aligned("s8"), Residues.of(np.array([q], np.uint32))
    left = rng.integers(q, size=(rows, terms), dtype=np.uint64)
    right = rng.integers(q, size=(terms, columns), dtype=np.uint32)
    table = way.table(left, np.full(rows, q, np.uint64))

    def product(table: Any, words: Any, modulus: Any, only: Any) -> Any:
        own = residues.rows(only, 1)
        return way.product(table, way.centre(words, modulus), "left", own)

    given = (table, right, np.full((1, 1), q, np.uint32), np.zeros(1, np.int32))
    compiled, placed = jax.jit(product), jax.device_put(given)
    return median(lambda: compiled(*placed).block_until_ready(), runs)


COLUMNS: Final = (
    Column("shape", "rows x terms x columns"),
    Column("convolution_us", "conv.", ",.2f"),
    Column("bat_us", "BAT", ",.2f"),
    Column("speedup", "ratio", ".2f"),
    Column("printed_speedup", "printed", ".2f"),
    Column("giga_byte_products", "G s8", ",.2f"),
    Column("tpuv4_us", "v4", ",.2f"),
    Column("used_percent", "used, %", ".0f"),
    Column("tpuv6e_us", "v6e", ",.2f"),
    Column("here_ms", "here", ",.2f"),
)
NOTES: Final = (
    "conv., BAT: us on a TPUv4 as printed; ratio: the one over the other; printed: the paper's. "
    "G s8: 10^9 products of 8-bit digits, 16 for a product of residues. v4, v6e: a model, no "
    "measurement: the larger of these at the peak of 275 and 1836 TOPS and of the bytes of both "
    "factors and the result at 1.2 and 1.6 TB/s. used: 8-bit products at the peak over the "
    "printed time.",
    "here: ms measured with --measure, on the device that JAX chooses, by our BAT with signed "
    "digits; up to 2^31 products of residues.",
)
