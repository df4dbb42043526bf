"""Runs a program on a device: from keys and query to the answer.

:func:`palladion.xla.enable` must be called before this is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax

from palladion import _native
from palladion.waves.clock import Fields, Progress
from palladion.waves.plan import Plan
from palladion.waves.program_run import Run
from palladion.xla import compilations
from palladion.xla.device import check_memory
from palladion.xla.executor import Executor


@dataclass(frozen=True)
class Prepared:
    """A trace on a device, ready to be executed."""

    executor: Executor
    device_memory_bytes: int

    @staticmethod
    def of(
        waves: _native.Waves, label: str, device: jax.Device, kernels: str | None = None
    ) -> Prepared:
        """Bring the tables of a plan to the device. Errors call the run ``label``.

        ``kernels`` is the name of a set of kernels: see :mod:`palladion.xla.kernels.kernel_sets`.

        Raises
        ------
        BudgetError
            If the device has too little memory.
        UsageError
            If there is no such set of kernels, or one of its kernels is for other devices.
        """
        compilations.keep()
        plan = Plan(waves)
        needed = check_memory(plan, device, label)
        return Prepared(Executor(plan, device, kernels), needed)

    def execute(
        self,
        outside: _native.WavesOutside,
        progress: Progress | None = None,
        *,
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
        keys: object = None,
    ) -> Fields:
        """Execute the trace. Returns the report.

        It has ``seconds`` and ``steps``, as the report of :meth:`palladion.Program.run`, and
        ``device``, ``device_memory_bytes``, ``waves``, ``executables``, and ``compiled``: the
        number of executables that the cache did not have. If a set of kernels was asked for, it has
        ``kernel_set``. With ``profile`` it also has ``kernels``: the seconds of each stage.

        Raises
        ------
        StoppedError
            If ``progress`` returned ``False``.
        """
        del keys  # their values are brought to the device for every run
        before = compilations.count()
        report = self.executor.run(outside, progress, save=save, profile=profile)
        plan = self.executor.plan
        return {
            "seconds": report.seconds,
            "steps": report.steps,
            "device": self.executor.device.device_kind,
            "device_memory_bytes": self.device_memory_bytes,
            "waves": len(plan.waves),
            "executables": len(plan.stages),
            "compiled": compilations.count() - before,
            **({"kernels": report.kernels} if profile else {}),
            **({"kernel_set": self.executor.kernels} if self.executor.kernels else {}),
        }


def prepare_run(
    program: _native.Program,
    device: jax.Device,
    checkpoint: bytes | None = None,
    *,
    saving: bool = False,
    kernels: str | None = None,
) -> Run:
    """Plan a program for a device: see :meth:`palladion.waves.program_run.Run.of`.

    ``kernels`` is as for :meth:`Prepared.of`.
    """
    prepare_waves = partial(Prepared.of, device=device, kernels=kernels)
    return Run.of(program, prepare_waves, checkpoint, saving=saving)
