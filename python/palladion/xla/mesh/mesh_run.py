"""Runs a program on several devices: from keys and queries to answers.

:func:`palladion.xla.enable` must be called before this is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palladion import _native
from palladion.errors import UsageError
from palladion.waves.clock import Progress
from palladion.waves.plan import Plan
from palladion.xla import compilations
from palladion.xla.device import check_bytes, several_devices
from palladion.xla.mesh.mesh_executor import MeshExecutor, mesh_of


@dataclass(frozen=True)
class MeshRun:
    """A program that is ready to run on a mesh of devices."""

    program: _native.Program
    executor: MeshExecutor
    device_memory_bytes: int

    @staticmethod
    def of(
        program: _native.Program,
        devices: int,
        kind: str | None = None,
        queries: int = 1,
        kernels: str | None = None,
    ) -> MeshRun:
        """Plan a program for devices of a kind, and for a number of queries at the same time.

        ``kernels`` is as for :meth:`palladion.xla.run.Prepared.of`.

        Raises
        ------
        BudgetError
            If a device has too little memory.
        UsageError
            If there are fewer devices, they are no multiple of the queries, or a modulus of the
            program has more than 32 bits, or there is no such set of kernels.
        """
        mesh = mesh_of(several_devices(devices, kind), queries)
        compilations.keep()
        executor = MeshExecutor(Plan(_native.Waves.of_program(program)), mesh, kernels)
        label = f"a run of {program.facts()['network']} on {devices} devices"
        store = 4 * executor.plan.n * executor.split.rows
        return MeshRun(program, executor, check_bytes(store, executor.device, label, devices))

    def run(
        self,
        keys: _native.EvaluationKeys,
        queries: Sequence[_native.Query],
        progress: Progress | None = None,
    ) -> tuple[list[_native.Answer], dict[str, Any]]:
        """Run the program on queries. The answers equal the CPU's answers before they are hidden.

        The report has the fields of the report of :meth:`palladion.xla.run.Run.run`, and
        ``devices``. In place of ``raw_digest`` it has ``raw_digests``, one for each query.
        ``device_memory_bytes`` is the size of the store of each device.

        Raises
        ------
        UsageError
            If keys or a query were made for another program, or the number of queries is not the
            planned one.
        StoppedError
            If ``progress`` returned ``False``.
        """
        executor = self.executor
        expected = executor.mesh.shape["queries"]
        if len(queries) != expected:
            raise UsageError(f"{len(queries)} queries, expected {expected} at the same time")
        outsides = [_native.WavesOutside.of_run(self.program, keys, each) for each in queries]
        before = compilations.count()
        report = executor.run_queries(outsides, progress)
        answers = [outside.answer() for outside in outsides]
        return [answer for answer, _ in answers], {
            "raw_digests": [digest for _, digest in answers],
            "seconds": report.seconds,
            "steps": report.steps,
            "resumed_steps": 0,
            "device": executor.device.device_kind,
            "devices": executor.mesh.size,
            "device_memory_bytes": self.device_memory_bytes,
            "waves": len(executor.plan.waves),
            "executables": len(executor.plan.stages),
            "compiled": compilations.count() - before,
            **({"kernel_set": executor.kernels} if executor.kernels else {}),
        }
