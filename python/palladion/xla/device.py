"""Devices: the ones present, their memory, and how many instructions they run at once."""

from __future__ import annotations

from typing import Final

import jax

from palladion.errors import BudgetError, UsageError
from palladion.support import memory
from palladion.support.text import size
from palladion.waves.plan import Plan, Stage

KINDS: Final = ("cpu", "gpu", "tpu")

CACHED: Final = 1
"""Instructions in a chunk on a CPU, where rows should stay in the cache."""
SPREAD: Final = 1 << 28
"""Bytes that a chunk may read and write on other devices. They need much work at once."""


def chosen_device(kind: str | None = None) -> jax.Device:
    """The first device of a kind, or JAX's own choice.

    Raises
    ------
    UsageError
        If there is none. The message names the devices that JAX has.
    """
    if kind is None:
        return jax.devices()[0]
    try:
        return jax.devices(kind)[0]
    except RuntimeError as error:
        present = []
        for other in KINDS:
            try:
                present += [other] * bool(jax.devices(other))
            except RuntimeError:
                continue
        words = " and ".join(present) or "none"
        raise UsageError(f"there is no device {kind} here, JAX has {words}") from error


def several_devices(count: int, kind: str | None = None) -> list[jax.Device]:
    """The first devices of a kind, or of JAX's own choice.

    Raises
    ------
    UsageError
        If there are fewer.
    """
    devices = jax.devices(chosen_device(kind).platform)
    if len(devices) >= count:
        return devices[:count]
    platform = devices[0].platform
    words = f"{count} devices are asked for, and {platform} has {len(devices)} here"
    if platform == "cpu":
        words += f": XLA_FLAGS=--xla_force_host_platform_device_count={count} makes them of a CPU"
    raise UsageError(words)


def chunk(device: jax.Device, stage: Stage, n: int) -> int:
    """How many instructions of a stage a device executes at once."""
    if device.platform == "cpu":
        return CACHED
    # The limit of 256: combinations and conversions have intermediate values beside their rows.
    each = 4 * n * (stage.reads + stage.writes)
    return max(1, min(256, SPREAD // each))


def check_memory(plan: Plan, device: jax.Device, label: str) -> int:
    """The bytes that a run needs on the device. Errors call the run ``label``.

    Raises
    ------
    BudgetError
        If the device has less.
    """
    tables = 16 * len(plan.primes) * plan.n
    lists = sum(s.read_rows.nbytes + s.write_rows.nbytes + s.words.nbytes for s in plan.stages)
    lists += sum(part.nbytes for s in plan.stages for part in s.tables.values())
    shared = plan.permutations.nbytes + plan.places.nbytes
    widest = max((s.reads + 3 * s.writes for s in plan.stages), default=0)
    needed = plan.store_bytes + tables + lists + shared + 16 * widest * plan.n
    return check_bytes(needed, device, label)


def check_bytes(needed: int, device: jax.Device, label: str, devices: int = 1) -> int:
    """Check that each of ``devices`` like this one has ``needed`` bytes. Returns ``needed``.

    Raises
    ------
    BudgetError
        If it has less.
    """
    remedy = "compile with a smaller batch, or take a device with more memory"
    if device.platform == "cpu":
        memory.check(label, needed * devices, remedy)
        return needed
    left = (device.memory_stats() or {}).get("bytes_limit")
    if left is not None and needed > left:
        raise BudgetError(
            f"{label} needs {size(needed)} of memory on {device.device_kind} and it has "
            f"{size(left)}: {remedy}"
        )
    return needed
