"""``palladion demo``."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

import palladion
from palladion.cli.common import FILE, json_option, print_json, threads_option
from palladion.cli.draw import draw
from palladion.cli.halves import Figures, both_halves
from palladion.cli.progress import Steps
from palladion.cli.stopping import timeout_option
from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.nn.integers.linear_maps import Ints


@dataclass(frozen=True)
class Digits:
    """The images to classify. The user's own pictures have no label."""

    images: npt.NDArray[np.uint8]
    labels: list[int | None]


@click.command()
@click.option("--image", "pictures", type=FILE, multiple=True, help="Picture of a digit.")
@click.option("--sample", type=click.IntRange(0, 99), default=0, help="First MNIST test image.")
@click.option("--count", type=click.IntRange(1, 100), default=1, help="Number of MNIST images.")
@click.option("--batch", type=click.IntRange(min=1), default=1, help="Images in one run.")
@timeout_option
@threads_option
@json_option
def demo(pictures: tuple[Path, ...], sample: int, count: int, batch: int, as_json: bool) -> None:
    """Classify handwritten digits while they are encrypted.

    Encrypts real MNIST test images, or your own pictures. Runs the network on the ciphertexts
    alone, decrypts, and compares with the same network in the clear.
    """
    digits = choose(pictures, sample, count)
    if not as_json:
        unicode = "utf" in (sys.stdout.encoding or "").lower()
        for image in digits.images:
            click.echo(draw(image, unicode=unicode) + "\n")
    network = palladion.mnist_network()
    inputs = network.inputs_of_pixels(digits.images)
    with Steps(quiet=as_json) as steps:
        with steps.step("compile"):
            program = CompiledModel.of_network(network, batch)
        outcome = both_halves(program, inputs, steps)
    images = compare(outcome.integers, digits, network.evaluate(inputs).predicted)
    figures = Figures.of(program, outcome)
    if as_json:
        rows = [asdict(image) for image in images]
        print_json({**rows[0], "images": rows, **figures.to_json()})
    else:
        show(images)
        figures.show()


def choose(pictures: tuple[Path, ...], sample: int, count: int) -> Digits:
    if pictures:
        from palladion.support.image import load_digit  # needs Pillow

        images = np.stack([load_digit(path) for path in pictures])
        return Digits(images, [None] * len(images))
    packaged = palladion.mnist_sample()
    if sample + count > len(packaged.images):
        found = f"--sample {sample} --count {count}"
        raise UsageError(f"{found} goes beyond the {len(packaged.images)} images of the sample")
    chosen = slice(sample, sample + count)
    return Digits(packaged.images[chosen], [int(label) for label in packaged.labels[chosen]])


@dataclass(frozen=True)
class Image:
    """The classes of an image. Names are as in ``--json``, which docs/cli.md documents."""

    label: int | None
    predicted: int
    integer_predicted: int
    plain_predicted: int
    logits: list[int]


def compare(logits: Ints, digits: Digits, integer: npt.NDArray[np.int64]) -> list[Image]:
    """The classes of the encrypted, the integer and the plain network."""
    plain = palladion.mnist_plain().predict(digits.images)
    return [
        Image(label, int(np.argmax(encrypted)), int(of_integer), int(of_plain), encrypted.tolist())
        for label, encrypted, of_integer, of_plain in zip(
            digits.labels, logits, integer, plain, strict=True
        )
    ]


def show(images: list[Image]) -> None:
    for index, image in enumerate(images):
        label = "" if image.label is None else f", label {image.label}"
        click.echo(
            f"image {index}: encrypted network says {image.predicted} (integer network "
            f"{image.integer_predicted}, plain network {image.plain_predicted}{label})"
        )
    click.echo()
