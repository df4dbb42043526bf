"""Runs plans on a device. The store of rows stays on the device, and the core walks the waves.

A wave is a loop over chunks of a few instructions each. Each stage is therefore compiled only once,
for waves of any length, and the store is updated in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from palladion import _native
from palladion.waves.clock import Clock, Progress, Report
from palladion.waves.plan import SPARE, ZERO, Plan, Stage, Words
from palladion.xla import stages, store
from palladion.xla.device import chunk

Array = Any

LOADED: Final = 64
"""Number of rows that one transfer brings to the device."""


class Executor:
    """A plan with its tables on a device. A stage is compiled when it first runs.

    ``kernels`` is the name of a set of kernels, if one is asked for. Runs use an executor one after
    the other.
    """

    def __init__(self, plan: Plan, device: jax.Device, kernels: str | None = None) -> None:
        self.plan: Final = plan
        self.device: Final = device
        self.kernels: Final = kernels
        self._tables: dict[object, Any] = {}
        self._stages = [self._prepared(stage) for stage in plan.stages]
        self._write = jax.jit(write_block, donate_argnums=0)

    def _prepared(self, stage: Stage) -> Callable[[Array, int, int], Array]:
        """The function ``(store, first, count) -> store`` that runs instructions of a stage."""
        work = stages.work(self.plan, stage, self.device, self.kernels)
        if work.key not in self._tables:
            self._tables[work.key] = jax.device_put(work.tables(), self.device)
        size = chunk(self.device, stage, self.plan.n)
        # The last chunk may read beyond the end.
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
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
    ) -> Report:
        """Run the plan. ``outside`` has the values to load, and takes the values to store.

        ``save`` gets the bytes of each checkpoint, if the outside makes checkpoints. With
        ``profile`` the run waits for every wave, and the report has the seconds of each stage.
        """
        return self._run([outside], progress, save=save, profile=profile)

    def _run(
        self,
        outsides: list[_native.WavesOutside],
        progress: Progress | None,
        *,
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
    ) -> Report:
        self._clock = Clock(self.plan, profile=profile)
        try:
            self.plan.native.run(self, outsides, progress, save)
            return self._clock.report()
        finally:
            del self._rows, self._clock

    # The core calls these methods: they make a machine with a store of rows. See docs/backends.md.

    def begin(self) -> None:
        """Make the store, filled with zeros."""
        self._rows = self.empty()
        self._waiting: list[tuple[Words, Words]] = []

    def recall(self, load: int) -> bool:
        """Nothing is kept from an earlier run."""
        return False

    def write(self, load: int, words: list[bytes]) -> None:
        """Take a value's words, which go to the device with the words of other values."""
        rows = np.array(self.plan.load_rows[load], np.int32)
        self._waiting.append((rows, np.frombuffer(words[0], np.uint32).reshape(-1, self.plan.n)))
        if sum(len(rows) for rows, _ in self._waiting) >= LOADED:
            self._flush()

    def run_stage(self, stage: int, first: int, count: int) -> None:
        """Run ``count`` instructions of a stage, from ``first`` on."""
        self._flush()
        self._rows = self._stages[stage](self._rows, first, count)

    def read(self, store: int) -> list[bytes]:
        """The words of a value to store."""
        self._flush()
        rows = np.array(self.plan.store_rows[store], np.int32)
        return [np.asarray(self._rows[rows]).tobytes()]

    def wait(self) -> None:
        """Return when all work is done."""
        self._rows.block_until_ready()

    def end_wave(self, index: int) -> None:
        """Take the time after a wave, if it is needed."""
        if self._clock.waits(index):
            self._flush()
            self.wait()
        self._clock.end_wave(index)

    def empty(self) -> Array:
        """A store of zeros on the device."""
        zeros = jnp.zeros((self.plan.rows, self.plan.n), jnp.uint32)
        return jax.device_put(zeros, self.device)

    def _flush(self) -> None:
        """Bring the waiting words to the device."""
        if not self._waiting:
            return
        rows, words = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting.clear()
        spare = -len(rows) % LOADED
        rows = np.pad(rows, ((0, spare)), constant_values=SPARE)
        words = np.pad(words, ((0, spare), (0, 0)))
        for start in range(0, len(rows), LOADED):
            part = slice(start, start + LOADED)
            block = jax.device_put((rows[part], words[part]), self.device)
            self._rows = self._write(self._rows, *block)


def write_block(rows: Array, to: Array, words: Array) -> Array:
    """The store ``rows`` with ``words`` in the rows ``to``, written one after the other."""

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
        # Instructions after the last one belong to another wave: they write to the spare row.
        inside = (jnp.arange(size) < count - index * size)[:, None]
        read, write = jnp.where(inside, read, ZERO), jnp.where(inside, write, SPARE)
        return store.write(rows, write, apply(tables, rows, read, words))

    return lax.fori_loop(0, -(-count // size), one, rows)
