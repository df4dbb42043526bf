"""Inputs and labels: a folder of MNIST's or CIFAR-10's files, or the user's arrays."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal
from zipfile import BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError
from palladion.nn.datasets import cifar10, mnist
from palladion.nn.datasets.labels import per_input
from palladion.support.files import STARTS, kind
from palladion.support.text import times

Array = npt.NDArray[Any]

TEST_IMAGES = 10_000
TRAIN_IMAGES = 50_000  # of CIFAR-10


@dataclass(frozen=True)
class Dataset:
    """Inputs and labels.

    ``pictures`` have shape (images, channels, rows, columns), with pixels of 0 to 255. Otherwise
    ``images`` are arrays of a model.
    """

    name: str
    images: Array
    labels: Array
    note: str | None = None
    """The parts of the official set that are missing or different, if any."""
    pictures: bool = True


def read(path: Path, part: Literal["train", "test"], count: int | None = None) -> Dataset:
    """The first ``count`` inputs of a folder, as :func:`load`, or of an ``.npz`` file.

    The file holds inputs ``x`` and labels ``y``.

    Raises
    ------
    DataError
        If something is missing or has wrong content.
    """
    if path.is_dir():
        return load(path, part, count)
    x, y = read_array(path, "x"), read_array(path, "y")
    try:
        labels = per_input(y, len(x))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if labels.ndim > 1:
        raise DataError(f"{path}: labels y of shape {times(y.shape)}, expected one class for each "
                        f"of {len(x)} inputs")  # fmt: skip
    if labels.dtype.kind == "f":
        if not np.array_equal(labels, np.rint(labels)):
            raise DataError(f"{path}: the labels y are real numbers, expected classes; "
                            "Model.evaluate of the library compares real numbers")  # fmt: skip
        labels = labels.astype(np.int64)
    return Dataset(path.name, x[:count], labels[:count], pictures=False)


def read_array(path: Path, name: str = "x") -> Array:
    """An array of numbers or words from an ``.npy`` file, which holds inputs, or the array ``name``
    of an ``.npz`` file, where inputs are ``x`` and labels ``y``.

    Raises
    ------
    DataError
        If there is no such array. The message lists the arrays that exist.
    """
    found, held = held_in(path, name)
    if found is not None:
        return found
    if held is None:
        raise DataError(f"{path} is an .npy file and holds one array, the inputs; expected an .npz "
                        f"file with labels beside them: {SAVE}")  # fmt: skip
    raise DataError(f"{path} holds {', '.join(held) or 'no array'}, expected inputs named x, and "
                    f"labels named y to compare with: {SAVE}")  # fmt: skip


def labels_beside(path: Path) -> Array | None:
    """The labels ``y`` of an ``.npz`` file, if it has any. Raises as :func:`read_array`."""
    return held_in(path, "y")[0]


def held_in(path: Path, name: str) -> tuple[Array | None, list[str] | None]:
    """The array called ``name``, if the file has it, and the names in an ``.npz`` file."""
    names = None
    try:
        with path.open("rb") as file:
            refuse_large(path, file)
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.lib.npyio.NpzFile):
                names = found.files
                found = found[name] if name in names else None
            elif name != "x":
                found = None
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist, expected {EXPECTED}") from error
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise DataError(unreadable(path, error)) from error
    if found is None:
        return None, names
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiubU" or not found.ndim:
        words = f"an array of type {found.dtype} and shape {times(found.shape)}"
        raise DataError(f"{path} holds {words}, expected real numbers of shape (N, ...)")
    return found, names


def refuse_large(path: Path, file: BinaryIO) -> None:
    """Refuse files that are no regular ones or too large, also when an ``.npz`` file is unpacked.

    An archive of some hundred kilobytes can hold gigabytes of zeros.

    Raises
    ------
    DataError
        If the file is refused. For a large file the message has its size and the largest size.
    """
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"cannot read {path}: it is no regular file")
    held, what = found.st_size, "it has"
    if file.read(2) == b"PK":
        with ZipFile(file) as archive:
            held, what = sum(entry.file_size for entry in archive.infolist()), "its arrays have"
    file.seek(0)
    if held > LARGEST_ARRAYS:
        raise DataError(f"cannot read {path}: {what} {held} bytes, expected at most "
                        f"{LARGEST_ARRAYS}: give fewer inputs at a time")  # fmt: skip


LARGEST_ARRAYS: Final = 8_000_000_000
"""Most bytes of arrays that are read, after they are unpacked: the size of 10 million digits."""
SAVE: Final = "np.savez('data.npz', x=inputs, y=labels) makes one"
EXPECTED: Final = "an .npy file of inputs, or an .npz file of inputs x and labels y"


def unreadable(path: Path, error: Exception) -> str:
    """The reason why a file holds no arrays."""
    if "Object arrays" in str(error):
        return (f"{path} holds Python objects, expected real numbers: save x.astype('float32') of "
                "its columns of numbers")  # fmt: skip
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as problem:
        return f"cannot read {path}: {problem.strerror}"
    found = kind(start)
    if found is None or found in (STARTS[b"\x93NUMPY"], STARTS[b"PK"]):
        reason = "" if "pickle" in str(error) else f" ({error})"
        return f"{path} is damaged{reason}, or is not {EXPECTED}: {SAVE}"
    way_out = "np.save('x.npy', np.loadtxt(..)) makes one of a table; " if found == "text" else ""
    return f"{path} is {found}, expected {EXPECTED}; {way_out}{SAVE}"


def load(folder: Path, part: Literal["train", "test"], count: int | None = None) -> Dataset:
    """The first ``count`` images of one part of the set that the folder has.

    Raises
    ------
    DataError
        If a file is missing or its content does not match its name.
    """
    if not any(folder.glob("*-ubyte*")) and not any(folder.glob("*_batch*.bin*")):
        raise DataError(f"{folder} holds neither MNIST's files nor CIFAR-10's, which `palladion "
                        f"download` fetches; give data of your own as {EXPECTED}")  # fmt: skip
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
