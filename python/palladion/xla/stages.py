"""Turns a stage of the plan into a function on rows, by a kernel and its tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from palladion.errors import InternalError
from palladion.waves.plan import Plan, Stage, Words
from palladion.xla import store
from palladion.xla.kernels.choice import choose_kernels
from palladion.xla.kernels.convert import Bases
from palladion.xla.kernels.words import of_rows

Array = Any

NARROW: Final = 1 << 17
"""Matrices with entries below this take ``combine``, others take ``combine-wide``."""


@dataclass(frozen=True)
class Work:
    """The function of a stage, for a few instructions at once, with its tables."""

    apply: Callable[[Any, Array, Array, Array], Array]
    """``apply(tables, store, rows, words)``: the results ``u32[B, writes, N]`` of ``B``
    instructions. Rows ``i32[B, reads]`` are operands, words ``u32[B, arguments]`` arguments."""
    tables: Any
    """Arrays in numpy. Stages whose tables have one key share them."""
    key: object


def work(plan: Plan, stage: Stage, device: jax.Device, kernels: str | None = None) -> Work:
    """The function and the tables of a stage, with the kernel that the device uses.

    ``kernels`` is the name of a set of kernels, if one is asked for."""
    name, primes = stage.kernel, plan.primes
    if name == "combine" and stage.tables["matrices"].max(initial=0) >= NARROW:
        name = "combine-wide"
    of = choose_kernels(device, kernels).get(name)
    if of is None:
        raise InternalError(f"no kernel {name}, expected one of a plan")
    tables, form, key = partial(of.tables, primes), partial(run_on_rows, of.apply), name
    match name:
        case "ntt" | "intt":
            tables = partial(of.tables, primes, plan.n)
        case "dot" if getattr(of, "reads_store", False):
            form = partial(run_dot_of_store, of)
        case "dot":
            form = partial(run_dot, of.apply)
        case "scale":
            form = partial(run_scale, of.apply)
        case "round":
            form = partial(run_round, of.apply)
        case "digit":
            form = partial(run_digit, of.apply)
        case "permute":
            form, tables = (
                partial(run_permute, of.apply),
                partial(add_table, tables, plan.permutations),
            )
        case "extract":
            form, tables = partial(run_extract, of.apply), partial(add_table, tables, plan.places)
        case "combine" | "combine-wide":
            form, tables = (
                partial(run_combine, of.apply),
                partial(add_table, tables, stage.tables["matrices"]),
            )
            key = stage.name
        case "convert":
            parts = (stage.tables[part] for part in ("from", "to", "hat_inverse", "matrix"))
            form, tables = (
                partial(run_convert, of.apply),
                partial(of.tables, primes, plan.n, Bases(*parts)),
            )
            key = stage.name
    return Work(form, tables, key)


def add_table(tables: Callable[[], Any], others: Words) -> Any:
    """The tables of a kernel, and the arrays from which an instruction takes one row."""
    return tables(), others


def prime(words: Array) -> Array:
    """The index of each instruction's prime."""
    return words[:, 0].astype(np.int32)


def run_on_rows(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """Runs a kernel whose operands are single rows."""
    operands = [store.read(rows_of, rows[:, k]) for k in range(rows.shape[1])]
    return apply(tables, prime(words), *operands)[:, None]


def run_scale(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), words[:, 1])[:, None]


def run_round(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    to = jnp.asarray(tables.q)[words[:, 1].astype(np.int32)]
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), to)[:, None]


def run_digit(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    own = (words[:, place] for place in (1, 2, 3))
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), *own)[:, None]


def run_dot(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """Runs an inner product. The left rows come first."""
    terms = rows.shape[1] // 2
    left, right = (store.read_all(rows_of, part) for part in (rows[:, :terms], rows[:, terms:]))
    return apply(tables, prime(words), left, right)[:, None]


def run_dot_of_store(kernel: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """Runs an inner product with a kernel that reads the store itself."""
    return kernel.of_store(tables, prime(words), rows_of, rows)[:, None]


def run_combine(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    own, matrices = tables
    matrix = of_rows(matrices, words[:, 1].astype(np.int32))
    return apply(own, prime(words), matrix, store.read_all(rows_of, rows))


def run_convert(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    return apply(tables, prime(words), store.read_all(rows_of, rows))


def run_permute(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    own, sources = tables
    which, values = words[:, 1].astype(np.int32), store.read_all(rows_of, rows)
    return apply(own, prime(words), sources, which, values)[:, None]


def run_extract(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    (own, places), signed = tables, words[:, 1:].astype(np.int32)
    return apply(own, prime(words), places, signed, store.read_all(rows_of, rows))[:, None]
