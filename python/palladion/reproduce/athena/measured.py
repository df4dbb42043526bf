"""Networks and images for measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.data.digits import mnist_sample, takes_digits
from palladion.deployment import CompiledModel
from palladion.errors import DataError, UsageError
from palladion.measure.accuracy import Steps, in_the_clear, inputs_of, under_encryption
from palladion.nn.datasets import dataset
from palladion.nn.datasets.calibration import Normalisation
from palladion.nn.datasets.dataset import Dataset
from palladion.nn.integers.network import IntNetwork
from palladion.nn.quantisation.settings import Method
from palladion.support.records import Json

FOLDERS: Final = {28 * 28: "mnist", 3 * 32 * 32: "cifar10"}
"""Folders of ``--data`` by the number of values in an image."""
SEED: Final = 0


@dataclass(frozen=True)
class Recipe:
    """The quantisation of a model for a set of images, as in models/README.md."""

    normalisation: Normalisation
    method: Method


RECIPES: Final = {
    "mnist": Recipe(Normalisation((0.0,), (1.0,)), "mse"),
    "cifar10": Recipe(Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), "max"),
}


def folder_of(values: int, data: Path) -> Path:
    """The folder with images of ``values`` numbers.

    Raises
    ------
    DataError
        If the images are neither MNIST's nor CIFAR-10's, or the folder is missing.
    """
    if values not in FOLDERS:
        raise DataError(
            f"inputs of {values} numbers, expected {' or '.join(map(str, FOLDERS))}: "
            "MNIST's or CIFAR-10's images"
        )
    found = data / FOLDERS[values]
    if not found.is_dir():
        raise DataError(f"{found} is missing: --data is a folder with mnist/ and cifar10/ in it")
    return found


def images_for(network: IntNetwork, data: Path | None, count: int | None) -> Dataset:
    """The first test images. Without ``data``, the images of the packaged sample if they fit.

    Raises
    ------
    DataError, UsageError
        If there are no such images.
    """
    if data is not None:
        return dataset.load(folder_of(network.input.values, data), "test", count)
    if not takes_digits(network.boundary):
        raise UsageError(f"{network.name} needs test images: give --data")
    sample = mnist_sample()
    return Dataset("MNIST", sample.images[:count, None], sample.labels[:count])


def in_integers(network: IntNetwork, given: Dataset, steps: Steps) -> Json:
    """Right answers and layers of the integer network, exact and with simulated noise."""
    inputs = inputs_of(network, given)
    return in_the_clear(network, inputs, given.labels, (network.sigmas(), SEED), steps)


def encrypted(network: IntNetwork, given: Dataset, count: int, steps: Steps) -> Json:
    """The first ``count`` images, one per encrypted run, and the program's ``report``."""
    with steps.step(f"compile {network.name}"):
        program = CompiledModel.of_network(network)
    inputs = inputs_of(network, given)[:count]
    found = under_encryption(network, program, inputs, given.labels[:count], steps)
    return {**found, "report": program.facts.to_json()}


def share(correct: int, images: int) -> float:
    """Percent."""
    return 100 * correct / images


def source(given: Dataset) -> str:
    """A note on the images."""
    words = f"{given.name}: {len(given.labels)} test images"
    return f"{words}; {given.note}" if given.note else words
