"""``palladion evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import palladion
from palladion import IntNetwork
from palladion.cli.common import (
    FOLDER,
    json_option,
    network_option,
    print_json,
    print_rows,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.nn import mnist
from palladion.nn.network import Ints
from palladion.nn.quantise import pixels_to_inputs

Labels = npt.NDArray[np.uint8]


@click.command()
@network_option
@click.option("--data", type=FOLDER, required=True, help="Folder of MNIST's IDX files.")
@click.option("--count", type=click.IntRange(min=1), default=10_000, help="Test images to use.")
@click.option(
    "--noise", type=click.FloatRange(min=0), default=10.7, help="Deviation before each table."
)
@click.option("--seed", type=int, default=0, help="Seed of the simulated noise.")
@click.option("--encrypted", type=click.IntRange(min=0), default=0, help="Really encrypted images.")
@click.option("--batch", type=click.IntRange(min=1), default=1, help="Images per ciphertext.")
@threads_option
@json_option
def evaluate(
    network: IntNetwork,
    data: Path,
    count: int,
    noise: float,
    seed: int,
    encrypted: int,
    batch: int,
    as_json: bool,
) -> None:
    """Count right answers on MNIST's test images: plain, integer, with simulated noise, encrypted.

    Encrypted images are counted apart, and compared with the integer network one by one.
    """
    images, labels = (part[:count] for part in mnist.load(data, "test"))
    inputs = pixels_to_inputs(images)
    result: dict[str, Any] = {
        "images": len(labels),
        "plain_correct": right(palladion.mnist_plain().predict(images), labels),
        **in_the_clear(network, inputs, labels, noise, seed),
    }
    if encrypted:
        with Steps(quiet=as_json) as steps:
            result["encrypted"] = under_encryption(
                network, inputs[:encrypted], labels[:encrypted], batch, steps
            )
    if as_json:
        print_json(result)
    else:
        show(result)


def right(predicted: npt.NDArray[Any], labels: Labels) -> int:
    return int(np.count_nonzero(predicted == labels))


def in_the_clear(
    network: IntNetwork, inputs: Ints, labels: Labels, noise: float, seed: int
) -> dict[str, Any]:
    """Exact and noise-simulated evaluation, and what the noise changes layer by layer."""
    exact = network.evaluate(inputs)
    noisy = network.evaluate(inputs, noise, np.random.default_rng(seed))
    layers = []
    given = inputs
    for index, layer in enumerate(network.layers):
        # From the noisy run's own inputs, so that each layer's changes are its own.
        clean = layer.apply(layer.linear.accumulate(given))
        change = np.abs(noisy.outputs[index] - clean)
        found = noisy.accumulators[index]
        layers.append(
            {
                "name": layer.name,
                "bound": layer.bound,
                "largest_accumulator": int(np.abs(found).max()),
                "overflows": layer.overflows(found),
                "values": int(found.size),
                "changed": int(np.count_nonzero(change)),
                "largest_change": int(change.max()),
            }
        )
        given = noisy.outputs[index]
    return {
        "integer_correct": right(exact.predicted, labels),
        "noise_sigma": noise,
        "noise_seed": seed,
        "noisy_correct": right(noisy.predicted, labels),
        "noisy_class_changes": int(np.count_nonzero(noisy.predicted != exact.predicted)),
        "layers": layers,
    }


def under_encryption(
    network: IntNetwork, inputs: Ints, labels: Labels, batch: int, steps: Steps
) -> dict[str, Any]:
    """Really encrypted runs, compared with the integer network."""
    with steps.step("compile"):
        program = palladion.compile(network.to_json(), batch)
    with steps.step("make keys"):
        secret, keys = palladion.keygen(program)
    logits: list[list[int]] = []
    seconds = 0.0
    for start in range(0, len(inputs), batch):
        with steps.step(f"images {start} of {len(inputs)}"):
            query = secret.encrypt(program, inputs[start : start + batch].tolist())
            answer, report = program.run(keys, query)
            logits += secret.decrypt(program, answer)[0]
            seconds += report["seconds"]
    exact = network.evaluate(inputs)
    predicted = np.argmax(np.array(logits), axis=1)
    ordered = np.sort(exact.logits, axis=1)
    different = np.flatnonzero(predicted != exact.predicted)
    return {
        "images": len(inputs),
        "correct": right(predicted, labels),
        "integer_correct": right(exact.predicted, labels),
        "as_integer": int(len(inputs) - len(different)),
        "different": [
            {
                "image": int(i),
                "predicted": int(predicted[i]),
                "integer_predicted": int(exact.predicted[i]),
                "integer_top2_margin": int(ordered[i, -1] - ordered[i, -2]),
            }
            for i in different
        ],
        "largest_logit_change": int(np.abs(np.array(logits) - exact.logits).max()),
        "seconds": seconds,
    }


def show(result: dict[str, Any]) -> None:
    total = result["images"]

    def share(correct: int, images: int = total) -> str:
        return f"{correct} of {images} right, {correct / images:.2%}"

    rows: dict[str, object] = {
        "plain network": share(result["plain_correct"]),
        "integer network": share(result["integer_correct"]),
        f"noise of {result['noise_sigma']}": share(result["noisy_correct"]),
    }
    for layer in result["layers"]:
        rows[f"layer {layer['name']}"] = (
            f"{layer['changed'] / layer['values']:.2%} of outputs changed by noise, by at most "
            f"{layer['largest_change']}; {layer['overflows']} of {layer['values']} accumulators "
            f"beyond {layer['bound']}, largest {layer['largest_accumulator']}"
        )
    if encrypted := result.get("encrypted"):
        count = encrypted["images"]
        rows["encrypted network"] = share(encrypted["correct"], count)
        rows["as the integer network"] = f"{encrypted['as_integer']} of {count}"
    print_rows(rows)
    for entry in result.get("encrypted", {}).get("different", []):
        click.echo(f"  different: {entry}")
