"""A program on a device: from keys and query to the answer.

:func:`palladion.xla.enable` must be called before this is used.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax

from palladion import _native
from palladion.xla.device import check_memory
from palladion.xla.executor import Executor, Progress
from palladion.xla.plan import Plan

SHORT: Final = 0.1
"""Seconds of a compilation whose result is not worth keeping."""


@dataclass(frozen=True)
class Run:
    """A program that is ready to run on a device."""

    program: _native.Program
    executor: Executor
    device_memory_bytes: int

    @staticmethod
    def of(program: _native.Program, device: jax.Device) -> Run:
        """Plan a program and bring its tables to the device.

        Raises
        ------
        BudgetError
            If the device has too little memory.
        UsageError
            If a modulus of the program has more than 32 bits.
        """
        keep_compilations()
        plan = Plan(_native.Waves.of_program(program))
        needed = check_memory(plan, device, f"a run of {program.report()['network']}")
        return Run(program, Executor(plan, device), needed)

    def run(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        *,
        profile: bool = False,
    ) -> tuple[_native.Answer, dict[str, Any]]:
        """Run the program on ciphertexts. The answer has the bytes of a run on the CPU.

        The report has what that of :meth:`palladion.Program.run` has, and ``device``,
        ``device_memory_bytes``, ``waves`` and ``executables``; with ``profile`` also ``kernels``,
        the seconds of each stage.

        Raises
        ------
        UsageError
            If keys or query were made for another program.
        StoppedError
            If ``progress`` returned ``False``.
        """
        outside = _native.WavesOutside.of_run(self.program, keys, query)
        report = self.executor.run(outside, progress, profile=profile)
        plan = self.executor.plan
        return outside.answer(), {
            "seconds": report.seconds,
            "steps": report.steps,
            "resumed_steps": 0,
            "device": self.executor.device.device_kind,
            "device_memory_bytes": self.device_memory_bytes,
            "waves": len(plan.waves),
            "executables": len(plan.stages),
            **({"kernels": report.kernels} if profile else {}),
        }


def keep_compilations() -> None:
    """Keep what JAX compiles in the user's cache directory, unless JAX has one of its own."""
    config: Any = jax.config
    if config.jax_compilation_cache_dir is None:
        config.update("jax_compilation_cache_dir", str(cache_folder() / "compiled"))
        config.update("jax_persistent_cache_min_compile_time_secs", SHORT)


def cache_folder() -> Path:
    """The folder for what can be made again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "palladion" / "xla"
