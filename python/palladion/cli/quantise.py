"""``palladion import`` and ``palladion quantize``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np

from palladion import files
from palladion.cli.common import FILE, json_option, print_json
from palladion.errors import DataError
from palladion.nn import cifar10, mnist
from palladion.nn.graph import Array, Graph
from palladion.nn.importer import load
from palladion.nn.quantisation import Quantised, Settings, quantise
from palladion.nn.quantisation.settings import LIMIT, Method

ANY = click.Path(path_type=Path, exists=True)


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


@click.command("import")
@click.argument("model", type=FILE)
@json_option
def import_(model: Path, as_json: bool) -> None:
    """Print the graph of an ONNX model as it is read: one line per node."""
    graph = load(model)
    rows = [
        {
            "index": index,
            "node": type(node).__name__,
            "name": node.name,
            "sources": list(node.sources),
            "shape": list(node.shape),
            "attributes": node.describe(),
        }
        for index, node in enumerate(graph.nodes)
    ]
    if as_json:
        print_json({"name": graph.name, "nodes": rows, "notes": list(graph.notes)})
        return
    print_table(rows)
    for note in graph.notes:
        click.echo(f"note: {note}")


@click.command()
@click.argument("model", type=FILE)
@click.option("--data", type=ANY, required=True,
              help="Calibration: folder of MNIST's or CIFAR-10's files, or an .npy file of inputs "
              "of shape (N, C, H, W) as the model takes them.")  # fmt: skip
@click.option("--count", type=click.IntRange(min=1), default=512, help="Inputs to calibrate on.")
@click.option("--mean", callback=numbers, default="0", help="Of pixels, by commas; with a folder.")
@click.option("--std", callback=numbers, default="1", help="Of pixels, by commas; with a folder.")
@click.option("--weights", type=click.IntRange(2, 8), default=7, help="Bits of weights.")
@click.option("--activations", type=click.IntRange(2, 8), default=7, help="Bits of activations.")
@click.option("--inputs", type=click.IntRange(2, 8), default=8, help="Bits of inputs.")
@click.option("--per-channel/--per-tensor", default=True, help="Steps of weights.")
@click.option("--method", type=click.Choice(get_args(Method)), default="mse",
              help="How scales of activations are chosen.")  # fmt: skip
@click.option("--headroom", type=float, default=1.15, help="Bounds over calibrated accumulators.")
@click.option("--limit", type=click.IntRange(1, LIMIT), default=LIMIT, help="Largest accumulator.")
@click.option("--strict", is_flag=True, help="Fail where weights would be coarsened for the limit.")
@click.option("--output", type=FILE, required=True, help="Integer network to write, as JSON.")
@json_option
def quantize(
    model: Path,
    data: Path,
    count: int,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    output: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Turn an ONNX model into an integer network, calibrated on real inputs."""
    graph = load(model)
    settings = Settings(**options)
    normalisation = Normalisation(mean, std)
    found = quantise(graph, inputs(data, count, graph, normalisation), settings)
    if data.is_dir():
        as_pixels(found, graph, normalisation)
    text = json.dumps(found.network, separators=(",", ":"))
    files.write(output, text.encode())
    rows = [entry.to_dict() for entry in found.layers]
    if as_json:
        print_json({"output": str(output), "layers": rows, "notes": list(graph.notes)})
        return
    print_table(rows)
    for note in graph.notes:
        click.echo(f"note: {note}")


def inputs(data: Path, count: int, graph: Graph, normalisation: Normalisation) -> Array:
    """Calibration inputs of shape (N, C, H, W)."""
    if not data.is_dir():
        try:
            found: Array = np.load(data, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"cannot read {data}: {error}") from error
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
            raise DataError(f"{data} holds no array of numbers, expected an .npy file")
        found = found[:, :, None, None] if found.ndim == 2 else found
        return found[:count]
    if any(data.glob("data_batch_*.bin*")):
        images = cifar10.load(data, "train", batches=-(-min(count, 50_000) // 10_000))[0][:count]
    else:
        images = mnist.load(data, "train")[0][:count, None]
    if graph.input.shape == (images[0].size, 1, 1):
        images = images.reshape(len(images), -1, 1, 1)
    return cifar10.normalise(images, *normalisation.over(images.shape[1]))


def as_pixels(found: Quantised, graph: Graph, normalisation: Normalisation) -> None:
    """Let the file's mean and std take pixels: the user's, then the model's own."""
    mean, std = (np.array(part) for part in normalisation.over(graph.input.shape[0]))
    entry = found.network["input"]
    entry["mean"] = (mean + std * graph.input.mean).tolist()
    entry["std"] = (std * graph.input.std).tolist()


def print_table(rows: list[dict[str, Any]]) -> None:
    """Objects of the same fields, one per line, in columns."""
    header = list(rows[0])
    lines = [header, *([cell(row[name]) for name in header] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        click.echo("  ".join(f"{text:{w}}" for text, w in zip(line, widths, strict=True)).rstrip())


def cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
