"""Times of operations on this machine: by this package's kernels, and through XLA."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from palladion import _native, ckks
from palladion.reproduce.cross.operations import WRITTEN, Operation

BETWEEN: Final = ("load", "store")
"""Stages of a run that are no part of an operation: they bring values to the device and back."""


def median(run: Callable[[], object], runs: int) -> float:
    """Median seconds, after a run that is not counted."""
    run()
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def on_cpu(params: ckks.Params, operations: Sequence[str], runs: int) -> dict[str, float]:
    """Seconds of each operation, encrypted, at the highest level."""
    secret = ckks.keygen(params)
    keys = secret.evaluation_keys(rotations=[1])
    rng = np.random.default_rng(1)
    given = [secret.encrypt(rng.uniform(-1, 1, params.n // 2)).with_keys(keys) for _ in range(2)]
    found = {}
    for name in operations:
        operands, run = WRITTEN[name]
        found[name] = median(lambda run=run, of=given[:operands]: run(*of), runs)  # type: ignore[misc]
    return found


def through_xla(operation: Operation, runs: int) -> float:
    """Median seconds of the waves of an operation on JAX's device, on random residues."""
    return statistics.median(sum(each.values()) for each in profiles(operation.text, runs))


def profiles(text: str, runs: int) -> list[dict[str, float]]:
    """Seconds of each stage of a trace in some runs through XLA, on random residues.

    A run waits for every wave. A stage is named by its kernel and the rows that it reads and
    writes, such as ``ntt 1 to 1``. Stages that bring values to the device and back are left out.
    """
    from palladion import xla

    xla.enable()
    from palladion.waves.plan import Plan
    from palladion.xla.device import chosen_device
    from palladion.xla.executor import Executor

    waves = _native.Waves.of_text(text)
    executor = Executor(Plan(waves), chosen_device())
    outside = random_values(waves)
    taken = []
    for _ in range(runs + 1):
        kernels = executor.run(outside, profile=True).kernels
        taken.append({name: each for name, each in kernels.items() if name not in BETWEEN})
    return taken[1:]


def random_values(waves: Any) -> _native.WavesOutside:
    """Uniform residues for all that a plan loads."""
    rng = np.random.default_rng(1)
    values, seeds = {}, {}
    for kind, name, _, primes, _ in _native.waves_moves(waves)[0]:
        if kind == "mask":
            seeds[name] = rng.bytes(32)
        elif kind == "body":
            moduli = (waves.primes[index] for index in primes)
            values[name] = [
                rng.integers(q, size=waves.n, dtype=np.uint64).tobytes() for q in moduli
            ]
    return _native.WavesOutside.of_values(values, seeds)
