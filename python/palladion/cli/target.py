"""Where a program runs: on the CPU's own kernels, or through XLA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

import palladion
from palladion import _native, memory
from palladion.cli.progress import Steps
from palladion.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
Saved = tuple[bytes | None, Callable[[bytes], object] | None]
"""The bytes of a checkpoint to go on from, and what takes those of new ones."""


@dataclass(frozen=True)
class Target:
    """What executes a program."""

    name: str = "cpu"
    """``cpu`` or ``xla``."""
    device: str | None = None
    """Kind of the device of ``xla``; ``None`` for JAX's choice."""
    devices: int | None = None
    """Number of devices of ``xla`` that share the limbs; ``None`` for one that has all."""

    def check_run(self, report: dict[str, Any]) -> None:
        """Check the memory of a run on the CPU, or that ``xla`` has the device.

        The memory of a device is checked when the plan is known.
        """
        if self.name == "cpu":
            memory.check_run(report)
        elif self.devices is None:
            self._device()
        else:
            from palladion import xla

            xla.enable()
            from palladion.xla.device import several_devices

            several_devices(self.devices, self.device)

    def run(
        self,
        program: palladion.Program,
        keys: palladion.EvaluationKeys,
        query: palladion.Query,
        steps: Steps,
        saved: Saved = (None, None),
    ) -> tuple[palladion.Answer, dict[str, Any]]:
        """Run a program on ciphertexts. Returns the answer and the report."""
        if self.name == "cpu":
            steps.start_run()
            return program.run(keys, query, steps.update, *saved)
        if self.devices is not None:
            return self._run_shared(program, keys, query, steps, saved)
        device = self._device()
        from palladion.xla.run import Run

        checkpoint, save = saved
        with steps.step(f"prepare for {device.platform}"):
            prepared = Run.of(program, device, checkpoint, saving=save is not None)
        steps.start_run()
        return prepared.run(keys, query, steps.update, save)

    def replay(
        self,
        trace: palladion.Trace,
        keys: palladion.EvaluationKeys,
        query: palladion.Query,
        steps: Steps,
    ) -> tuple[bytes, str]:
        """Execute the trace of a program on ciphertexts.

        Returns the bytes of the answer, and the digest of the answer before it was hidden.
        """
        if self.name == "cpu":
            steps.start_run()
            return trace.replay(keys, query, steps.count)
        if self.devices is not None:
            raise UsageError("a trace is executed on one device: leave out --devices")
        device = self._device()
        from palladion.xla.run import Prepared

        with steps.step(f"prepare for {device.platform}"):
            prepared = Prepared.of(_native.Waves.of_trace(trace), device, "the replay")
        steps.start_run()
        outside = _native.WavesOutside.of_trace(trace, keys, query)
        prepared.execute(outside, steps.update)
        answer, digest = outside.answer()
        return answer.to_bytes(), digest

    def _run_shared(
        self,
        program: palladion.Program,
        keys: palladion.EvaluationKeys,
        query: palladion.Query,
        steps: Steps,
        saved: Saved,
    ) -> tuple[palladion.Answer, dict[str, Any]]:
        """A run whose limbs several devices share."""
        if any(saved):
            raise UsageError("--checkpoint is for one device: leave out --devices")
        from palladion import xla

        xla.enable()
        from palladion.xla.mesh.run import MeshRun

        devices = self.devices or 1
        with steps.step(f"prepare for {devices} devices"):
            shared = MeshRun.of(program, devices, self.device)
        steps.start_run()
        (answer,), report = shared.run(keys, [query], steps.update)
        return answer, report

    def _device(self) -> Any:
        """The device of ``xla``."""
        from palladion import xla

        xla.enable()
        from palladion.xla.device import chosen_device

        return chosen_device(self.device)


CPU: Final = Target()
"""The kernels of this package."""


def target_options(command: Command) -> Command:
    """``--target``, ``--device`` and ``--devices``, given to the command as ``target``."""

    def chosen(context: click.Context, _option: click.Parameter, device: str | None) -> Target:
        name, devices = context.params.pop("target_name"), context.params.pop("target_devices")
        if name == "cpu" and device is not None:
            raise UsageError("--device is for the target xla: give --target xla with it")
        if name == "cpu" and devices is not None:
            raise UsageError("--devices is for the target xla: give --target xla with it")
        return Target(name, device, devices)

    device = click.option(
        "--device",
        "target",
        type=click.Choice(["cpu", "gpu", "tpu"]),
        callback=chosen,
        help="Device of the target xla; default: the one that JAX chooses.",
    )
    target = click.option(
        "--target",
        "target_name",
        type=click.Choice(["cpu", "xla"]),
        default="cpu",
        is_eager=True,
        help="What computes: cpu, the kernels of this package, or xla, JAX on a CPU, GPU or TPU "
        "(docs/xla.md), for programs compiled with --words 32. Default: cpu.",
    )
    devices = click.option(
        "--devices",
        "target_devices",
        type=click.IntRange(min=1),
        is_eager=True,
        help="Devices of the target xla that share the limbs of a query. Default: one has all.",
    )
    return target(devices(device(command)))
