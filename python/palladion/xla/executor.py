"""Runs plans: wave after wave, on a store that stays on the device.

A wave is a loop over chunks of a few instructions each. So each stage is compiled once, whatever
the number of instructions of a wave, and the store is updated where it lies.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from palladion import _native
from palladion.errors import StoppedError
from palladion.xla import stages, store
from palladion.xla.device import chunk
from palladion.xla.plan import SPARE, ZERO, Plan, Stage, Wave

Array = Any
Progress = Callable[[str, float, float], bool | None]

LOADED: Final = 64
"""Rows that are brought to the device at once."""
TOLD: Final = 0.01
"""Share of the work after which progress is reported. The device is waited for then."""


@dataclass
class Report:
    """What a run took."""

    seconds: float = 0.0
    steps: list[dict[str, Any]] = field(default_factory=list)
    kernels: dict[str, float] = field(default_factory=dict)
    """Seconds by stage, if they were measured."""


class Executor:
    """A plan on a device, with its tables there and its stages compiled when first needed."""

    def __init__(self, plan: Plan, device: jax.Device) -> None:
        self.plan: Final = plan
        self.device: Final = device
        self._tables: dict[object, Any] = {}
        self._stages = [self._prepared(stage) for stage in plan.stages]
        self._write = jax.jit(write_block, donate_argnums=0)

    def _prepared(self, stage: Stage) -> Callable[[Array, int, int], Array]:
        """The function ``(store, first, count) -> store`` that runs instructions of a stage."""
        work = stages.work(self.plan, stage, self.device)
        if work.key not in self._tables:
            self._tables[work.key] = jax.device_put(work.tables(), self.device)
        size = chunk(self.device, stage, self.plan.n)
        # A chunk may begin near the end.
        lists = (stage.read_rows, stage.write_rows, stage.words)
        padded = [np.pad(part, ((0, size), (0, 0))) for part in lists]
        rows = jax.device_put(padded, self.device)
        run = jax.jit(partial(run_chunks, work.apply, size), donate_argnums=0)
        return partial(run, tables=self._tables[work.key], lists=rows)

    def run(
        self,
        outside: _native.WavesOutside,
        progress: Progress | None = None,
        *,
        ended: Callable[[], object] | None = None,
        profile: bool = False,
    ) -> Report:
        """Run the plan. Values come from ``outside`` and go to it.

        ``ended`` is called after each step. With ``profile``, every wave is waited for, and the
        report has the seconds of each stage.
        """
        plan, report = self.plan, Report()
        taken: dict[str, float] = defaultdict(float)
        done, told, total = 0.0, 0.0, sum(plan.cost(wave) for wave in plan.waves)
        began = step_began = time.perf_counter()
        rows = self.empty()
        for wave, after in zip(plan.waves, [*plan.waves[1:], None], strict=True):
            wave_began = time.perf_counter()
            rows = self._wave(rows, wave, outside)
            done += plan.cost(wave)
            ends = after is None or after.step != wave.step
            if profile or ends or done - told > total * TOLD:
                rows.block_until_ready()
            if profile:
                taken[plan.name(wave)] += time.perf_counter() - wave_began
            if ends or done - told > total * TOLD:
                told = done
                if progress and progress(plan.steps[wave.step], done, total) is False:
                    raise StoppedError("the progress callback stopped the run")
            if ends:
                now = time.perf_counter()
                report.steps.append({"name": plan.steps[wave.step], "seconds": now - step_began})
                if ended:
                    ended()
                step_began = now
        report.seconds = time.perf_counter() - began
        report.kernels = dict(taken)
        return report

    def empty(self) -> Array:
        """The store before a run."""
        zeros = jnp.zeros((self.plan.rows, self.plan.n), jnp.uint32)
        return jax.device_put(zeros, self.device)

    def _wave(self, rows: Array, wave: Wave, outside: _native.WavesOutside) -> Array:
        """The store after a wave."""
        if wave.stage is not None:
            return self._stages[wave.stage](rows, wave.first, wave.length)
        if not wave.stores:
            return self._load(rows, wave.first, wave.length, outside)
        self._store(rows, wave.first, wave.length, outside)
        return rows

    def _load(self, rows: Array, first: int, count: int, outside: _native.WavesOutside) -> Array:
        """Bring values into the store, a few at a time."""
        lengths, end = self.plan.load_lengths, first + count
        while first < end:
            some = first + 1
            while some < end and sum(lengths[first : some + 1]) <= LOADED:
                some += 1
            numbers, data = self.plan.native.load((first, some - first), outside)
            to = np.frombuffer(numbers, np.int32)
            words = np.frombuffer(data, np.uint32).reshape(-1, self.plan.n)
            spare = -len(to) % LOADED
            to = np.pad(to, (0, spare), constant_values=SPARE)
            words = np.pad(words, ((0, spare), (0, 0)))
            for start in range(0, len(to), LOADED):
                part = slice(start, start + LOADED)
                rows = self._write(rows, *jax.device_put((to[part], words[part]), self.device))
            first = some
        return rows

    def _store(self, rows: Array, first: int, count: int, outside: _native.WavesOutside) -> None:
        """Give values of the store to the outside."""
        for index in range(first, first + count):
            numbers = np.frombuffer(self.plan.native.store_rows(index), np.int32)
            words = np.asarray(rows[numbers])
            self.plan.native.store(index, words.tobytes(), outside)


def write_block(rows: Array, to: Array, words: Array) -> Array:
    """Write rows one after the other."""

    def one(index: Array, rows: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(rows, words[index][None], to[index], 0)

    return lax.fori_loop(0, len(to), one, rows)


def run_chunks(
    apply: Any, size: int, rows: Array, first: Array, count: Array, *, tables: Any, lists: Any
) -> Array:
    """Run ``count`` instructions from ``first`` on, ``size`` at a time."""

    def one(index: Array, rows: Array) -> Array:
        start = first + index * size
        read, write, words = (lax.dynamic_slice_in_dim(part, start, size) for part in lists)
        # What follows the last instruction belongs to another wave.
        inside = (jnp.arange(size) < count - index * size)[:, None]
        read, write = jnp.where(inside, read, ZERO), jnp.where(inside, write, SPARE)
        return store.write(rows, write, apply(tables, rows, read, words))

    return lax.fori_loop(0, -(-count // size), one, rows)
