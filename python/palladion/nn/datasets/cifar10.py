"""CIFAR-10 in its binary files, compressed with xz or not."""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError

Bytes = npt.NDArray[np.uint8]

SHAPE: Final = (3, 32, 32)
RECORD: Final = 1 + 3 * 32 * 32

FOLDER: Final = "cifar-10-batches-bin"
ARCHIVE: Final = (
    "cifar-10-binary.tar.gz",
    170_052_171,
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
"""Name, size and SHA-256 of the official archive, as several public loaders list them. Its files
are in ``FOLDER``. The authors' page gives its MD5, c32a1d4ab5d03f1284b67883e8d87530."""

MIRRORS: Final = (
    "https://www.cs.toronto.edu/~kriz/",
    "https://cave.cs.toronto.edu/kriz/",
    "https://mindspore-website.obs.cn-north-4.myhuaweicloud.com/notebook/datasets/",
)

SHA1: Final = {
    "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c",
}
"""The MD5 sums of the official files, as MXNet Gluon's loader lists them."""

FIRST_TEST_SHA256: Final = "c1e4c448acaf4a59981340c789f98d365e7030540d16597de1668f8c0bcc9e9b"
"""SHA-256 of the compressed ``test_batch_first1000.bin.xz``: the first 1,000 test records."""


def load(folder: Path, part: Literal["train", "test"], batches: int = 5) -> tuple[Bytes, Bytes]:
    """Images of shape (images, 3, 32, 32), red, green, blue, and their labels.

    ``batches`` limits how many of the five training files are read. If the whole test set is
    missing, its first 1,000 images are taken from ``test_batch_first1000.bin.xz``.

    Raises
    ------
    DataError
        If a file is missing or its content does not match its name.
    """
    if part == "train":
        records = [_read(folder, f"data_batch_{i}.bin") for i in range(1, batches + 1)]
        return _split(np.concatenate(records))
    first = folder / "test_batch_first1000.bin.xz"
    whole = folder / "test_batch.bin"
    if first.exists() and not whole.exists() and not whole.with_suffix(".bin.xz").exists():
        return _split(_unpack(first, "sha256", FIRST_TEST_SHA256))
    return _split(_read(folder, "test_batch.bin"))


def normalise(images: Bytes, mean: list[float], std: list[float]) -> npt.NDArray[np.float32]:
    """``(pixel / 255 - mean) / std`` per channel: the inputs of networks."""
    shape = (1, len(mean), 1, 1)
    scaled = images.astype(np.float32) / 255
    less = scaled - np.array(mean).reshape(shape)
    found: npt.NDArray[np.float32] = (less / np.array(std).reshape(shape)).astype(np.float32)
    return found


def _read(folder: Path, name: str) -> Bytes:
    plain, packed = folder / name, folder / f"{name}.xz"
    if not plain.exists() and not packed.exists():
        raise DataError(f"{folder} has no {name} and no {name}.xz: --data takes the folder of "
                        "CIFAR-10's binary files")  # fmt: skip
    return _unpack(plain if plain.exists() else packed, "sha1", SHA1[name])


def _unpack(path: Path, algorithm: str, expected: str) -> Bytes:
    """Records of one file. The sum for sha256 is of the compressed file, otherwise of its
    content."""
    try:
        given = path.read_bytes()
        data = lzma.decompress(given) if path.suffix == ".xz" else given
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    found = hashlib.new(algorithm, given if algorithm == "sha256" else data).hexdigest()
    if found != expected:
        raise DataError(f"{path} has {algorithm} {found}, expected {expected}")
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, RECORD)


def _split(records: Bytes) -> tuple[Bytes, Bytes]:
    return records[:, 1:].reshape(-1, *SHAPE), records[:, 0]
