"""MNIST in its IDX files, gzipped or not."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError

Bytes = npt.NDArray[np.uint8]

_PREFIX = {"train": "train", "test": "t10k"}


def load(folder: Path, part: Literal["train", "test"]) -> tuple[Bytes, Bytes]:
    """Images of shape (images, 28, 28) and labels of one part of MNIST.

    Raises
    ------
    DataError
        If a file is missing or is not what its name says.
    """
    images = _read(folder, f"{_PREFIX[part]}-images-idx3-ubyte", magic=0x803)
    labels = _read(folder, f"{_PREFIX[part]}-labels-idx1-ubyte", magic=0x801)
    if len(images) != len(labels) or images.shape[1:] != (28, 28):
        found = f"images of shape {images.shape} and {len(labels)} labels"
        raise DataError(f"{folder}: {found}, expected 28x28 and a label each")
    return images, labels


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
