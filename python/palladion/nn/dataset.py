"""Inputs and labels: a folder of MNIST's or CIFAR-10's files, or arrays of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError
from palladion.nn import cifar10, mnist

Array = npt.NDArray[Any]

TEST_IMAGES = 10_000
TRAIN_IMAGES = 50_000  # of CIFAR-10


@dataclass(frozen=True)
class Dataset:
    """Inputs and labels.

    ``pictures`` are of shape (images, channels, rows, columns) with pixels of 0 to 255. Otherwise
    ``images`` are arrays as a model takes them.
    """

    name: str
    images: Array
    labels: Array
    note: str | None = None
    """What is missing or other than the official set, if anything."""
    pictures: bool = True


def read(path: Path, part: Literal["train", "test"], count: int | None = None) -> Dataset:
    """The first ``count`` inputs of a folder, as :func:`load`, or of an ``.npz`` file.

    Such a file holds inputs ``x`` and labels ``y``.

    Raises
    ------
    DataError
        If something is missing, or is not what it should be.
    """
    if path.is_dir():
        return load(path, part, count)
    if path.suffix.lower() != ".npz":
        raise DataError(f"{path} is no folder of MNIST's or CIFAR-10's files and no .npz file with "
                        "inputs x and labels y")  # fmt: skip
    x, y = read_array(path, "x"), read_array(path, "y")
    labels = y.reshape(len(y)) if y.ndim == 2 and y.shape[1] == 1 else y
    if labels.shape != x.shape[:1] or not len(x):
        raise DataError(f"{path} holds x of shape {x.shape} and y of shape {y.shape}, expected one "
                        "label for each input")  # fmt: skip
    if labels.dtype.kind == "f":
        if not np.array_equal(labels, np.rint(labels)):
            raise DataError(f"{path}: the labels y are real numbers, expected classes; "
                            "Model.evaluate of the library compares real numbers")  # fmt: skip
        labels = labels.astype(np.int64)
    return Dataset(path.name, x[:count], labels[:count], pictures=False)


def read_array(path: Path, name: str = "x") -> Array:
    """Numbers, or words, in an ``.npy`` file, or under ``name`` in an ``.npz`` file.

    Raises
    ------
    DataError
        If there is no such array.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.lib.npyio.NpzFile):
            with found:
                if name not in found.files:
                    held = ", ".join(found.files) or "nothing"
                    raise DataError(f"{path} holds {held}, expected an array named {name}")
                found = found[name]
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiubU" or not found.ndim:
        raise DataError(f"{path} holds no array of numbers, expected an .npy or .npz file")
    return found


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
