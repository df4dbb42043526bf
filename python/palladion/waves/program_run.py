"""Runs a program as waves on a device: from keys and query to the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from palladion import _native
from palladion.waves.clock import Fields, Progress


class Prepared(Protocol):
    """A trace on a device, ready to be executed."""

    def execute(
        self,
        outside: _native.WavesOutside,
        progress: Progress | None = None,
        *,
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
        keys: object = None,
    ) -> Fields:
        """Execute the trace. Returns the report: at least ``seconds`` and ``steps``.

        A device may keep the values of ``keys``, and those of the trace, for the next run with the
        same object.
        """


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
        prepare: Callable[[_native.Waves, str], Prepared],
        checkpoint: bytes | None = None,
        *,
        saving: bool = False,
    ) -> Run:
        """Plan a program. ``prepare`` brings the plan to the device, and calls it by its second
        argument in errors.

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
        return Run(program, prepare(waves, label), checkpoint, saving)

    def run(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Callable[[bytes], object] | None = None,
        *,
        profile: bool = False,
    ) -> tuple[_native.Answer, Fields]:
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
        report = self.prepared.execute(outside, progress, save=save, profile=profile, keys=keys)
        answer, digest = outside.answer()
        return answer, {
            **report,
            "resumed_steps": outside.resumed_steps,
            "raw_digest": digest,
        }
