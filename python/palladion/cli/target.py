"""Where a program runs, as the options of commands say, and the preparation for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from palladion.cli.progress import Steps
from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.targets import CPU, Prepared, Target
from palladion.xla.kernels.kernel_sets import KERNEL_SETS

Command = TypeVar("Command", bound=Callable[..., Any])


def prepare(
    program: CompiledModel,
    target: Target,
    steps: Steps,
    checkpoint: bytes | None = None,
    *,
    saving: bool = False,
) -> Prepared:
    """Bring a program to a target, and start to count the steps of its run."""
    if target == CPU:
        prepared = program.prepare(target, checkpoint, saving=saving)
    else:
        if target.devices is not None and (saving or checkpoint is not None):
            raise UsageError("--checkpoint is for one device: leave out --devices")
        with steps.step(f"prepare for {target.place()}"):
            prepared = program.prepare(target, checkpoint, saving=saving)
    steps.start_run()
    return prepared


def target_options(command: Command) -> Command:
    """``--target`` and its options, given to the command as ``target``."""

    def chosen(context: click.Context, _option: click.Parameter, device: str | None) -> Target:
        name, devices = context.params.pop("target_name"), context.params.pop("target_devices")
        kernels = context.params.pop("target_kernels")
        asked = {"--device": device, "--devices": devices, "--kernels": kernels}
        for option, value in asked.items():
            if name != "xla" and value is not None:
                raise UsageError(f"{option} is for the target xla: give --target xla with it")
        return Target(name, device, devices, kernels)

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
        type=click.Choice(["cpu", "cuda", "xla"]),
        default="cpu",
        is_eager=True,
        help="The target: cpu, the kernels of this package; for programs compiled with --words 32 "
        "also cuda, those for a GPU of NVIDIA (docs/cuda.md), or xla, JAX on a CPU, GPU or TPU "
        "(docs/xla.md). Default: cpu.",
    )
    devices = click.option(
        "--devices",
        "target_devices",
        type=click.IntRange(min=1),
        is_eager=True,
        help="Devices of the target xla that share the limbs of a query. Default: one has all.",
    )
    kernels = click.option(
        "--kernels",
        "target_kernels",
        metavar="NAME",
        is_eager=True,
        help="Set of kernels of the target xla: "
        f"{', '.join(KERNEL_SETS)} (docs/xla.md). All give the same integers. Default: those that "
        "`palladion xla tune` kept, or those of the device.",
    )
    return target(devices(kernels(device(command))))
