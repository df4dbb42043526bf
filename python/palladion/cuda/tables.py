"""The tables that kernels read, made on the host."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from palladion.errors import UsageError
from palladion.waves.plan import Plan, Stage, Words
from palladion.waves.roots import root_of, tree

PRIME: Final = np.dtype(
    [
        ("q", np.uint32),
        ("inverse", np.uint32),
        ("reciprocal", np.uint64),
        ("scale", np.uint32),
        ("scale_low", np.uint32),
        ("fraction", np.uint32),
        ("unused", np.uint32),
    ]
)
"""``struct Prime`` of the kernels."""

WORD: Final = 1 << 32

SMALLEST: Final = 1 << 4
LARGEST: Final = 1 << 17
"""Degrees whose transforms take two passes."""


def prime_constants(primes: Words, n: int) -> Words:
    """The constants of each prime: ``PRIME[P]``."""
    rows = []
    for q in map(int, primes):
        inverse = pow(q, -1, WORD)
        scale = pow(n, -1, q) * WORD % q
        fraction = (1 << (31 + q.bit_length())) // q
        rows.append((q, inverse, (1 << 64) // q, scale, scale * inverse % WORD, fraction, 0))
    return np.array(rows, PRIME)


def transform_factors(primes: Words, n: int, *, inverse: bool) -> Words:
    """The factors of the butterflies: ``u32[P, N, 2]``.

    Entry ``2^s + k`` has the power of the root for node ``k`` of stage ``s``, times 2^32, and the
    same times ``q^-1 mod 2^32``.
    """
    if not SMALLEST <= n <= LARGEST:
        raise UsageError(f"rows of {n} words, expected a power of two from 2^4 to 2^17")
    pairs = np.empty((len(primes), n, 2), np.uint32)
    for index, q in enumerate(map(int, primes)):
        powers = tree(root_of(q, n, inverse=inverse), n, q)
        factors = (powers << np.uint64(32)) % np.uint64(q)
        pairs[index, :, 0] = factors
        pairs[index, :, 1] = factors * np.uint64(pow(q, -1, WORD)) & np.uint64(WORD - 1)
    return pairs


def stage_table(plan: Plan, stage: Stage) -> tuple[object, Any]:
    """The table of a stage's kernel, and its key: stages with equal keys share a table."""
    match stage.kernel:
        case "ntt" | "intt":
            inverse = stage.kernel == "intt"
            return stage.kernel, transform_factors(plan.primes, plan.n, inverse=inverse)
        case "permute":
            return "permutations", plan.permutations
        case "extract":
            return "places", plan.places
        case "combine":
            return stage.name, stage.tables["matrices"]
        case "convert":
            parts = ("from", "to", "hat_inverse", "matrix")
            flat = [stage.tables[part].reshape(len(stage.tables[part]), -1) for part in parts]
            return stage.name, np.ascontiguousarray(np.concatenate(flat, axis=1))
        case _:
            return None, np.zeros(1, np.uint32)
