"""Runs a program on a device: from keys and query to the answer.

:func:`palladion.xla.enable` must be called before this is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from palladion import _native
from palladion.xla import compilations
from palladion.xla.device import check_memory
from palladion.xla.executor import Executor, Progress
from palladion.xla.plan import Plan


@dataclass(frozen=True)
class Prepared:
    """A trace on a device, ready to be executed."""

    executor: Executor
    device_memory_bytes: int

    @staticmethod
    def of(waves: _native.Waves, device: jax.Device, label: str) -> Prepared:
        """Bring the tables of a plan to the device. Errors call the run ``label``.

        Raises
        ------
        BudgetError
            If the device has too little memory.
        """
        compilations.keep()
        plan = Plan(waves)
        needed = check_memory(plan, device, label)
        return Prepared(Executor(plan, device), needed)

    def execute(
        self,
        outside: _native.WavesOutside,
        progress: Progress | None = None,
        *,
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
    ) -> dict[str, Any]:
        """Execute the trace. Returns the report.

        It has ``seconds`` and ``steps``, as the report of :meth:`palladion.Program.run`, and
        ``device``, ``device_memory_bytes``, ``waves``, ``executables``, and ``compiled``: the
        number of executables that the cache did not have. With ``profile`` it also has
        ``kernels``: the seconds of each stage.

        Raises
        ------
        StoppedError
            If ``progress`` returned ``False``.
        """
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
        }


@dataclass(frozen=True)
class Run:
    """A program that is ready to run on a device."""

    program: _native.Program
    prepared: Prepared
    checkpoint: bytes | None
    """The checkpoint from which the run goes on, if it does not begin at the start."""
    saving: bool
    """True if the run can make checkpoints."""

    @staticmethod
    def of(
        program: _native.Program,
        device: jax.Device,
        checkpoint: bytes | None = None,
        *,
        saving: bool = False,
    ) -> Run:
        """Plan a program and bring its tables to the device.

        A ``checkpoint`` comes from a run on any target. Then only the rest is planned. A run with
        ``saving`` can make checkpoints of its own.

        Raises
        ------
        BudgetError
            If the device has too little memory.
        UsageError
            If a modulus of the program has more than 32 bits, or if the checkpoint is one of
            another program.
        """
        saving = saving or checkpoint is not None
        waves = _native.Waves.of_program(program, saving=saving, checkpoint=checkpoint)
        label = f"a run of {program.facts()['network']}"
        return Run(program, Prepared.of(waves, device, label), checkpoint, saving)

    def run(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Callable[[bytes], object] | None = None,
        *,
        profile: bool = False,
    ) -> tuple[_native.Answer, dict[str, Any]]:
        """Run the program on ciphertexts.

        The answer equals the answer of a run on the CPU before it is hidden, so ``raw_digest`` of
        the report is the same. ``save`` gets the bytes of a checkpoint after each layer but the
        last, if the run was planned with ``saving``. The report is the one of
        :meth:`Prepared.execute` with ``resumed_steps``, as :meth:`palladion.Program.run` has it.

        Raises
        ------
        UsageError
            If keys, query or checkpoint were made for another program, or the checkpoint for
            another query.
        StoppedError
            If ``progress`` returned ``False``.
        """
        saving = self.saving and save is not None
        inputs = (self.program, keys, query, self.checkpoint)
        outside = _native.WavesOutside.of_run(*inputs, saving=saving)
        report = self.prepared.execute(outside, progress, save=save, profile=profile)
        answer, digest = outside.answer()
        return answer, {
            **report,
            "resumed_steps": outside.resumed_steps,
            "raw_digest": digest,
        }
