"""From a stage of the plan to a function on rows: which kernel, with which tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from palladion.errors import InternalError
from palladion.xla import store
from palladion.xla.kernels import plain
from palladion.xla.kernels.choice import chosen
from palladion.xla.plan import Plan, Stage, Words

Array = Any

TRANSFORMS: Final = ("ntt", "intt")


@dataclass(frozen=True)
class Work:
    """What a stage does to a few instructions at once."""

    apply: Callable[[Any, Array, Array, Array], Array]
    """``apply(tables, store, rows, words)`` gives ``u32[B, writes, N]`` of the rows ``i32[B,
    reads]`` and the words ``u32[B, arguments]``."""
    tables: Any
    """Arrays in numpy. Stages whose tables have one key share them."""
    key: object


def work(plan: Plan, stage: Stage, device: jax.Device) -> Work:
    """The function and the tables of a stage, by the kernel that the device takes."""
    name, primes = stage.kernel, plan.primes
    match name:
        case "convert":
            parts = (stage.tables[part] for part in ("from", "to", "hat_inverse", "matrix"))
            return Work(converted, partial(plain.Convert.tables, primes, *parts), stage.name)
        case "combine":
            matrices = stage.tables["matrices"]
            bits = int(matrices.max(initial=1)).bit_length()
            shared = partial(plain.Combine.tables, primes, matrices)
            return Work(partial(combined, bits), shared, stage.name)
        case "extract":
            return Work(extracted, partial(plain.Extract.tables, primes, plan.places), name)
    of = chosen(device).get(name)
    if of is None:
        raise InternalError(f"no kernel {name}, expected one of a plan")
    if name == "permute":
        both = partial(with_sources, of, primes, plan.permutations)
        return Work(partial(permuted, of.apply), both, name)
    arguments = (primes, plan.n) if name in TRANSFORMS else (primes,)
    forms: dict[str, Any] = {"dot": dotted, "scale": scaled, "round": rounded, "digit": digit}
    return Work(partial(forms.get(name, single), of.apply), partial(of.tables, *arguments), name)


def with_sources(kernel: Any, primes: Words, sources: Words) -> Any:
    """The tables of a permutation, with the sources of all."""
    return kernel.tables(primes), sources


def prime(words: Array) -> Array:
    """The index of each instruction's prime."""
    return words[:, 0].astype(np.int32)


def single(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """A kernel whose operands are single rows."""
    operands = [store.read(rows_of, rows[:, k]) for k in range(rows.shape[1])]
    return apply(tables, prime(words), *operands)[:, None]


def scaled(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), words[:, 1])[:, None]


def rounded(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    to = jnp.asarray(tables.q)[words[:, 1].astype(np.int32)]
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), to)[:, None]


def digit(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    own = (words[:, place] for place in (1, 2, 3))
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), *own)[:, None]


def dotted(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """An inner product, with the left rows first."""
    terms = rows.shape[1] // 2
    left, right = (store.read_all(rows_of, part) for part in (rows[:, :terms], rows[:, terms:]))
    return apply(tables, prime(words), left, right)[:, None]


def combined(bits: int, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    which, values = words[:, 1].astype(np.int32), store.read_all(rows_of, rows)
    return plain.Combine.apply(tables, prime(words), which, values, bits=bits)


def converted(tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    return plain.Convert.apply(tables, prime(words), store.read_all(rows_of, rows))


def permuted(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    own, sources = tables
    which, values = words[:, 1].astype(np.int32), store.read_all(rows_of, rows)
    return apply(own, prime(words), sources, which, values)[:, None]


def extracted(tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    values, own = store.read_all(rows_of, rows), words[:, 1:].astype(np.int32)
    return plain.Extract.apply(tables, prime(words), values, own)[:, None]
