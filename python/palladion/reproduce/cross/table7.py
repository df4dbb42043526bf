"""Table 7: matrix products modulo a prime, by convolution of digits and by BAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.model import TPU_V4, TPU_V6E, Chip
from palladion.reproduce.cross.paper import SPEEDUPS, TABLE_7, USED
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

Shape = tuple[int, int, int]

DIGITS: Final = 4
"""8-bit digits of a prime of 28 bits."""
ALIGNED: Final = DIGITS**2
"""Products of digits for a product of residues by BAT."""
CONVOLVED: Final = (2 * DIGITS - 1) * DIGITS
"""The same by convolution: seven weights, with zeros where an entry has no digit."""
WAYS: Final = {"conv": CONVOLVED, "bat": ALIGNED}
PRIME: Final = (1 << 28) - (1 << 16) + 1
"""The prime of products that are measured."""
MEASURED: Final = 1 << 31
"""Modular products of the largest shape that is measured."""
PRINTED: Final = "printed, TPUv4"


def byte_products(shape: Shape, digits: int) -> int:
    """Products of 8-bit digits, with ``digits`` for a product of residues."""
    rows, terms, columns = shape
    return digits * rows * terms * columns


def moved(shape: Shape, digits: int) -> int:
    """Bytes of both factors, the left one as ``digits`` for an entry, and of the result."""
    rows, terms, columns = shape
    return digits * rows * terms + 4 * terms * columns + 4 * rows * columns


def least_us(shape: Shape, digits: int, chip: Chip) -> float:
    """Microseconds of a product by the model of a chip."""
    return 1e6 * chip.seconds(byte_products(shape, digits), moved(shape, digits))


def run(measured: bool, runs: int, steps: Steps) -> Reproduction:
    """Printed times, the model, and both products on this machine's JAX."""
    rows: list[tuple[Cell, ...]] = []
    used, notes = [], list(NOTES)
    steps.start_run()
    for done, (shape, (conv, bat)) in enumerate(TABLE_7.items()):
        steps.count(" x ".join(map(str, shape)), done, len(TABLE_7))
        peak = 1e6 * 2 * byte_products(shape, ALIGNED) / TPU_V4.int8_per_second
        used.append(100 * peak / bat)
        rows.append(row(shape, PRINTED, conv, bat, SPEEDUPS[done], used[-1]))
        for chip in (TPU_V4, TPU_V6E):
            times = (least_us(shape, digits, chip) for digits in WAYS.values())
            rows.append(row(shape, f"model, {chip.name}", *times))
        if measured and shape[0] * shape[1] * shape[2] <= MEASURED:
            here = (1e6 * seconds(shape, way, runs) for way in WAYS)
            rows.append(row(shape, "measured here", *here))
    if measured:
        notes.append(f"measured here: on a {platform()}, medians of {runs} runs.")
    average = (
        f"The printed times of BAT use {sum(used) / len(used):.0f} % of the peak on average by "
        f"these counts; section 6.3.1 says about {USED:.0f} %, which holds for the largest shape."
    )
    return Reproduction(
        "Table 7: products of matrices modulo a prime of 28 bits; us by convolution and by BAT",
        COLUMNS,
        rows,
        (average, *notes),
        (Panel("rows, terms, columns", "us", series(rows), logarithmic=True),),
    )


def row(
    shape: Shape,
    source: str,
    convolution: float,
    bat: float,
    printed: float | None = None,
    used: float | None = None,
) -> tuple[Cell, ...]:
    """The times of a shape by one source."""
    return (
        *(" x ".join(map(str, shape)), source, convolution, bat, convolution / bat, printed),
        *(byte_products(shape, digits) / 1e9 for digits in WAYS.values()),
        used,
    )


def series(rows: list[tuple[Cell, ...]]) -> tuple[Series, ...]:
    """Bars by source and way, over shapes."""
    names = ["\n".join(map(str, shape)) for shape in TABLE_7]
    shapes = [" x ".join(map(str, shape)) for shape in TABLE_7]
    bars = []
    for source in dict.fromkeys(str(cells[1]) for cells in rows):
        times = {cells[0]: cells[2:4] for cells in rows if cells[1] == source}
        for place, way in enumerate(("convolution", "BAT")):
            cells = [times[shape][place] if shape in times else None for shape in shapes]
            values = [cell if isinstance(cell, float) else None for cell in cells]
            bars.append(Series(f"{way}, {source}", names, values))
    return tuple(bars)


def platform() -> str:
    """The kind of device that JAX chooses."""
    from palladion.xla.device import chosen_device

    return str(chosen_device().platform)


def seconds(shape: Shape, way: str, runs: int) -> float:
    """Median seconds of a product of random residues by one of :data:`WAYS`, with signed digits.

    The left factor is known before: its digits are no part of the time.
    """
    import numpy as np

    from palladion.reproduce.cross.measured import median

    rng = np.random.default_rng(1)
    rows, terms, columns = shape
    left = rng.integers(PRIME, size=(rows, terms), dtype=np.uint64)
    right = rng.integers(PRIME, size=(terms, columns), dtype=np.uint32)
    multiply = prepare(left, right, way)
    return median(lambda: multiply().block_until_ready(), runs)


def prepare(left: Any, right: Any, way: str) -> Callable[[], Any]:
    """A function that multiplies residues ``u64[R, T]`` and ``u32[T, C]`` of :data:`PRIME`.

    It returns ``u32[R, C]`` on the device that JAX chooses. Both factors are there already.
    """
    from palladion import xla

    xla.enable()
    import jax
    import numpy as np

    from palladion.xla.kernels.bat import Aligned, Product
    from palladion.xla.kernels.convolution import Convolution
    from palladion.xla.kernels.words import Residues

    by: Product = Convolution() if way == "conv" else Aligned("s8")
    residues = Residues.of(np.array([PRIME], np.uint32))
    table = by.table(left, np.full(len(left), PRIME, np.uint64))

    def product(table: Any, words: Any, modulus: Any, only: Any) -> Any:
        own = residues.rows(only, 1)
        return by.product(table, by.centre(words, modulus), "left", own)

    operands = (table, right, np.full((1, 1), PRIME, np.uint32), np.zeros(1, np.int32))
    compiled, placed = jax.jit(product), jax.device_put(operands)
    return lambda: compiled(*placed)


COLUMNS: Final = (
    Column("shape", "rows x terms x columns"),
    Column("source", "source"),
    Column("convolution_us", "conv. us", ",.2f"),
    Column("bat_us", "BAT us", ",.2f"),
    Column("speedup", "ratio", ".2f"),
    Column("printed_speedup", "printed", ".2f"),
    Column("convolution_giga_products", "G s8 conv.", ",.2f"),
    Column("bat_giga_products", "G s8 BAT", ",.2f"),
    Column("used_percent", "used, %", ".0f"),
)
NOTES: Final = (
    "source: printed in the paper; the model, which is no measurement; or measured on the device "
    "that JAX chooses, with --measure. ratio: convolution over BAT; printed: the paper's. G s8: "
    "10^9 products of 8-bit digits, 28 for a product of residues by convolution, of which 12 are "
    "with zeros, and 16 by BAT. used: products of BAT at the peak over the printed time.",
    "The model: the larger of these products at the peak of 275 and 1836 TOPS, and of the bytes of "
    "both factors and the result at 1.2 and 1.6 TB/s.",
    "Ours have signed digits and the prime 2^28 - 2^16 + 1. The left factor's digits are computed "
    "before. Convolution has seven sums and two reductions, BAT four and one. Shapes of up to 2^31 "
    "products of residues are measured.",
)
