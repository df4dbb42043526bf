"""From a stage of the plan to a function on rows: which kernel, with which tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from palladion.xla import store
from palladion.xla.kernels import plain
from palladion.xla.plan import Plan, Stage, Words

Array = Any

UNARY: Final[dict[str, Any]] = {"ntt": plain.Ntt, "intt": plain.Intt}
BINARY: Final[dict[str, Any]] = {"add": plain.Add, "sub": plain.Sub, "mul": plain.Mul}


@dataclass(frozen=True)
class Work:
    """What a stage does to a few instructions at once."""

    apply: Callable[[Any, Array, Array, Array], Array]
    """``apply(tables, store, rows, words)`` gives ``u32[B, writes, N]`` of the rows ``i32[B,
    reads]`` and the words ``u32[B, arguments]``."""
    tables: Any
    """Arrays in numpy. Stages whose tables have one key share them."""
    key: object


def work(plan: Plan, stage: Stage) -> Work:
    """The function and the tables of a stage."""
    kernel, primes = stage.kernel, plan.primes
    if kernel in UNARY:
        unary = UNARY[kernel]
        tables = partial(unary.tables, primes, plan.n)
        return Work(partial(single, unary.apply), tables, kernel)
    if kernel == "convert":
        parts = (stage.tables[name] for name in ("from", "to", "hat_inverse", "matrix"))
        return Work(converted, partial(plain.Convert.tables, primes, *parts), stage.name)
    if kernel == "combine":
        matrices = stage.tables["matrices"]
        bits = int(matrices.max(initial=1)).bit_length()
        shared = partial(with_primes, primes, matrices)
        return Work(partial(combined, bits), shared, stage.name)
    if kernel == "permute":
        return Work(permuted, partial(plain.Permute.tables, primes, plan.permutations), kernel)
    if kernel == "extract":
        return Work(extracted, partial(plain.Extract.tables, primes, plan.places), kernel)
    kernels: dict[str, Any] = {
        "dot": dotted,
        "scale": partial(worded, plain.Scale.apply, slice(1, 2)),
        "round": partial(worded, plain.Round.apply, slice(1, 2)),
        "digit": partial(worded, plain.Digit.apply, slice(1, 4)),
        **{name: partial(single, of.apply) for name, of in BINARY.items()},
    }
    return Work(kernels[kernel], partial(plain.Add.tables, primes, plan.n), "primes")


def with_primes(primes: Words, matrices: Words) -> Any:
    return plain.Add.tables(primes, 0), matrices


def prime(words: Array) -> Array:
    """The index of each instruction's prime."""
    return words[:, 0].astype(np.int32)


def single(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """A kernel whose operands are single rows."""
    operands = [store.read(rows_of, rows[:, k]) for k in range(rows.shape[1])]
    return apply(tables, prime(words), *operands)[:, None]


def worded(apply: Any, of: slice, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """A kernel of one row with words of its own."""
    own = words[:, of]
    if own.shape[1] == 1:
        own = own[:, 0]
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), own)[:, None]


def dotted(tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    terms = rows.shape[1] // 2
    left, right = (store.read_all(rows_of, part) for part in (rows[:, :terms], rows[:, terms:]))
    return plain.Dot.apply(tables, prime(words), left, right)[:, None]


def combined(bits: int, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    primes, matrices = tables
    matrix = matrices[words[:, 1].astype(np.int32)]
    values = store.read_all(rows_of, rows)
    return plain.Combine.apply(primes, prime(words), matrix, values, bits=bits)


def converted(tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    return plain.Convert.apply(tables, prime(words), store.read_all(rows_of, rows))


def permuted(tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    operand = store.read(rows_of, rows[:, 0])
    permutation = words[:, 1].astype(np.int32)
    return plain.Permute.apply(tables, prime(words), operand, permutation)[:, None]


def extracted(tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    values, own = store.read_all(rows_of, rows), words[:, 1:].astype(np.int32)
    return plain.Extract.apply(tables, prime(words), values, own)[:, None]
