"""Options of the commands that quantise, and what they do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from palladion.errors import UsageError
from palladion.nn.calibration import Normalisation, calibrated
from palladion.nn.graph import Graph
from palladion.nn.importer import load
from palladion.nn.quantisation import Quantised, Settings
from palladion.nn.quantisation.settings import LIMIT, Method

ANY = click.Path(path_type=Path, exists=True)
Command = TypeVar("Command", bound=Callable[..., Any])


def numbers(_context: click.Context, option: click.Parameter, text: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers", param=option) from None


OPTIONS = [
    click.option("--data", type=ANY,
                 help="Calibration: folder of MNIST's or CIFAR-10's files, or an .npy file, or "
                 "`x` of an .npz file: inputs of shape (N, C, H, W) as the model takes them. A "
                 "model with grids of its own, QONNX or QDQ, needs none where its sums fit."),
    click.option("--count", type=click.IntRange(min=1), default=512,
                 help="Inputs to calibrate on."),
    click.option("--mean", callback=numbers, default="0",
                 help="Of pixels, by commas; of arrays it only says what pixels are."),
    click.option("--std", callback=numbers, default="1",
                 help="Of pixels, by commas; as --mean."),
    click.option("--weights", type=click.IntRange(2, 8), default=7, help="Bits of weights."),
    click.option("--activations", type=click.IntRange(2, 8), default=7,
                 help="Bits of activations."),
    click.option("--inputs", type=click.IntRange(2, 8), default=8, help="Bits of inputs."),
    click.option("--per-channel/--per-tensor", default=True, help="Steps of weights."),
    click.option("--method", type=click.Choice(get_args(Method)), default="mse",
                 help="How scales of activations are chosen."),
    click.option("--headroom", type=float, default=1.15,
                 help="Bounds over calibrated accumulators."),
    click.option("--limit", type=click.IntRange(1, LIMIT), default=LIMIT,
                 help="Largest accumulator."),
    click.option("--resolution", type=click.IntRange(1, LIMIT), default=64,
                 help="Units in a step of the output, where weights are exact."),
    click.option("--output-name", "outputs", multiple=True,
                 help="Output of the model that is wanted, if not all; may be given again."),
    click.option("--keep-softmax", is_flag=True,
                 help="Compute a softmax at the end encrypted; the client does it otherwise."),
    click.option("--exact/--no-exact", default=True,
                 help="Keep the grids of a model that brings its own exactly, where integers fit; "
                 "without, roundings before sums are left out, for fewer tables."),
    click.option("--strict", is_flag=True,
                 help="Fail where there would be a warning, or coarser weights for the limit."),
]  # fmt: skip


def calibration_options(command: Command) -> Command:
    """``--data`` and the rest, given to the command as keywords for :func:`calibrate`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def calibrate(
    model: Path,
    data: Path | None,
    count: int,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    *,
    keep_softmax: bool,
    outputs: tuple[str, ...],
    **settings: Any,
) -> tuple[Graph, Quantised]:
    """Quantise an ONNX model, calibrated on real inputs."""
    graph = load(model, keep_softmax=keep_softmax, outputs=outputs or None)
    if data is None and graph.input.grid is None:
        raise UsageError(f"{model} is an ONNX model: give --data to calibrate on, a folder of "
                         "MNIST's or CIFAR-10's files or an .npy file of inputs")  # fmt: skip
    found = calibrated(graph, data, count, Normalisation(mean, std), Settings(**settings))
    return replace(graph, notes=(*graph.notes, *found.notes)), found
