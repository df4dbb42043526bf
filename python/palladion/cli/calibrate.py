"""Options of the commands that quantise, and what they do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
import numpy as np

from palladion.errors import DataError, UsageError
from palladion.nn import cifar10, dataset
from palladion.nn.graph import Array, Graph
from palladion.nn.importer import load
from palladion.nn.network import IntNetwork
from palladion.nn.quantisation import Quantised, Settings, quantise
from palladion.nn.quantisation.settings import LIMIT, Method

ANY = click.Path(path_type=Path, exists=True)
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Normalisation:
    """``(pixel / 255 - mean) / std``, one number per channel or one for all."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def over(self, channels: int) -> tuple[list[float], list[float]]:
        """Mean and deviation of each channel."""
        return self._spread(self.mean, channels), self._spread(self.std, channels)

    @staticmethod
    def _spread(given: tuple[float, ...], channels: int) -> list[float]:
        if len(given) not in (1, channels):
            raise DataError(f"{len(given)} numbers for {channels} channels, expected one for each")
        return [*given] if len(given) == channels else [*given] * channels


def numbers(_context: click.Context, option: click.Parameter, text: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of numbers", param=option) from None


OPTIONS = [
    click.option("--data", type=ANY,
                 help="Calibration: folder of MNIST's or CIFAR-10's files, or an .npy file of "
                 "inputs of shape (N, C, H, W) as the model takes them."),
    click.option("--count", type=click.IntRange(min=1), default=512,
                 help="Inputs to calibrate on."),
    click.option("--mean", callback=numbers, default="0",
                 help="Of pixels, by commas; with a folder."),
    click.option("--std", callback=numbers, default="1",
                 help="Of pixels, by commas; with a folder."),
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
    click.option("--keep-softmax", is_flag=True,
                 help="Give probabilities: keep a softmax at the end, which is left out else."),
    click.option("--strict", is_flag=True,
                 help="Fail where weights would be coarsened for the limit."),
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
    **settings: Any,
) -> tuple[Graph, Quantised]:
    """Quantise an ONNX model, calibrated on real inputs."""
    if data is None:
        raise UsageError(f"{model} is an ONNX model: give --data to calibrate on, a folder of "
                         "MNIST's or CIFAR-10's files or an .npy file of inputs")  # fmt: skip
    graph = load(model, keep_softmax=keep_softmax)
    normalisation = Normalisation(mean, std)
    found = quantise(graph, inputs(data, count, graph, normalisation), Settings(**settings))
    if data.is_dir():
        found = replace(found, network=as_pixels(found.network, graph, normalisation))
    return graph, found


def inputs(data: Path, count: int, graph: Graph, normalisation: Normalisation) -> Array:
    """Calibration inputs of shape (N, C, H, W)."""
    if not data.is_dir():
        found = read_array(data)
        found = found[:, :, None, None] if found.ndim == 2 else found
        return found[:count]
    images = dataset.load(data, "train", count).images
    if graph.input.shape == (images[0].size, 1, 1):
        images = images.reshape(len(images), -1, 1, 1)
    return cifar10.normalise(images, *normalisation.over(images.shape[1]))


def read_array(path: Path) -> Array:
    """Numbers in an ``.npy`` file."""
    try:
        found: Array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise DataError(f"{path} holds no array of numbers, expected an .npy file")
    return found


def as_pixels(network: IntNetwork, graph: Graph, normalisation: Normalisation) -> IntNetwork:
    """Let the input's mean and deviation take pixels: the user's, then the model's own."""
    mean, std = (np.array(part) for part in normalisation.over(graph.input.shape[0]))
    mean, std = mean + std * graph.input.mean, std * graph.input.std
    given = replace(network.input, mean=tuple(mean.tolist()), std=tuple(std.tolist()))
    return replace(network, input=given)
