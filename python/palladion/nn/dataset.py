"""A folder of MNIST's or CIFAR-10's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from palladion.nn import cifar10, mnist
from palladion.nn.cifar10 import Bytes

TEST_IMAGES = 10_000
TRAIN_IMAGES = 50_000  # of CIFAR-10


@dataclass(frozen=True)
class Dataset:
    """Images of shape (images, channels, rows, columns), pixels of 0 to 255, and labels."""

    name: str
    images: Bytes
    labels: Bytes
    note: str | None = None
    """What is missing or other than the official set, if anything."""


def load(folder: Path, part: Literal["train", "test"], count: int | None = None) -> Dataset:
    """The first ``count`` images of one part of whichever set the folder has.

    Raises
    ------
    DataError
        If a file is missing or is not what its name says.
    """
    if not any(folder.glob("*_batch*.bin*")):
        images, labels = mnist.load(folder, part)
        note = None
        if not mnist.official(part, images, labels):
            note = f"the files hold {len(images)} images that are not MNIST's {part} set"
        return Dataset("MNIST", images[:count, None], labels[:count], note)
    batches = -(-min(count or TRAIN_IMAGES, TRAIN_IMAGES) // 10_000)
    images, labels = cifar10.load(folder, part, batches)
    note = None
    if part == "test" and len(images) < TEST_IMAGES:
        note = (
            f"only the first {len(images)} of CIFAR-10's {TEST_IMAGES} test images are there, "
            "the file test_batch.bin is not"
        )
    return Dataset("CIFAR-10", images[:count], labels[:count], note)
