"""Options of the commands that quantise, and the quantisation itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from palladion.errors import UsageError
from palladion.nn.datasets.calibration import Normalisation, calibrated
from palladion.nn.floats.graph import Graph
from palladion.nn.quantisation import Quantised, Settings
from palladion.nn.quantisation.settings import LEAST_ENTRIES, LIMIT, TABLE_ENTRIES, Method

ANY = click.Path(path_type=Path, exists=True)
Command = TypeVar("Command", bound=Callable[..., Any])


def numbers(
    _context: click.Context, option: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    """Numbers separated by commas."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers", param=option) from None


OPTIONS = [
    click.option("--data", type=ANY,
                 help="Calibration data: a folder of MNIST's or CIFAR-10's files, an .npy file, or "
                 "`x` of an .npz file, with inputs of shape (N, C, H, W) as the model takes them. "
                 "A QONNX or QDQ model with its own grids needs none if its sums fit."),
    click.option("--count", type=click.IntRange(min=1), default=512,
                 help="Number of inputs to calibrate on."),
    click.option("--mean", callback=numbers,
                 help="Mean of pixels by channel, with commas. The model gets "
                 "(p / 255 - mean) / std for a pixel p of 0 to 255."),
    click.option("--std", callback=numbers, help="Deviation of pixels by channel, with commas."),
    click.option("--weights", type=click.IntRange(2, 8), default=7, help="Bits of weights."),
    click.option("--activations", type=click.IntRange(2, 8), default=7,
                 help="Bits of activations."),
    click.option("--inputs", type=click.IntRange(2, 8), default=8, help="Bits of inputs."),
    click.option("--per-channel/--per-tensor", default=True,
                 help="One step of weights for each channel, or for each tensor."),
    click.option("--method", type=click.Choice(get_args(Method)), default="mse",
                 help="How to choose the scales of activations."),
    click.option("--headroom", type=float, default=1.15,
                 help="Factor from the largest calibrated accumulator to the bound."),
    click.option("--limit", type=click.IntRange(1, LIMIT), default=LIMIT,
                 help="Largest bound of accumulators."),
    click.option("--table-entries", type=click.IntRange(LEAST_ENTRIES, TABLE_ENTRIES),
                 default=TABLE_ENTRIES,
                 help="Most entries of a layer's table, such as 8193. Small tables are fast, and "
                 "weights are coarser where bounds have to be smaller."),
    click.option("--resolution", type=click.IntRange(1, LIMIT), default=64,
                 help="Units in one step of the output, if weights are exact."),
    click.option("--output-name", "outputs", multiple=True,
                 help="Output of the model to compute; may be repeated; default: all outputs."),
    click.option("--keep-softmax", is_flag=True,
                 help="Compute a softmax at the end under encryption, not on the client."),
    click.option("--exact/--no-exact", default=True,
                 help="Keep a model's own grids exactly, where integers fit. --no-exact leaves out "
                 "roundings before sums, for fewer tables."),
    click.option("--strict", is_flag=True,
                 help="Fail instead of a warning, or of weights that the limit makes coarser."),
]  # fmt: skip


def calibration_options(command: Command) -> Command:
    """``--data`` and the other options. The command gets them as keywords of :func:`calibrate`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def calibrate(
    model: Path,
    data: Path | None,
    count: int,
    mean: tuple[float, ...] | None,
    std: tuple[float, ...] | None,
    *,
    keep_softmax: bool,
    outputs: tuple[str, ...],
    change: Callable[[Graph, Normalisation | None], Graph] | None = None,
    **settings: Any,
) -> tuple[Graph, Quantised]:
    """Quantise an ONNX model, calibrated on real inputs. ``change`` gets the graph before, and the
    user's normalisation of pixels."""
    from palladion.nn.importer import load  # needs ONNX

    graph = load(model, keep_softmax=keep_softmax, outputs=outputs or None)
    if data is None and graph.input.grid is None:
        raise UsageError(f"{model} is an ONNX model: give --data to calibrate on, a folder of "
                         "MNIST's or CIFAR-10's files or an .npy file of inputs")  # fmt: skip
    told = None if mean is None and std is None else Normalisation(mean or (0.0,), std or (1.0,))
    if change is not None:
        graph = change(graph, told)
    found = calibrated(graph, data, count, told, Settings(**settings))
    return replace(graph, notes=(*graph.notes, *found.notes)), found
