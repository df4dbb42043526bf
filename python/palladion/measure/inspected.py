"""Encrypted runs that are compared with the integer network, here or spread over processes.

An executor of :mod:`concurrent.futures` spreads them: a ``ProcessPoolExecutor`` over the cores of
a machine, :class:`palladion.measure.on_ray.RayExecutor` over machines. Each task makes a secret and
keys of its own, which changes no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

import numpy as np

from palladion import _native
from palladion._native import Inspector
from palladion.deployment import CompiledModel
from palladion.nn.integers.network import IntNetwork, Ints
from palladion.runs import Progress
from palladion.support import memory
from palladion.support.records import Json

TASK_SECONDS: Final = 20.0
"""Predicted seconds of a task on one thread, at least: its keys take a tenth of that."""


@dataclass(frozen=True)
class Inspected:
    """Encrypted runs, with what was seen in each layer."""

    logits: Ints
    """(inputs, classes)"""
    margin_bits: float
    """The smallest noise margin of an answer."""
    seconds: float
    """Of all runs, one after the other."""
    layers: list[Json]
    """Sums over all runs: see :meth:`palladion._native.Inspector.layers`."""
    noise: list[Json]
    """Of the first run: see :meth:`palladion._native.Inspector.noise`."""


@dataclass(frozen=True)
class Spread:
    """Processes over which runs are spread."""

    executor: Executor
    threads: int | None = None
    """Threads of each; ``None`` for all cores."""


def inspect(
    network: IntNetwork,
    program: CompiledModel,
    inputs: Ints,
    progress: Progress | None = None,
    *,
    keys: tuple[_native.SecretKey, _native.EvaluationKeys] | None = None,
) -> Inspected:
    """Run inputs encrypted in this process. The inputs that are done are the steps' unit.

    Raises
    ------
    BudgetError
        If keys or runs do not fit in memory.
    """
    if keys is None:
        with memory.reserved_keys(program.facts):
            keys = _native.keygen(program.terms)
    secret, evaluation = keys
    batch = program.facts.batch
    inspector = Inspector(secret, program.native, network.to_json())
    logits: list[list[int]] = []
    seconds, margin = 0.0, float("inf")
    for start in range(0, len(inputs), batch):

        def tell(_step: str, done: float, total: float, start: int = start) -> bool | None:
            finished = start + done / total * min(batch, len(inputs) - start)
            name = f"images: {start} of {len(inputs)} done"
            return progress(name, finished, len(inputs)) if progress else None

        own, left, ran = inspector.run(evaluation, inputs[start : start + batch].tolist(), tell)
        logits += own
        seconds += sum(step["seconds"] for step in ran["steps"])
        margin = min(margin, left)
    return Inspected(np.array(logits), margin, seconds, inspector.layers(), inspector.noise())


def inspect_task(
    network: str, program: CompiledModel, inputs: Ints, threads: int | None
) -> Inspected:
    """A task of :func:`inspect_spread`, in a process of its own."""
    if threads is not None:
        _native.set_threads(threads)
    program.check_run()
    return inspect(IntNetwork.from_json(network), program, inputs)


def inspect_spread(
    network: IntNetwork,
    program: CompiledModel,
    inputs: Ints,
    executor: Executor,
    progress: Progress | None = None,
    *,
    threads: int | None = None,
) -> Inspected:
    """As :func:`inspect`, in the processes of an executor, each with ``threads`` threads. Raises as
    it, and what the executor raises if a process dies."""
    batch = program.facts.batch
    runs = ceil(TASK_SECONDS / max(program.facts.predicted_seconds, 1e-3))
    size = batch * min(runs, ceil(len(inputs) / batch))
    starts = range(0, len(inputs), size)
    text = network.to_json()
    futures: dict[Future[Inspected], int] = {
        executor.submit(inspect_task, text, program, inputs[start : start + size], threads): start
        for start in starts
    }
    done = 0
    try:
        for future in as_completed(futures):
            done += len(future.result().logits)
            if progress:
                progress(f"images: {done} of {len(inputs)} done", done, len(inputs))
    finally:
        for future in futures:
            future.cancel()
    ordered = sorted(futures, key=futures.__getitem__)
    return join([future.result() for future in ordered])


def join(parts: Sequence[Inspected]) -> Inspected:
    """The parts of one evaluation as a whole, in their order."""
    return Inspected(
        logits=np.concatenate([part.logits for part in parts]),
        margin_bits=min(part.margin_bits for part in parts),
        seconds=sum(part.seconds for part in parts),
        layers=[join_layer(same) for same in zip(*(part.layers for part in parts), strict=True)],
        noise=parts[0].noise,
    )


def join_layer(parts: Sequence[Json]) -> Json:
    """The sum of what several tasks saw in one layer."""
    count = sum(part["accumulators"] for part in parts)

    def mean(of: str, power: int) -> float:
        total = sum(part["accumulators"] * part[of] ** power for part in parts)
        return float(total / max(count, 1))

    changes: dict[int, int] = {}
    for part in parts:
        for difference, number in part["changes"].items():
            changes[difference] = changes.get(difference, 0) + number
    sums = ("values", "changed", "slots", "wrong_slots", "accumulators", "beyond_bound")
    return {
        "name": parts[0]["name"],
        **{name: sum(part[name] for part in parts) for name in sums},
        "largest_change": max(part["largest_change"] for part in parts),
        "changes": dict(sorted(changes.items())),
        "noise_mean": mean("noise_mean", 1),
        "noise_sigma": sqrt(mean("noise_sigma", 2)),
        "noise_largest": max(part["noise_largest"] for part in parts),
    }
