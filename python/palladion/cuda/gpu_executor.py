"""Runs plans on a GPU. The store of rows stays on the device, and the core walks the waves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from palladion import _native
from palladion.cuda import launch, tables
from palladion.cuda.launch import MOST, Launch
from palladion.cuda.segments import Array, Device, Segments
from palladion.waves.clock import Clock, Progress, Report
from palladion.waves.plan import ZERO, Plan, Stage


class StageOnDevice:
    """A stage whose lists and table are on the device."""

    def __init__(self, device: Device, stage: Stage, n: int, table: Array) -> None:
        self.stage, self.table = stage, table
        self.launches = launch.launches(stage, n)
        self.lists = [device.put(part) for part in (stage.read_rows, stage.write_rows, stage.words)]
        widths = (stage.reads, stage.writes, len(stage.arguments))
        self.strides = [4 * width for width in widths]
        self.addresses = [device.address(part) for part in self.lists]


class Executor:
    """A plan with its tables on a device. Runs use an executor one after the other.

    With ``keeps`` the values of keys and constants stay on the device, beside the store of rows.
    The next run with the same keys copies them from there. All its launches are then known: they
    are recorded in segments, which end where the host reads, writes or waits. Later runs replay
    the segments, which takes the host an eighth of the time.
    """

    def __init__(self, plan: Plan, device: Device, *, keeps: bool) -> None:
        self.plan: Final = plan
        self.device: Final = device
        self._primes = device.put(tables.prime_constants(plan.primes, plan.n))
        by_key: dict[object, Array] = {}
        self._stages = []
        for stage in plan.stages:
            key, table = tables.stage_table(plan, stage)
            if key not in by_key:
                by_key[key] = device.put(table)
            self._stages.append(StageOnDevice(device, stage, plan.n, by_key[key]))
        self._place = launch.place(plan.n)
        # All rows that are loaded, one value after the other, and where each value begins.
        self._to = device.put(np.array([row for rows in plan.load_rows for row in rows], np.int32))
        self._starts = np.cumsum([0, *map(len, plan.load_rows)]).tolist()
        self._keys: object = None
        self._kept: set[int] = set()
        self._asked = -1
        widest = max(map(len, plan.load_rows), default=0)
        self._loaded = device.empty(self._starts[-1] if keeps else widest, plan.n)
        self._keeps = keeps
        self._waiting = range(0)
        self._rows = device.empty(plan.rows, plan.n)
        device.fill(self._rows[ZERO : ZERO + 1], 0)
        self._segments = Segments(device)

    def run(
        self,
        outside: _native.WavesOutside,
        progress: Progress | None = None,
        *,
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
        keys: object = None,
    ) -> Report:
        """Run the plan: as :meth:`palladion.xla.executor.Executor.run`.

        Values that were kept are used if ``keys`` is the object of the run before.
        """
        known = keys is not None and keys is self._keys
        if not known:
            self._kept.clear()
        self._keys = None  # a run that fails may not have kept everything
        clock = self._clock = Clock(self.plan, profile=profile)
        with self._segments.use(known=known and self._keeps and not profile):
            self.plan.native.run(self, [outside], progress, save)
        self._keys = keys
        return clock.report()

    # The core calls these methods: see docs/backends.md.

    def begin(self) -> None:
        """Begin with no value to write."""
        self._waiting = range(0)

    def recall(self, load: int) -> bool:
        """Write a value that an earlier run has kept."""
        known = load in self._kept
        if known:
            self._wait_for(load)
        self._asked = load
        return known

    def write(self, load: int, words: list[bytes]) -> None:
        """Write a value's words."""
        self._segments.end()
        values = np.frombuffer(words[0], np.uint32).reshape(-1, self.plan.n)
        start = self._starts[load] if self._keeps else 0
        self.device.fill(self._loaded[start : start + len(values)], values)
        self._wait_for(load)
        if not self._keeps:
            self._flush()
        elif load == self._asked:
            self._kept.add(load)

    def _wait_for(self, load: int) -> None:
        """Put a loaded value on the list of those that go to their rows in one launch."""
        if load != self._waiting.stop:
            self._flush()
            self._waiting = range(load, load)
        self._waiting = range(self._waiting.start, load + 1)

    def _flush(self) -> None:
        """Bring the loaded values to their rows."""
        first, end = self._starts[self._waiting.start], self._starts[self._waiting.stop]
        self._waiting = range(self._waiting.stop, self._waiting.stop)
        if first == end or self._segments.replayed():
            return
        lists = [0, self.device.address(self._to) + 4 * first, 0]
        values = self._loaded[first:end] if self._keeps else self._loaded
        self._launch(self._place, lists, values, end - first, (0, 0), [0, 4, 0])

    def run_stage(self, stage: int, first: int, count: int) -> None:
        """Run ``count`` instructions of a stage, from ``first`` on."""
        self._flush()
        if self._segments.replayed():
            return
        own = self._stages[stage]
        lists = [
            address + first * stride
            for address, stride in zip(own.addresses, own.strides, strict=True)
        ]
        widths = (own.stage.reads, own.stage.writes)
        for each in own.launches:
            self._launch(each, lists, own.table, count, widths, own.strides)

    def _launch(
        self,
        each: Launch,
        lists: list[int],
        table: Array,
        count: int,
        widths: tuple[int, int],
        strides: list[int],
    ) -> None:
        """Start a kernel on ``count`` instructions."""
        place, words = self.device.address, (self.plan.n, *widths)
        row = 4 * self.plan.n if each == self._place else 0  # its table has a row for each
        for start in range(0, count, MOST):
            some = min(MOST, count - start)
            starts = (at + start * stride for at, stride in zip(lists, strides, strict=True))
            pointers = (place(self._rows), *starts, place(self._primes), place(table) + start * row)
            self._segments.launch(each.kernel, (each.across, some, each.deep), (*pointers, *words))

    def read(self, store: int) -> list[bytes]:
        """The words of a value to store."""
        self._flush()
        self._segments.end()
        rows = self.plan.store_rows[store]
        return [b"".join(self.device.get(self._rows[row : row + 1]) for row in rows)]

    def wait(self) -> None:
        """Return when all work is done."""
        self._segments.end()
        self.device.wait()

    def end_wave(self, index: int) -> None:
        """Take the time after a wave, if it is needed."""
        if self._clock.waits(index):
            self.wait()
        self._clock.end_wave(index)
