"""From a stage of the plan to a function on rows: which kernel, with which tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import numpy as np

from palladion.errors import InternalError
from palladion.xla import store
from palladion.xla.kernels import plain
from palladion.xla.kernels.choice import chosen
from palladion.xla.kernels.kernel import SMALLEST
from palladion.xla.plan import Plan, Stage, Words

Array = Any

PLAIN: Final[dict[str, Any]] = {
    of.name: of
    for of in (plain.Ntt, plain.Intt, plain.Add, plain.Sub, plain.Mul, plain.Dot, plain.Scale)
}
"""Kernels of which there are faster forms."""
TRANSFORMS: Final = ("ntt", "intt")


def kernels_for(plan: Plan, device: jax.Device) -> dict[str, Any]:
    """The form of each of these kernels that the device takes. Small primes have the plain one."""
    if not all(q > SMALLEST for q in plan.primes.tolist()):
        return PLAIN
    found = chosen(device)
    return {name: found[name] for name in PLAIN}


@dataclass(frozen=True)
class Work:
    """What a stage does to a few instructions at once."""

    apply: Callable[[Any, Array, Array, Array], Array]
    """``apply(tables, store, rows, words)`` gives ``u32[B, writes, N]`` of the rows ``i32[B,
    reads]`` and the words ``u32[B, arguments]``."""
    tables: Any
    """Arrays in numpy. Stages whose tables have one key share them."""
    key: object


def work(plan: Plan, stage: Stage, kernels: dict[str, Any]) -> Work:
    """The function and the tables of a stage, with ``kernels`` as :func:`kernels_for` gives."""
    name, primes = stage.kernel, plan.primes
    if name in kernels:
        of = kernels[name]
        arguments = (primes, plan.n) if name in TRANSFORMS else (primes,)
        forms: dict[str, Any] = {"dot": dotted, "scale": partial(worded, slice(1, 2))}
        return Work(
            partial(forms.get(name, single), of.apply), partial(of.tables, *arguments), name
        )
    match name:
        case "convert":
            parts = (stage.tables[part] for part in ("from", "to", "hat_inverse", "matrix"))
            return Work(converted, partial(plain.Convert.tables, primes, *parts), stage.name)
        case "combine":
            matrices = stage.tables["matrices"]
            bits = int(matrices.max(initial=1)).bit_length()
            shared = partial(with_primes, primes, matrices)
            return Work(partial(combined, bits), shared, stage.name)
        case "permute":
            return Work(permuted, partial(plain.Permute.tables, primes, plan.permutations), name)
        case "extract":
            return Work(extracted, partial(plain.Extract.tables, primes, plan.places), name)
        case "round":
            apply = partial(worded, slice(1, 2), plain.Round.apply)
        case "digit":
            apply = partial(worded, slice(1, 4), plain.Digit.apply)
        case _:
            raise InternalError(f"no kernel {name}, expected one of a plan")
    return Work(apply, partial(plain.Add.tables, primes), "primes")


def with_primes(primes: Words, matrices: Words) -> Any:
    return plain.Add.tables(primes), matrices


def prime(words: Array) -> Array:
    """The index of each instruction's prime."""
    return words[:, 0].astype(np.int32)


def single(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """A kernel whose operands are single rows."""
    operands = [store.read(rows_of, rows[:, k]) for k in range(rows.shape[1])]
    return apply(tables, prime(words), *operands)[:, None]


def worded(of: slice, apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """A kernel of one row with words of its own."""
    own = words[:, of]
    if own.shape[1] == 1:
        own = own[:, 0]
    return apply(tables, prime(words), store.read(rows_of, rows[:, 0]), own)[:, None]


def dotted(apply: Any, tables: Any, rows_of: Array, rows: Array, words: Array) -> Array:
    """An inner product, with the left rows first."""
    terms = rows.shape[1] // 2
    left, right = (store.read_all(rows_of, part) for part in (rows[:, :terms], rows[:, terms:]))
    return apply(tables, prime(words), left, right)[:, None]


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
