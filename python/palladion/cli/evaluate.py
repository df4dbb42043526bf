"""``palladion evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import palladion
from palladion import IntNetwork
from palladion._native import Inspector
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

Labels = npt.NDArray[np.uint8]

BOUND_DEVIATIONS = 6
BOUND_DRAWS = 400  # a deviation from so many draws is right within 4 %


@click.command()
@network_option
@click.option("--data", type=FOLDER, required=True, help="Folder of MNIST's IDX files.")
@click.option("--count", type=click.IntRange(min=1), default=10_000, help="Test images to use.")
@click.option(
    "--noise", type=click.FloatRange(min=0), default=10.68, help="Deviation before each table."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Seed of the simulated noise."
)
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

    Encrypted images are counted apart, and compared with the integer network layer by layer.
    """
    images, labels = (part[:count] for part in mnist.load(data, "test"))
    inputs = network.inputs(images)
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
    noisy = network.evaluate(inputs, noise, seed)
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
        "noise_sigma": noise,
        "noise_seed": seed,
        "noisy_correct": right(noisy.predicted, labels),
        "noisy_class_changes": int(np.count_nonzero(noisy.predicted != exact.predicted)),
        "layers": layers,
    }


def under_encryption(
    network: IntNetwork, inputs: Ints, labels: Labels, batch: int, steps: Steps
) -> dict[str, Any]:
    """Really encrypted runs, compared with the integer network layer by layer."""
    with steps.step("compile"):
        program = palladion.compile(network.to_json(), batch)
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

        found, left, report = inspector.run(keys, inputs[start : start + batch].tolist(), progress)
        logits += found
        seconds += sum(step["seconds"] for step in report["steps"])
        margin = min(margin, left)
    return {
        **against_integers(network, inputs, labels, np.array(logits), program.report()),
        "seconds": seconds,
        "noise_margin_bits": margin,
        "rounding_sigma": program.report()["rounding_sigma"],
        "layers": inspector.layers(),
        "noise": inspector.noise(),
    }


def against_integers(
    network: IntNetwork, inputs: Ints, labels: Labels, logits: Ints, report: dict[str, Any]
) -> dict[str, Any]:
    """Classes of encrypted runs beside the integer network's."""
    exact = network.evaluate(inputs)
    predicted = np.argmax(logits, axis=1)
    ordered = np.sort(exact.logits, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    bounds = noise_bounds(network, inputs, report["rounding_sigma"])
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


def noise_bounds(network: IntNetwork, inputs: Ints, sigma: float) -> npt.NDArray[np.float64]:
    """How far noise may move the best logit against another one, image by image.

    That is BOUND_DEVIATIONS standard deviations of their difference, the largest over all other
    classes, in the integer network with rounding noise of ``sigma`` before every table. A class
    whose margin is larger changes less than once in 10^8 images.
    """
    predicted = network.evaluate(inputs).predicted
    bounds = np.empty(len(inputs))
    for index, image in enumerate(inputs):
        copies = np.repeat(image[None], BOUND_DRAWS, axis=0)
        logits = network.evaluate(copies, sigma, seed=index).logits
        against = logits[:, [predicted[index]]] - logits
        bounds[index] = BOUND_DEVIATIONS * against.std(axis=0).max()
    return bounds


def show(result: dict[str, Any]) -> None:
    total = result["images"]
    sigma = result["noise_sigma"]
    click.echo(f"in the clear, {total} images")
    print_rows(
        {
            "plain network": share(result["plain_correct"], total),
            "integer network": share(result["integer_correct"], total),
            f"with noise of {sigma:.1f}": share(result["noisy_correct"], total),
        }
    )
    click.echo("\n  layer      bound   largest   beyond   changed by noise   by at most")
    for layer in result["layers"]:
        click.echo(
            f"  {layer['name']:9}{layer['bound']:7}{layer['largest_accumulator']:10}"
            f"{layer['overflows']:9}{layer['changed'] / layer['values']:19.3%}"
            f"{layer['largest_change']:13}"
        )
    if "encrypted" in result:
        show_encrypted(result["encrypted"])


def share(correct: int, images: int) -> str:
    return f"{correct} of {images} right, {correct / images:.2%}"


def show_encrypted(found: dict[str, Any]) -> None:
    count = found["images"]
    click.echo(f"\nencrypted, {count} images, {found['seconds'] / count:.2f} s per image")
    print_rows(
        {
            "encrypted network": share(found["correct"], count),
            "integer network": share(found["integer_correct"], count),
            "same class in both": f"{found['as_integer']} of {count}",
            "margin beyond noise": f"{found['beyond_bound']} of {count}, "
            f"{found['exceptions']} of them with another class",
            "noise margin left": f"{found['noise_margin_bits']:.1f} bits",
        }
    )
    for image in found["different"]:
        click.echo(
            f"  image {image['image']}: {image['predicted']}, integer network "
            f"{image['integer_predicted']}, label {image['label']}; margin "
            f"{image['integer_top2_margin']}, noise bound {image['noise_bound']:.0f}"
        )
    sigma = found["rounding_sigma"]
    click.echo(
        f"\n  noise of accumulators, deviation {sigma:.2f} predicted      activations changed"
    )
    click.echo("  layer      mean  sigma   max  wrong slots      any   by 1   by 2   more")
    for layer in found["layers"]:
        any_, one, two = (portion(layer, sizes) for sizes in (None, (1,), (2,)))
        noise = (
            f"{layer['noise_mean']:6.2f}{layer['noise_sigma']:7.2f}{layer['noise_largest']:6}"
            if layer["accumulators"]
            else f"{'-':>6}{'-':>7}{'-':>6}"
        )
        click.echo(
            f"  {layer['name']:9}{noise}{layer['wrong_slots']:13}"
            f"{any_:9.1%}{one:7.1%}{two:7.1%}{any_ - one - two:7.1%}"
        )
    click.echo("\n  noise of ciphertexts, bits        predicted  measured  margin")
    for name, steps in by_operation(found["noise"]).items():
        # Of equal steps, the one furthest from its prediction.
        step = max(steps, key=lambda s: abs(s["measured_bits"] - s["predicted_bits"]))
        margin = min(s["margin_bits"] for s in steps)
        click.echo(
            f"  {name:32}{step['predicted_bits']:11.2f}{step['measured_bits']:10.2f}{margin:8.1f}"
        )


def by_operation(noise: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Steps of the same layer and operation together."""
    found: dict[str, list[dict[str, Any]]] = {}
    for step in noise:
        found.setdefault(step["name"].split(" ", 1)[1], []).append(step)
    return found


def portion(layer: dict[str, Any], sizes: tuple[int, ...] | None) -> float:
    """Of a layer's activations, those that changed by one of ``sizes``, or at all."""
    counts = layer["changes"].items()
    chosen = sum(count for change, count in counts if sizes is None or abs(change) in sizes)
    return float(chosen / layer["values"])
