"""Brings traces to a GPU, and executes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from palladion import _native
from palladion.cuda import launch
from palladion.cuda.gpu import Gpu
from palladion.cuda.gpu_executor import Executor
from palladion.errors import BudgetError
from palladion.support.text import size
from palladion.waves.clock import Fields, Progress
from palladion.waves.plan import Plan
from palladion.waves.program_run import Run


@dataclass(frozen=True)
class Prepared:
    """A trace on the GPU, ready to be executed."""

    executor: Executor
    device: str
    device_memory_bytes: int

    @staticmethod
    def of(waves: _native.Waves, label: str) -> Prepared:
        """Bring the tables of a plan to the GPU. Errors call the run ``label``.

        Keys and constants stay on the GPU between runs if it has the memory.

        Raises
        ------
        UsageError
            If there is no GPU or no CuPy.
        BudgetError
            If the GPU has too little memory.
        """
        plan = Plan(waves)
        stages = (launch.launches(stage, plan.n) for stage in plan.stages)
        names = {each.kernel for stage in stages for each in stage}
        gpu = Gpu({*names, launch.place(plan.n).kernel})
        needed, kept = needed_bytes(plan), 4 * plan.n * sum(map(len, plan.load_rows))
        if needed > gpu.free:
            raise BudgetError(
                f"{label} needs {size(needed)} of memory on {gpu.name} and it has "
                f"{size(gpu.free)} free: compile with a smaller batch, or take a larger GPU"
            )
        keeps = needed + kept <= gpu.free
        return Prepared(Executor(plan, gpu, keeps=keeps), gpu.name, needed + keeps * kept)

    def execute(
        self,
        outside: _native.WavesOutside,
        progress: Progress | None = None,
        *,
        save: Callable[[bytes], object] | None = None,
        profile: bool = False,
        keys: object = None,
    ) -> Fields:
        """Execute the trace: see :meth:`palladion.waves.program_run.Prepared.execute`."""
        report = self.executor.run(outside, progress, save=save, profile=profile, keys=keys)
        plan = self.executor.plan
        return {
            "seconds": report.seconds,
            "steps": report.steps,
            "device": self.device,
            "device_memory_bytes": self.device_memory_bytes,
            "waves": len(plan.waves),
            "executables": len(plan.stages),
            **({"kernels": report.kernels} if profile else {}),
        }


def needed_bytes(plan: Plan) -> int:
    """Bytes of the store, the lists and the tables."""
    lists = sum(s.read_rows.nbytes + s.write_rows.nbytes + s.words.nbytes for s in plan.stages)
    own = sum(part.nbytes for s in plan.stages for part in s.tables.values())
    factors = 2 * 8 * len(plan.primes) * plan.n
    return plan.store_bytes + lists + own + plan.permutations.nbytes + plan.places.nbytes + factors


def prepare_run(
    program: _native.Program, checkpoint: bytes | None = None, *, saving: bool = False
) -> Run:
    """Plan a program for the GPU: see :meth:`palladion.waves.program_run.Run.of`."""
    return Run.of(program, Prepared.of, checkpoint, saving=saving)
