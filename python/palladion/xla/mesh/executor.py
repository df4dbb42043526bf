"""Runs a plan on a mesh of devices: queries along one axis, limbs along the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from palladion import _native
from palladion.errors import UsageError
from palladion.xla import stages
from palladion.xla.device import chunk
from palladion.xla.executor import Executor, run_chunks, write_block
from palladion.xla.mesh.split import GATHERED, Share, split
from palladion.xla.plan import SPARE, Plan

Array = Any
P: Any = PartitionSpec

STORE: Final = P("queries", "limbs")
"""How the store lies: ``u32[queries, devices of a query, rows, N]``."""
LIMBS: Final = P("limbs")
BLOCK: Final = 8
"""Rows of a device that are brought to it at once."""


def mesh_of(devices: Sequence[jax.Device], queries: int) -> Mesh:
    """A mesh for queries at the same time. Devices beyond one for each share their limbs.

    Raises
    ------
    UsageError
        If the devices are no multiple of the queries.
    """
    if queries < 1 or len(devices) % queries:
        raise UsageError(
            f"{queries} queries on {len(devices)} devices, expected a number that divides theirs"
        )
    return Mesh(np.array(devices).reshape(queries, -1), ("queries", "limbs"))


def on_each(mesh: Mesh, run: Callable[..., Any], given: Any, made: Any) -> Callable[..., Any]:
    """A function that runs on each device with what it has."""
    same = {"mesh": mesh, "in_specs": given, "out_specs": made}
    mapped: Any = getattr(jax, "shard_map", None)
    if mapped is None:  # before JAX 0.6
        mapped = import_module("jax.experimental.shard_map").shard_map
        found: Callable[..., Any] = mapped(run, **same, check_rep=False)
    else:
        found = mapped(run, **same, check_vma=False)
    return found


class MeshExecutor(Executor):
    """A plan on a mesh. Waves are those of one device, and each device has its share of them."""

    def __init__(self, plan: Plan, mesh: Mesh) -> None:
        self.mesh: Final = mesh
        self.split: Final = split(plan, mesh.shape["limbs"])
        self._shares = iter(self.split.shares)
        self._of_query = [
            name.split("/")[0] == "query" for _, name, *_ in _native.waves_moves(plan.native)[0]
        ]
        super().__init__(plan, mesh.devices[0, 0])
        self._ordinals = ordinals(plan)
        self._write = self._jitted(written, LIMBS, STORE)
        self._bring = self._jitted(partial(bring, self.split.scratch), P(), LIMBS, P())

    def _put(self, arrays: Any, how: Any) -> Any:
        return jax.device_put(arrays, NamedSharding(self.mesh, how))

    def _jitted(self, run: Callable[..., Any], *given: Any) -> Any:
        """A function ``(store, ...) -> store``, compiled, that works on the store where it lies."""
        return jax.jit(on_each(self.mesh, run, (STORE, *given), STORE), donate_argnums=0)

    def _prepared(self, _: Any) -> Callable[[Array, int, int], Array]:
        share = next(self._shares)
        work = stages.work(self.plan, share.stage, self.device)
        if work.key not in self._tables:
            self._tables[work.key] = self._put(work.tables(), P())
        size = chunk(self.device, share.stage, self.plan.n)
        lists = self._put(lists_of(share, size), LIMBS)
        starts = self._put(share.starts, P())
        run = self._jitted(partial(run_share, work.apply, size), P(), LIMBS, P(), P())
        tables = self._tables[work.key]
        gathered = self._put(share.gathered, LIMBS)

        def wave(rows: Array, index: int, _: int) -> Array:
            if share.starts[index, 2]:
                rows = self._gather(rows, index, gathered, starts)
            return run(rows, np.int32(index), lists, starts, tables)

        return wave

    def _gather(self, rows: Array, index: int, gathered: Array, starts: Array) -> Array:
        """Bring rows of each device to all devices."""
        # Host devices share threads: one that waits for others keeps a thread that these may need.
        alone = self.device.platform == "cpu"
        if alone:
            rows.block_until_ready()
        rows = self._bring(rows, np.int32(index), gathered, starts)
        return rows.block_until_ready() if alone else rows

    def empty(self) -> Array:
        """The store before a run."""
        shape = (*self.mesh.devices.shape, self.split.rows, self.plan.n)
        made = jax.jit(partial(jnp.zeros, shape, jnp.uint32), out_shardings=self._sharding)
        return made()

    @property
    def _sharding(self) -> NamedSharding:
        return NamedSharding(self.mesh, STORE)

    def _wave(self, rows: Array, wave: Any, outside: Any) -> Array:
        if wave.stage is not None:
            # Numbered by stage: instructions of a wave are in other places on each device.
            wave = wave._replace(first=self._ordinals[wave.stage, wave.first])
        return super()._wave(rows, wave, outside)

    def _load(self, rows: Array, first: int, count: int, outside: Any) -> Array:
        """Bring values to their devices. Only what belongs to a query differs between them."""
        queries, devices = self.mesh.devices.shape
        waiting: list[list[tuple[int, Any]]] = [[] for _ in range(devices)]
        for index in range(first, first + count):
            place = self.split.loads[index]
            asked = outside if self._of_query[index] else outside[:1]
            each = [
                np.frombuffer(self.plan.native.load((index, 1), one)[1], np.uint32) for one in asked
            ]
            words = np.stack(each).reshape(len(each), -1, self.plan.n)
            for k, (device, row) in enumerate(zip(place.devices, place.rows, strict=True)):
                waiting[device].append((row, np.broadcast_to(words[:, k], (queries, self.plan.n))))
                if len(waiting[device]) == BLOCK:
                    rows = self._flush(rows, waiting)
        return self._flush(rows, waiting) if any(waiting) else rows

    def _flush(self, rows: Array, waiting: list[list[tuple[int, Any]]]) -> Array:
        """Write what waits."""
        queries, devices = self.mesh.devices.shape
        to = np.full((devices, BLOCK), SPARE, np.int32)
        words = np.zeros((queries, devices, BLOCK, self.plan.n), np.uint32)
        for device, each in enumerate(waiting):
            for at, (row, given) in enumerate(each):
                to[device, at], words[:, device, at] = row, given
            each.clear()
        written: Array = self._write(rows, self._put(to, LIMBS), self._put(words, STORE))
        return written

    def _store(self, rows: Array, first: int, count: int, outside: Any) -> None:
        """Give values to the outside of each query."""
        parts = {shard.device: shard.data for shard in rows.addressable_shards}
        for query, own in enumerate(self.mesh.devices):
            for index in range(first, first + count):
                place = self.split.stores[index]
                pairs = zip(place.devices, place.rows, strict=True)
                words = [np.asarray(parts[own[device]][0, 0, row]) for device, row in pairs]
                self.plan.native.store(index, np.stack(words).tobytes(), outside[query])


def ordinals(plan: Plan) -> dict[tuple[int, int], int]:
    """The number of each wave among those of its stage, by its stage and first instruction."""
    found: dict[tuple[int, int], int] = {}
    seen = [0] * len(plan.stages)
    for wave in plan.waves:
        if wave.stage is not None:
            found[wave.stage, wave.first] = seen[wave.stage]
            seen[wave.stage] += 1
    return found


def lists_of(share: Share, size: int) -> list[Any]:
    """Rows and words of instructions, and numbers of instructions."""
    lists = (share.reads, share.writes, share.words)
    # A chunk may begin near the end.
    return [*(np.pad(part, ((0, 0), (0, size), (0, 0))) for part in lists), share.counts]


def written(rows: Array, to: Array, words: Array) -> Array:
    """Write rows of one device."""
    return write_block(rows[0, 0], to[0], words[0, 0])[None, None]


def bring(scratch: int, rows: Array, wave: Array, gathered: Array, starts: Array) -> Array:
    """Gather rows of all devices on each, a few at a time. Nothing else crosses devices."""
    _, first, chunks = starts[wave]

    def one(index: Array, own: Array) -> Array:
        asked = lax.dynamic_slice_in_dim(gathered[0], (first + index) * GATHERED, GATHERED)
        every = lax.all_gather(own[asked], "limbs", tiled=True)
        return lax.dynamic_update_slice_in_dim(own, every, scratch + index * len(every), 0)

    return lax.fori_loop(0, chunks, one, rows[0, 0])[None, None]


def run_share(
    apply: Any, size: int, rows: Array, wave: Array, lists: Any, starts: Array, tables: Any
) -> Array:
    """Run a device's instructions of a wave, on rows of its own."""
    reads, writes, words, counts = (part[0] for part in lists)
    chosen = (reads, writes, words)
    own = run_chunks(
        apply, size, rows[0, 0], starts[wave, 0], counts[wave], tables=tables, lists=chosen
    )
    return own[None, None]
