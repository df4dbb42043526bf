"""Measures variants of kernels on a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Final

import jax
import numpy as np
from jax import lax

from palladion.errors import UsageError
from palladion.xla.kernels import permute
from palladion.xla.kernels.choice import OPERATIONS, Choice, name_of, variant
from palladion.xla.kernels.convert import Bases

MODULI: Final = 4
"""Number of primes of the rows in a measurement."""
TERMS: Final = 8
"""Terms of an inner product, and limbs of both bases of a conversion."""
LOOPED: Final = 16
"""Instructions of one call on a CPU, where a wave of a run is a loop. The launch of a call takes
longer than one instruction of the smallest kernels."""
COMBINED: Final = (256, 256, 2048)
"""Rows, terms and columns of a combination."""


@dataclass(frozen=True)
class Measured:
    """The measured time of a variant."""

    operation: str
    variant: str
    microseconds: float
    """Time of one row, the median of the runs. NaN if the variant failed or gave wrong words."""
    compile_seconds: float
    note: str = ""


def primes(n: int, count: int, below: int = 0xFEFEFEFF) -> list[int]:
    """The largest primes below a bound with a transform of degree ``n``."""
    chosen: list[int] = []
    q = (below - 2) // (2 * n) * (2 * n) + 1
    while len(chosen) < count:
        # Fermat's test to five bases is enough for a measurement.
        if all(pow(base, q - 1, q) == 1 for base in (2, 3, 5, 7, 11)):
            chosen.append(q)
        q -= 2 * n
    return chosen


def operands(operation: str, n: int, rows: int) -> tuple[list[Any], list[Any], int]:
    """The arguments of ``tables``, the operands of ``apply``, and the number of rows."""
    rng = np.random.default_rng(1)
    moduli = np.array(primes(n, 2 * TERMS), np.uint32)
    some = np.arange(rows, dtype=np.int32) % MODULI

    def words(*shape: int) -> Any:
        return rng.integers(0, int(moduli.min()), shape, dtype=np.uint32)

    x = words(rows, n)
    few = moduli[:MODULI]
    full = np.full(rows, 1, np.uint32)
    if operation in ("ntt", "intt"):
        return [few, n], [some, x], rows
    if operation in ("add", "sub", "mul"):
        return [few, n], [some, x, words(rows, n)], rows
    if operation == "dot":
        return [few, n], [some, words(rows, TERMS, n), words(rows, TERMS, n)], rows
    if operation == "scale":
        return [few, n], [some, x, words(rows)], rows
    if operation in ("combine", "combine-wide"):
        out, inner, columns = COMBINED
        most = 65537 if operation == "combine" else int(moduli.min())
        matrix = rng.integers(0, most, (1, out, inner), dtype=np.uint32)
        return [few, n], [some[:1], matrix, words(1, inner, min(n, columns))], out
    if operation == "convert":
        bases = Bases.of(moduli, [([*range(TERMS)], [*range(TERMS, 2 * TERMS)])])
        return [moduli, n, bases], [np.zeros(1, np.int32), words(1, TERMS, n)], TERMS
    if operation == "permute":
        return [few, n], [some, permute.evaluation(n, 5)[None], 0 * some, x[:, None]], rows
    if operation == "extract":
        places = rng.integers(0, n, (1, n), dtype=np.int32)
        return [few, n], [some, places, np.zeros((rows, 5), np.int32), x[:, None]], rows
    if operation == "turn":
        return [few, n], [some, x, words(rows) % np.uint32(2 * n)], rows
    if operation == "round":
        return [few, n], [some, x, 65537 * full], rows
    if operation == "digit":
        return [few, n], [some, x, full, 8 * full, 4 * full], rows
    raise UsageError(f"no operation {operation!r}, expected one of {', '.join(OPERATIONS)}")


def measure(
    device: Any, n: int, rows: int, runs: int, operations: tuple[str, ...] = tuple(OPERATIONS)
) -> Iterator[Measured]:
    """Measure all variants of some operations, one after the other.

    On a CPU a call is a loop of :data:`LOOPED` instructions of ``rows`` rows, as in a run.
    """
    loops = LOOPED if device.platform == "cpu" else 1
    for operation in operations:
        table_inputs, values, count = operands(operation, n, rows)
        values = [np.stack([value] * loops) for value in values]
        expected = None
        for kernel in OPERATIONS[operation]:
            try:
                variant(operation, kernel.name, device.platform)
                tables = kernel.tables(*table_inputs)
                placed = jax.device_put((tables, *values), device)
                started = time.perf_counter()
                compiled = jax.jit(loop_instructions(kernel.apply)).lower(*placed).compile()
                compile_seconds = time.perf_counter() - started
                result = np.asarray(compiled(*placed))
                seconds = median(partial(compiled, *placed), runs)
            except (UsageError, jax.errors.JaxRuntimeError) as error:
                note = str(error).splitlines()[0]
                yield Measured(operation, kernel.name, float("nan"), 0.0, note)
                continue
            expected = result if expected is None else expected
            if not np.array_equal(result, expected):
                note = (
                    f"{np.count_nonzero(result != expected)} of {prod(result.shape)} words differ"
                )
                yield Measured(operation, kernel.name, float("nan"), compile_seconds, note)
                continue
            each = seconds / (loops * count) * 1e6
            yield Measured(operation, kernel.name, each, compile_seconds)


def loop_instructions(apply: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """``apply`` in a loop. The first axis of operands and results counts instructions."""

    def all_of_them(tables: Any, *values: jax.Array) -> jax.Array:
        results: jax.Array = lax.map(lambda own: apply(tables, *own), values)
        return results

    return all_of_them


def median(run: Callable[[], jax.Array], runs: int) -> float:
    """The median seconds of some runs. A first run is not counted."""
    run().block_until_ready()
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        run().block_until_ready()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def fastest(device: Any, n: int, measured: list[Measured]) -> Choice:
    """The choice of the fastest variants in the measurements."""
    best: dict[str, Measured] = {}
    for entry in measured:
        known = best.get(entry.operation)
        if entry.microseconds == entry.microseconds and (
            known is None or entry.microseconds < known.microseconds
        ):
            best[entry.operation] = entry
    names = {operation: entry.variant for operation, entry in best.items()}
    return Choice(name_of(device), jax.__version__, n, names)
