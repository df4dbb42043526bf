"""MNIST in its IDX files, gzipped or not."""

from __future__ import annotations

import gzip
import hashlib
import math
import struct
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError

Bytes = npt.NDArray[np.uint8]

MIRRORS: Final = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
)

ARCHIVES: Final = {
    "train-images-idx3-ubyte.gz": (
        9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "train-labels-idx1-ubyte.gz": (
        28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "t10k-images-idx3-ubyte.gz": (
        1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "t10k-labels-idx1-ubyte.gz": (
        4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
}
"""Sizes and SHA-256 of the official files, as several public loaders list them."""

SHA256: Final = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""SHA-256 of their unpacked content, so that other compressions of it are accepted."""

_PREFIX = {"train": "train", "test": "t10k"}


def load(folder: Path, part: Literal["train", "test"]) -> tuple[Bytes, Bytes]:
    """Images of shape (images, 28, 28) and labels of one part of MNIST.

    Raises
    ------
    DataError
        If a file is missing or its content does not match its name.
    """
    images = _read(folder, f"{_PREFIX[part]}-images-idx3-ubyte", magic=0x803)
    labels = _read(folder, f"{_PREFIX[part]}-labels-idx1-ubyte", magic=0x801)
    if len(images) != len(labels) or images.shape[1:] != (28, 28):
        found = f"images of shape {images.shape} and {len(labels)} labels"
        raise DataError(f"{folder}: {found}, expected 28x28 and a label each")
    return images, labels


def official(part: Literal["train", "test"], images: Bytes, labels: Bytes) -> bool:
    """True if these are MNIST's own data: other sets have files of the same names."""
    given = {f"{_PREFIX[part]}-images-idx3-ubyte": images,
             f"{_PREFIX[part]}-labels-idx1-ubyte": labels}  # fmt: skip
    for name, values in given.items():
        header = struct.pack(f">{1 + values.ndim}I", 0x800 + values.ndim, *values.shape)
        if hashlib.sha256(header + values.tobytes()).hexdigest() != SHA256[name]:
            return False
    return True


def _read(folder: Path, name: str, magic: int) -> Bytes:
    packed, plain = folder / f"{name}.gz", folder / name
    if not packed.exists() and not plain.exists():
        raise DataError(f"{folder} has no {name}.gz: --data takes the folder of MNIST's files")
    try:
        data = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {name} in {folder}: {error}") from error
    dimensions = magic & 0xFF
    start = 4 + 4 * dimensions
    if len(data) < start or int.from_bytes(data[:4], "big") != magic:
        raise DataError(f"{name} in {folder} is no IDX file of {dimensions} dimensions")
    shape = struct.unpack(f">{dimensions}I", data[4:start])
    body = np.frombuffer(data, dtype=np.uint8, offset=start)
    if body.size != math.prod(shape):
        found = f"{body.size} bytes, expected {math.prod(shape)}"
        raise DataError(f"{name} in {folder} has {found}")
    return body.reshape(shape)
