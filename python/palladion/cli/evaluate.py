"""``palladion evaluate``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import palladion
from palladion import IntNetwork
from palladion._native import Inspector
from palladion.cli.batching import Candidate, batch_options, choose, show_candidates
from palladion.cli.budget import Budget, budget_options
from palladion.cli.common import (
    FILE,
    FOLDER,
    json_option,
    network_option,
    print_json,
    threads_option,
    times,
)
from palladion.cli.progress import Steps
from palladion.cli.show_evaluation import show
from palladion.errors import DataError
from palladion.nn import cifar10, dataset
from palladion.nn.dataset import Dataset
from palladion.nn.graph import Array
from palladion.nn.importer import load
from palladion.nn.network import Ints
from palladion.packaged import is_packaged

Labels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
FLOATS_AT_ONCE = 100

BOUND_DEVIATIONS = 6
BOUND_DRAWS = 400  # a deviation from so many draws is right within 4 %


@click.command()
@network_option
@click.option("--model", type=FILE, help="ONNX model the network was made from: counted in floats.")
@click.option("--data", type=FOLDER, required=True, help="Folder of MNIST's or CIFAR-10's files.")
@click.option("--count", type=click.IntRange(min=1), default=10_000, help="Test images to use.")
@click.option(
    "--noise", type=click.FloatRange(min=0), default=8.4, help="Deviation before each table."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Seed of the simulated noise."
)
@click.option("--encrypted", type=click.IntRange(min=0), default=0, help="Really encrypted images.")
@batch_options
@budget_options
@threads_option
@json_option
def evaluate(
    network: IntNetwork,
    model: Path | None,
    data: Path,
    count: int,
    noise: float,
    seed: int,
    encrypted: int,
    batches: list[int],
    budget: Budget,
    as_json: bool,
) -> None:
    """Count right answers on MNIST's or CIFAR-10's test images.

    In floating point, in integers, with simulated noise, and encrypted. Encrypted images
    are counted apart, and compared with the integer network layer by layer. A budget is for one
    encrypted run.
    """
    given = dataset.load(data, "test", count)
    inputs = inputs_of(network, given)
    with Steps(quiet=as_json) as steps:
        program: palladion.Program | None = None
        candidates: list[Candidate] = []
        if encrypted:
            useful = [size for size in batches if size <= encrypted] or batches
            program, candidates = choose(network.to_json(), useful, budget, steps)
        result: dict[str, Any] = {
            "network": network.name,
            "dataset": given.name,
            "note": given.note,
            "images": len(given.labels),
            "plain_correct": plain_correct(network, model, given, steps),
            **in_the_clear(network, inputs, given.labels, (noise, seed), steps),
        }
        if program is not None:
            chosen = slice(encrypted)
            result["encrypted"] = under_encryption(
                network, program, inputs[chosen], given.labels[chosen], steps
            )
            result["encrypted"]["batch"] = program.report()["batch"]
            result["encrypted"]["candidates"] = candidates
    if as_json:
        print_json(result)
    else:
        if program is not None:
            show_candidates(candidates, program.report()["batch"])
        show(result)


def inputs_of(network: IntNetwork, given: Dataset) -> Ints:
    """The network's integers for the images of a set."""
    shape = given.images.shape[1:]
    if network.input.shape not in (shape, (given.images[0].size, 1, 1)):
        raise DataError(
            f"{given.name}'s images have shape {times(shape)}, the network {network.name} takes "
            f"{times(network.input.shape)}"
        )
    return network.inputs(given.images)


def plain_correct(
    network: IntNetwork, model: Path | None, given: Dataset, steps: Steps
) -> int | None:
    """Right answers in floating point; of the packaged network's own, or of no model, none."""
    if model is None:
        if not is_packaged(network):
            return None
        return right(palladion.mnist_plain().predict(given.images), given.labels)
    graph = load(model)
    if graph.input.shape != network.input.shape:
        raise DataError(
            f"{model} takes {times(graph.input.shape)}, the network {network.name} "
            f"{times(network.input.shape)}: it was not made from this model"
        )
    mean, std = (list(part) for part in network.input.normalisation())
    own_mean, own_std = (part[:, None, None] for part in (graph.input.mean, graph.input.std))
    total, found = len(given.images), 0
    steps.start_run()
    for start in range(0, total, FLOATS_AT_ONCE):
        steps.count("floating point", start, total)
        part = slice(start, start + FLOATS_AT_ONCE)
        pixels = given.images[part].reshape(-1, *graph.input.shape)
        # The integer network's mean and deviation have the model's own in them.
        real = cifar10.normalise(pixels, mean, std) * own_std + own_mean
        outputs: Array = graph.evaluate(real)
        found += right(outputs.reshape(len(outputs), -1).argmax(axis=1), given.labels[part])
    return found


def right(predicted: npt.NDArray[Any], labels: Labels) -> int:
    return int(np.count_nonzero(predicted == labels))


def in_the_clear(
    network: IntNetwork, inputs: Ints, labels: Labels, noise: tuple[float, int], steps: Steps
) -> dict[str, Any]:
    """Exact and noise-simulated evaluation, and what the noise changes layer by layer."""

    def counting(name: str) -> Callable[[int], None]:
        steps.start_run()
        return lambda done: steps.count(name, done, len(inputs))

    sigma, seed = noise
    exact = network.evaluate(inputs, progress=counting("integer network"))
    noisy = network.evaluate(inputs, sigma, seed, counting("with simulated noise"))
    layers = [
        {
            "name": layer.name,
            "bound": layer.bound,
            "largest_accumulator": found.largest_accumulator,
            "overflows": found.beyond_bound,
            "values": found.values,
            "changed": found.changed,
            "largest_change": found.largest_change,
        }
        for layer, found in zip(network.layers, noisy.layers, strict=True)
    ]
    return {
        "integer_correct": right(exact.predicted, labels),
        "noise_sigma": sigma,
        "noise_seed": seed,
        "noisy_correct": right(noisy.predicted, labels),
        "noisy_class_changes": int(np.count_nonzero(noisy.predicted != exact.predicted)),
        "layers": layers,
    }


def under_encryption(
    network: IntNetwork, program: palladion.Program, inputs: Ints, labels: Labels, steps: Steps
) -> dict[str, Any]:
    """Really encrypted runs, compared with the integer network layer by layer."""
    report = program.report()
    batch, rounding = report["batch"], report["rounding_sigma"]
    with steps.step("make keys"):
        secret, keys = palladion.keygen(program)
    inspector = Inspector(secret, network.to_json())
    logits: list[list[int]] = []
    seconds, margin = 0.0, float("inf")
    steps.start_run()
    for start in range(0, len(inputs), batch):

        def progress(
            _step: str, done: float, total: float, start: int = start, logits: Any = logits
        ) -> None:
            finished = start + done / total * min(batch, len(inputs) - start)
            steps.update(f"images: {len(logits)} of {len(inputs)} done", finished, len(inputs))

        found, left, ran = inspector.run(keys, inputs[start : start + batch].tolist(), progress)
        logits += found
        seconds += sum(step["seconds"] for step in ran["steps"])
        margin = min(margin, left)
    bounds = noise_bounds(network, inputs, rounding, steps)
    return {
        **against_integers(network, inputs, labels, np.array(logits), bounds),
        "seconds": seconds,
        "noise_margin_bits": margin,
        "rounding_sigma": rounding,
        "layers": inspector.layers(),
        "noise": inspector.noise(),
    }


def against_integers(
    network: IntNetwork, inputs: Ints, labels: Labels, logits: Ints, bounds: Floats
) -> dict[str, Any]:
    """Classes of encrypted runs beside the integer network's."""
    exact = network.evaluate(inputs)
    predicted = np.argmax(logits, axis=1)
    ordered = np.sort(exact.logits, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    differs = predicted != exact.predicted
    return {
        "images": len(inputs),
        "correct": right(predicted, labels),
        "integer_correct": right(exact.predicted, labels),
        "as_integer": int(np.count_nonzero(~differs)),
        "beyond_bound": int(np.count_nonzero(margins > bounds)),
        "exceptions": int(np.count_nonzero(differs & (margins > bounds))),
        "different": [
            {
                "image": int(i),
                "label": int(labels[i]),
                "predicted": int(predicted[i]),
                "integer_predicted": int(exact.predicted[i]),
                "integer_top2_margin": int(margins[i]),
                "noise_bound": float(bounds[i]),
            }
            for i in np.flatnonzero(differs)
        ],
        "largest_logit_change": int(np.abs(logits - exact.logits).max()),
    }


def noise_bounds(network: IntNetwork, inputs: Ints, sigma: float, steps: Steps) -> Floats:
    """How far noise may move the best logit against another one, image by image.

    That is BOUND_DEVIATIONS standard deviations of their difference, the largest over all other
    classes, in the integer network with rounding noise of ``sigma`` before every table. A class
    whose margin is larger changes less than once in 10^8 images.
    """
    predicted = network.evaluate(inputs).predicted
    bounds = np.empty(len(inputs))
    steps.start_run()
    for index, image in enumerate(inputs):
        steps.count("noise bounds", index, len(inputs))
        copies = np.repeat(image[None], BOUND_DRAWS, axis=0)
        logits = network.evaluate(copies, sigma, seed=index).logits
        against = logits[:, [predicted[index]]] - logits
        bounds[index] = BOUND_DEVIATIONS * against.std(axis=0).max()
    return bounds
