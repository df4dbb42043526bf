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
from palladion.waves.clock import Progress, Report
from palladion.waves.plan import SPARE, Plan
from palladion.xla import stages
from palladion.xla.device import chunk
from palladion.xla.executor import Executor, run_chunks, write_block
from palladion.xla.mesh.split import GATHERED, Share, split

Array = Any
P: Any = PartitionSpec

STORE: Final = P("queries", "limbs")
"""The layout of the store: ``u32[queries, devices of a query, rows, N]``."""
LIMBS: Final = P("limbs")
BLOCK: Final = 8
"""Number of rows that one transfer brings to a device."""


def mesh_of(devices: Sequence[jax.Device], queries: int) -> Mesh:
    """A mesh for ``queries`` queries at the same time. The devices of a query share its limbs.

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
    mesh: Mesh, run: Callable[..., Any], inputs: Any, outputs: Any
) -> Callable[..., Any]:
    """``run`` as a function over the mesh: each device runs it on its own part of the arrays.

    ``inputs`` and ``outputs`` say how the arrays are split over the mesh.
    """
    same = {"mesh": mesh, "in_specs": inputs, "out_specs": outputs}
    mapped: Any = getattr(jax, "shard_map", None)
    if mapped is None:  # before JAX 0.6
        mapped = import_module("jax.experimental.shard_map").shard_map
        function: Callable[..., Any] = mapped(run, **same, check_rep=False)
    else:
        function = mapped(run, **same, check_vma=False)
    return function


class MeshExecutor(Executor):
    """A plan on a mesh. The waves are the same as on one device, and devices share their work."""

    def __init__(self, plan: Plan, mesh: Mesh, kernels: str | None = None) -> None:
        self.mesh: Final = mesh
        self.split: Final = split(plan, mesh.shape["limbs"])
        self._shares = iter(self.split.shares)
        super().__init__(plan, mesh.devices[0, 0], kernels)
        self._ordinals = number_waves(plan)
        self._write = self._jitted(write_rows, LIMBS, STORE)
        self._bring = self._jitted(partial(bring, self.split.scratch), P(), LIMBS, P())

    def _put(self, arrays: Any, how: Any) -> Any:
        return jax.device_put(arrays, NamedSharding(self.mesh, how))

    def _jitted(self, run: Callable[..., Any], *inputs: Any) -> Any:
        """Compiles a function ``(store, ...) -> store`` that updates the store in place."""
        return jax.jit(map_over_devices(self.mesh, run, (STORE, *inputs), STORE), donate_argnums=0)

    def _prepared(self, _: Any) -> Callable[[Array, int, int], Array]:
        share = next(self._shares)
        work = stages.work(self.plan, share.stage, self.device, self.kernels)
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
        """Bring the rows that a wave needs everywhere from each device to all devices."""
        # Host devices share threads. A device that waits keeps a thread that others may need.
        alone = self.device.platform == "cpu"
        if alone:
            rows.block_until_ready()
        rows = self._bring(rows, np.int32(index), gathered, starts)
        return rows.block_until_ready() if alone else rows

    def empty(self) -> Array:
        """Stores of zeros on all devices."""
        shape = (*self.mesh.devices.shape, self.split.rows, self.plan.n)
        zeros = jax.jit(partial(jnp.zeros, shape, jnp.uint32), out_shardings=self._sharding)
        return zeros()

    @property
    def _sharding(self) -> NamedSharding:
        return NamedSharding(self.mesh, STORE)

    def run_queries(
        self, outsides: Sequence[_native.WavesOutside], progress: Progress | None = None
    ) -> Report:
        """Run the plan for several queries at the same time, each with its own outside."""
        return self._run(list(outsides), progress)

    def begin(self) -> None:
        """Make the stores, filled with zeros."""
        super().begin()
        self._blocks: list[list[tuple[int, Any]]] = [[] for _ in range(self.mesh.devices.shape[1])]

    def write(self, load: int, words: list[bytes]) -> None:
        """Bring a value to its devices. ``words`` has one entry for each query, or one for all."""
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
        """Run ``count`` instructions of a stage. Each device runs its share."""
        # A share's lists have other indices than the plan's: the wave's number finds the entry.
        super().run_stage(stage, self._ordinals[stage, first], count)

    def read(self, store: int) -> list[bytes]:
        """The words of a value to store, for each query."""
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
        """Bring the waiting rows to their devices."""
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
    """Numbers the waves of each stage. Keys are the stage and the wave's first instruction."""
    numbers: dict[tuple[int, int], int] = {}
    seen = [0] * len(plan.stages)
    for wave in plan.waves:
        if wave.stage is not None:
            numbers[wave.stage, wave.first] = seen[wave.stage]
            seen[wave.stage] += 1
    return numbers


def pad_lists(share: Share, size: int) -> list[Any]:
    """The rows and words of a share's instructions, padded, and the numbers of instructions."""
    lists = (share.reads, share.writes, share.words)
    # The last chunk may read beyond the end.
    return [*(np.pad(part, ((0, 0), (0, size), (0, 0))) for part in lists), share.counts]


def write_rows(rows: Array, to: Array, words: Array) -> Array:
    """Write words to rows of one device's store."""
    return write_block(rows[0, 0], to[0], words[0, 0])[None, None]


def bring(scratch: int, rows: Array, wave: Array, gathered: Array, starts: Array) -> Array:
    """Gather a wave's shared rows on each device, a few at a time, from row ``scratch`` on.

    No other data go from device to device.
    """
    _, first, chunks = starts[wave]

    def one(index: Array, own: Array) -> Array:
        asked = lax.dynamic_slice_in_dim(gathered[0], (first + index) * GATHERED, GATHERED)
        every = lax.all_gather(own[asked], "limbs", tiled=True)
        return lax.dynamic_update_slice_in_dim(own, every, scratch + index * len(every), 0)

    return lax.fori_loop(0, chunks, one, rows[0, 0])[None, None]


def run_share(
    apply: Any, size: int, rows: Array, wave: Array, lists: Any, starts: Array, tables: Any
) -> Array:
    """Run a device's instructions of a wave on the device's own store."""
    reads, writes, words, counts = (part[0] for part in lists)
    chosen = (reads, writes, words)
    own = run_chunks(
        apply, size, rows[0, 0], starts[wave, 0], counts[wave], tables=tables, lists=chosen
    )
    return own[None, None]
