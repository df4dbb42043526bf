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
from palladion.xla.executor import Executor, Progress, Report, run_chunks, write_block
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


def map_over_devices(
    mesh: Mesh, run: Callable[..., Any], given: Any, made: Any
) -> Callable[..., Any]:
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
        super().__init__(plan, mesh.devices[0, 0])
        self._ordinals = number_waves(plan)
        self._write = self._jitted(write_rows, LIMBS, STORE)
        self._bring = self._jitted(partial(bring, self.split.scratch), P(), LIMBS, P())

    def _put(self, arrays: Any, how: Any) -> Any:
        return jax.device_put(arrays, NamedSharding(self.mesh, how))

    def _jitted(self, run: Callable[..., Any], *given: Any) -> Any:
        """A function ``(store, ...) -> store``, compiled, that works on the store where it lies."""
        return jax.jit(map_over_devices(self.mesh, run, (STORE, *given), STORE), donate_argnums=0)

    def _prepared(self, _: Any) -> Callable[[Array, int, int], Array]:
        share = next(self._shares)
        work = stages.work(self.plan, share.stage, self.device)
        if work.key not in self._tables:
            self._tables[work.key] = self._put(work.tables(), P())
        size = chunk(self.device, share.stage, self.plan.n)
        lists = self._put(pad_lists(share, size), LIMBS)
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

    def run_queries(
        self, outsides: Sequence[_native.WavesOutside], progress: Progress | None = None
    ) -> Report:
        """Run the plan for several queries at the same time, each with its own outside."""
        return self._run(list(outsides), progress)

    def begin(self) -> None:
        """Make the stores, with zeros."""
        super().begin()
        self._blocks: list[list[tuple[int, Any]]] = [[] for _ in range(self.mesh.devices.shape[1])]

    def write(self, load: int, words: list[bytes]) -> None:
        """Bring a value to its devices. ``words`` are those of each query, or of all."""
        queries, _ = self.mesh.devices.shape
        place = self.split.loads[load]
        each = [np.frombuffer(one, np.uint32).reshape(-1, self.plan.n) for one in words]
        limbs = np.stack(each)
        for k, (device, row) in enumerate(zip(place.devices, place.rows, strict=True)):
            own = np.broadcast_to(limbs[:, k], (queries, self.plan.n))
            self._blocks[device].append((row, own))
            if len(self._blocks[device]) == BLOCK:
                self._flush()

    def run_stage(self, stage: int, first: int, count: int) -> None:
        """Run instructions of a stage. Each device has its own among them."""
        # Numbered by stage: instructions of a wave are in other places on each device.
        super().run_stage(stage, self._ordinals[stage, first], count)

    def read(self, store: int) -> list[bytes]:
        """The words of a value of each query."""
        self._flush()
        parts = {shard.device: shard.data for shard in self._rows.addressable_shards}
        place = self.split.stores[store]
        values = []
        for own in self.mesh.devices:
            pairs = zip(place.devices, place.rows, strict=True)
            words = [np.asarray(parts[own[device]][0, 0, row]) for device, row in pairs]
            values.append(np.stack(words).tobytes())
        return values

    def _flush(self) -> None:
        """Write the rows that wait."""
        if not any(self._blocks):
            return
        queries, devices = self.mesh.devices.shape
        to = np.full((devices, BLOCK), SPARE, np.int32)
        words = np.zeros((queries, devices, BLOCK, self.plan.n), np.uint32)
        for device, each in enumerate(self._blocks):
            for at, (row, own) in enumerate(each):
                to[device, at], words[:, device, at] = row, own
            each.clear()
        self._rows = self._write(self._rows, self._put(to, LIMBS), self._put(words, STORE))


def number_waves(plan: Plan) -> dict[tuple[int, int], int]:
    """The number of each wave among those of its stage, by its stage and first instruction."""
    found: dict[tuple[int, int], int] = {}
    seen = [0] * len(plan.stages)
    for wave in plan.waves:
        if wave.stage is not None:
            found[wave.stage, wave.first] = seen[wave.stage]
            seen[wave.stage] += 1
    return found


def pad_lists(share: Share, size: int) -> list[Any]:
    """Rows and words of instructions, and numbers of instructions."""
    lists = (share.reads, share.writes, share.words)
    # A chunk may begin near the end.
    return [*(np.pad(part, ((0, 0), (0, size), (0, 0))) for part in lists), share.counts]


def write_rows(rows: Array, to: Array, words: Array) -> Array:
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
