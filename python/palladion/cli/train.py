"""``palladion train``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from palladion import IntNetwork
from palladion.cli.calibrate import calibrate, calibration_options
from palladion.cli.common import FILE, OUTPUT, json_option, print_json, print_rows
from palladion.cli.progress import Steps
from palladion.errors import DataError, UsageError
from palladion.measure.accuracy import in_the_clear, inputs_of
from palladion.nn.datasets import dataset
from palladion.nn.datasets.calibration import Normalisation, pixels_of
from palladion.nn.floats.graph import Array, Graph
from palladion.nn.integers.network import ROUNDING_SIGMA, Ints
from palladion.nn.quantisation.settings import LIMIT, TABLE_ENTRIES
from palladion.support import files

WIDEST = {"weights": 8, "activations": 8, "per_channel": True, "limit": LIMIT,
          "table_entries": TABLE_ENTRIES, "strict": False}  # fmt: skip
"""The settings of the network that is imitated."""
HELD_OUT = 1_000
"""Images that are counted but not trained on; a tenth of all if there are fewer than 10,000."""


@dataclass(frozen=True)
class Examples:
    """Rows of a network's integers, their classes, and the integers of an empty pixel."""

    inputs: Ints
    labels: Ints
    blank: Ints

    def split(self) -> tuple[Examples, Examples]:
        """The examples to train on, and the last ones, which are held out."""
        first = len(self.labels) - min(HELD_OUT, len(self.labels) // 10)
        parts = slice(first), slice(first, None)
        kept, out = (Examples(self.inputs[p], self.labels[p], self.blank) for p in parts)
        return kept, out


@click.command()
@click.argument("model", type=FILE)
@calibration_options
@click.option(
    "--output", type=OUTPUT, required=True, help="File to write the integer network to, as JSON."
)
@click.option("--epochs", type=click.IntRange(min=1), default=5, help="Passes over the images.")
@click.option(
    "--activation",
    type=click.Choice(["model", "square"]),
    default="model",
    help="square: put a square in the place of every ReLU, and train in floats before the model is "
    "quantised, as papers on two-party runs have it.",
)
@click.option(
    "--float-epochs",
    type=click.IntRange(min=1),
    default=5,
    help="With --activation square: passes over the images in floats.",
)
@click.option("--images", type=click.IntRange(min=2), help="Images to use; default: all.")
@click.option(
    "--rate", type=float, default=5e-4, help="Learning rate, relative to the largest weight."
)
@click.option("--batch", type=click.IntRange(min=1), default=64, help="Images in one step.")
@click.option(
    "--shift", type=click.IntRange(min=0), default=0, help="Largest shift of images, in pixels."
)
@click.option("--flip", is_flag=True, help="Mirror half of the images left to right.")
@click.option("--noise", "sigma", type=click.FloatRange(min=0), default=ROUNDING_SIGMA,
              help="Deviation of the simulated noise of one LWE sample.")  # fmt: skip
@click.option(
    "--imitation",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Share of the loss that compares with the answers of the same model quantised to 8 bits "
    "without limits, in place of the classes.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of all random numbers."
)
@json_option
def train(
    model: Path,
    output: Path,
    epochs: int,
    activation: str,
    float_epochs: int,
    images: int | None,
    rate: float,
    batch: int,
    shift: int,
    flip: bool,
    sigma: float,
    imitation: float,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Quantise an ONNX model, then train its integers further.

    The model is quantised as by quantize, with the same options.

    --data is a folder of MNIST's or CIFAR-10's files, or an .npz file of inputs `x` of shape
    (N, C, H, W), as the model takes them, and classes `y`.
    """
    training = library()
    settings = training.Settings(epochs, rate, batch, sigma, shift, flip, seed, imitation)
    with Steps(quiet=as_json) as steps:
        if activation == "square":
            if options["data"] is None:
                raise UsageError("--activation square trains the model: give --data")
            in_floats = replace(settings, epochs=float_epochs)
            steps.start_run()
            options["change"] = lambda graph, told: squares(
                training,
                real_examples(options["data"], images, graph, told),
                graph,
                in_floats,
                steps,
            )
            graph, found = calibrate(model, **options)
        else:
            with steps.step("quantise"):
                graph, found = calibrate(model, **options)
        prepared, imitated = training.Model(found), None
        if imitation:
            with steps.step("quantise what is imitated"):
                of = {**options, **WIDEST, "change": lambda *_: graph}
                imitated = training.Model(calibrate(model, **of)[1])
        chosen, held_out = examples(options["data"], images, graph, found.network).split()
        steps.start_run()
        network = training.train(
            prepared, chosen.inputs, chosen.labels, settings, chosen.blank,
            lambda done, total, loss: steps.count("train", done, total, f"loss {loss:.4f}"),
            imitated,
        )  # fmt: skip
        files.write(output, network.to_json().encode())
        before = right(found.network, held_out, (sigma, seed), steps)
        after = right(network, held_out, (sigma, seed), steps)
    result = {"output": str(output), "trained_on": len(chosen.labels),
              "held_out": len(held_out.labels), "quantised": before, "trained": after,
              "notes": list(graph.notes)}  # fmt: skip
    if as_json:
        print_json(result)
        return
    click.echo(f"right of {len(held_out.labels)} images that were not trained on")
    print_rows({name: words(counts) for name, counts in
                (("quantised", before), ("trained", after))})  # fmt: skip
    for note in graph.notes:
        click.echo(f"note: {note}")


def squares(
    training: Any, given: tuple[Array, Ints, Array], graph: Graph, settings: Any, steps: Steps
) -> Graph:
    """The graph with squares in the place of ReLUs, trained."""
    images, labels, blank = given
    found: Graph = training.with_squares(
        graph, images, labels, settings, blank,
        lambda done, total, loss: steps.count("train in floats", done, total, f"loss {loss:.4f}"),
    )  # fmt: skip
    return found


def library() -> Any:
    """The training package, which has its own dependencies."""
    try:
        from palladion.nn import training
    except ModuleNotFoundError as error:
        raise UsageError(f"training needs {error.name}: pip install 'palladion[train]'") from error
    return training


def examples(data: Path, count: int | None, graph: Graph, network: IntNetwork) -> Examples:
    """Inputs as the network's integers, with classes."""
    given = dataset.read(data, "train", count)
    if given.pictures:
        parts = [network.inputs_of_pixels(given.images[i : i + 1000]).astype(np.int16)
                 for i in range(0, len(given.images), 1000)]  # fmt: skip
        empty = network.inputs_of_pixels(np.zeros_like(given.images[:1]))
        return Examples(
            np.concatenate(parts), given.labels.astype(np.int64), per_channel(network, empty)
        )
    if given.labels.dtype.kind not in "iu":
        raise DataError(f"{data}: labels y of type {given.labels.dtype}, expected integers: "
                        "classes are counted from 0")  # fmt: skip
    empty = network.inputs(np.zeros_like(given.images[:1]))
    found = inputs_of(network, given)
    return Examples(found, given.labels.astype(np.int64), per_channel(network, empty))


def real_examples(
    data: Path, count: int | None, graph: Graph, told: Normalisation | None
) -> tuple[Array, Ints, Array]:
    """Inputs as the model takes them, without the held-out ones, with classes, and the values
    of an empty pixel by channel."""
    given = dataset.read(data, "train", count)
    kept = len(given.labels) - min(HELD_OUT, len(given.labels) // 10)
    images, shape = given.images[:kept], graph.input.shape
    if given.pictures:
        pixels = pixels_of(shape, told or Normalisation())
        takes = graph.ends.takes
        real = takes.restored(pixels.values(images).reshape(kept, -1))
        empty = takes.restored(pixels.values(np.zeros_like(images[:1])).reshape(1, -1))
    else:
        real, empty = images, np.zeros_like(images[:1])
    real, empty = graph.arranged(real), graph.arranged(empty)
    return real, given.labels[:kept].astype(np.int64), empty.reshape(shape[0], -1)[:, 0]


def per_channel(network: IntNetwork, row: Ints) -> Ints:
    """The first integer of each channel."""
    return row.reshape(network.input.shape[0], -1)[:, 0]


def right(
    network: IntNetwork, given: Examples, noise: tuple[float, int], steps: Steps
) -> dict[str, int]:
    """Count right answers, exact and with simulated noise, given a sample's deviation and a
    seed."""
    sigma, seed = noise
    inputs = given.inputs.astype(np.int64)
    found = in_the_clear(network, inputs, given.labels, (network.sigmas(sigma), seed), steps)
    return {
        "integer_correct": found["integer_correct"],
        "noisy_correct": found["noisy_correct"],
        "beyond_bound": sum(layer["overflows"] for layer in found["layers"]),
    }


def words(counts: dict[str, int]) -> str:
    return (f"{counts['integer_correct']} in integers, {counts['noisy_correct']} with simulated "
            f"noise, {counts['beyond_bound']} accumulators beyond bounds")  # fmt: skip
