"""Splits a plan over devices by primes: each device has the rows of some primes.

An instruction runs on the device that has the prime of its result, and most instructions have their
operands there. Only conversions, and roundings from one prime to another, read rows of other
primes. Before such a wave these rows are gathered on all devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from palladion import _native
from palladion.waves.plan import SPARE, ZERO, Plan, Stage, Wave, Words

ACROSS: Final = ("convert", "round")
"""Kernels that read rows of other primes than the prime of their result."""
FIRST: Final = 2
"""The first row for limbs. Each device has the rows before it: of zeros, and for spare results."""
GATHERED: Final = 4
"""Number of rows of each device that one gather brings to all devices."""


@dataclass(frozen=True)
class LimbRows:
    """The place of each limb of a value: a device, and a row of the device's store."""

    devices: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass
class Share:
    """The instructions of a stage on each device. The first axis of most arrays counts devices."""

    stage: Stage
    reads: Words
    writes: Words
    words: Words
    gathered: Words
    """Rows of each device that all devices need, :data:`GATHERED` at a time."""
    counts: Words
    """Number of instructions of each device in each wave."""
    starts: Words
    """For each wave: its first instruction, its first gather, and the number of its gathers."""


@dataclass(frozen=True)
class Split:
    """A plan for several devices."""

    rows: int
    """Rows of the store of each device."""
    scratch: int
    """The first row for gathered rows, which are the last ones of the store."""
    shares: list[Share]
    loads: list[LimbRows]
    stores: list[LimbRows]


def find_owner(prime: Words, devices: int) -> Words:
    """The device that has a prime, by the prime's index.

    Primes are dealt out in turn: all devices keep work when the last primes of a chain are gone.
    """
    device: Words = prime % devices
    return device


def split_conversion(stage: Stage) -> Stage:
    """Splits conversions into instructions that write one row each. Other stages are unchanged."""
    writes = stage.writes
    if stage.kernel != "convert" or writes == 1:
        return stage
    tables = stage.tables
    return replace(
        stage,
        writes=1,
        read_rows=np.repeat(stage.read_rows, writes, axis=0),
        write_rows=stage.write_rows.reshape(-1, 1),
        words=(stage.words * writes + np.arange(writes, dtype=np.uint32)).reshape(-1, 1),
        tables={
            "from": np.repeat(tables["from"], writes, axis=0),
            "to": tables["to"].reshape(-1, 1),
            "hat_inverse": np.repeat(tables["hat_inverse"], writes, axis=0),
            "matrix": tables["matrix"].reshape(len(tables["to"]) * writes, 1, -1),
        },
    )


def find_primes(stage: Stage) -> Words:
    """The index of the prime of each instruction's result."""
    if stage.kernel == "convert":
        targets: Words = stage.tables["to"][stage.words[:, 0], 0].astype(np.int64)
        return targets
    name = "to" if stage.kernel == "round" else "prime"
    return stage.words[:, stage.arguments.index(name)].astype(np.int64)


class RowAllocator:
    """Gives each row of the plan a row on a device, and knows which device has which row."""

    def __init__(self, rows: int, devices: int) -> None:
        self.device = [-1] * rows
        self.row = [ZERO] * rows
        self.free: list[list[int]] = [[] for _ in range(devices)]
        self.used = [FIRST] * devices

    def write(self, row: int, device: int) -> int:
        """Give a row of the plan a new row on a device. Its old row becomes free."""
        if row == SPARE:
            return SPARE
        if self.device[row] >= 0:
            self.free[self.device[row]].append(self.row[row])
        free = self.free[device]
        if free:
            place = free.pop()
        else:
            place = self.used[device]
            self.used[device] += 1
        self.device[row], self.row[row] = device, place
        return place

    def read(self, row: int, device: int) -> int:
        """The row of the plan's row on ``device``, which must have it."""
        assert row == ZERO or self.device[row] == device, "operands are of one prime"
        return self.row[row]


class Writer:
    """Writes the shares of one stage, wave by wave."""

    def __init__(self, stage: Stage, devices: int) -> None:
        self.stage, self.devices = split_conversion(stage), devices
        self.copies = self.stage.read_rows.shape[0] // max(1, len(stage.read_rows))
        self.owners = find_owner(find_primes(self.stage), devices).tolist()
        self.reads_of = self.stage.read_rows.tolist()
        self.writes_of = self.stage.write_rows.tolist()
        self.across = stage.kernel in ACROSS
        self.lists: list[list[tuple[list[int], list[int], int]]] = [[] for _ in range(devices)]
        self.gathered: list[list[int]] = [[] for _ in range(devices)]
        self.counts: list[list[int]] = []
        self.starts: list[tuple[int, int, int]] = []

    def wave(self, wave: Wave, store: RowAllocator) -> int:
        """Add the instructions of a wave. Returns how many rows its gathers need."""
        span = range(wave.first * self.copies, (wave.first + wave.length) * self.copies)
        kept = [index for index in span if self.writes_of[index][0] != SPARE]
        first, gather = len(self.lists[0]), len(self.gathered[0]) // GATHERED
        brought = self.gather(kept, store) if self.across else {}
        read: Callable[[int, int], int] = (
            (lambda row, _: brought.get(row, ZERO)) if self.across else store.read
        )
        reads = [[read(row, self.owners[k]) for row in self.reads_of[k]] for k in kept]
        for index, rows in zip(kept, reads, strict=True):
            device = self.owners[index]
            writes = [store.write(row, device) for row in self.writes_of[index]]
            self.lists[device].append((rows, writes, index))
        counts = [len(each) - first for each in self.lists]
        blank = [ZERO] * self.stage.reads, [SPARE] * self.stage.writes, -1
        for each, count in zip(self.lists, counts, strict=True):
            each += [blank] * (max(counts) - count)
        chunks = len(self.gathered[0]) // GATHERED - gather
        self.counts.append(counts)
        self.starts.append((first, gather, chunks))
        return chunks * GATHERED * self.devices

    def gather(self, indices: Sequence[int], store: RowAllocator) -> dict[int, int]:
        """Note the rows that all devices need. Returns ``-1 - place`` for each row.

        Places count from the first gathered row, whose index is known only after the last wave.
        """
        asked = dict.fromkeys(row for index in indices for row in self.reads_of[index])
        own: list[list[int]] = [[] for _ in range(self.devices)]
        gathered_rows = {}
        for row in asked:
            if row != ZERO:
                device = store.device[row]
                chunk, at = divmod(len(own[device]), GATHERED)
                gathered_rows[row] = -1 - (chunk * self.devices * GATHERED + device * GATHERED + at)
                own[device].append(store.row[row])
        most = -(-max(map(len, own)) // GATHERED) * GATHERED
        for rows, mine in zip(self.gathered, own, strict=True):
            rows += mine + [ZERO] * (most - len(mine))
        return gathered_rows

    def share(self, scratch: int) -> Share:
        """The shares of all devices. Gathered rows begin at the row ``scratch``."""
        stage = self.stage

        def array(part: Any, width: int, kind: Any) -> Words:
            return np.array([[part(one) for one in each] for each in self.lists], kind).reshape(
                self.devices, -1, width
            )

        reads = array(lambda one: one[0], stage.reads, np.int32)
        order = array(lambda one: one[2], 1, np.int64)[..., 0]
        return Share(
            stage,
            np.where(reads < 0, scratch - 1 - reads, reads),
            array(lambda one: one[1], stage.writes, np.int32),
            np.where(order[..., None] < 0, np.uint32(0), stage.words[order]),
            np.array(self.gathered, np.int32).reshape(self.devices, -1),
            np.array(self.counts, np.int32).reshape(-1, self.devices).T,
            np.array(self.starts, np.int32).reshape(-1, 3),
        )


def split(plan: Plan, devices: int) -> Split:
    """Split a plan over ``devices`` devices."""
    crossings = _native.waves_moves(plan.native)
    store = RowAllocator(plan.rows, devices)
    writers = [Writer(stage, devices) for stage in plan.stages]
    loads, stores, scratch = [], [], 0
    for wave in plan.waves:
        if wave.stage is not None:
            scratch = max(scratch, writers[wave.stage].wave(wave, store))
            continue
        for _, _, _, primes, rows in crossings[wave.stores][wave.first : wave.first + wave.length]:
            if wave.stores:
                stores.append(
                    LimbRows(
                        tuple(max(0, store.device[row]) for row in rows),
                        tuple(store.row[row] for row in rows),
                    )
                )
            else:
                owners = find_owner(np.array(primes), devices).tolist()
                placed = (store.write(row, d) for row, d in zip(rows, owners, strict=True))
                loads.append(LimbRows(tuple(owners), tuple(placed)))
    own = max(store.used)
    return Split(own + scratch, own, [writer.share(own) for writer in writers], loads, stores)
