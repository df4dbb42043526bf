"""IDX files."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
from palladion import DataError
from palladion.nn.datasets import dataset, mnist


def write(folder: Path, images: bytes, labels: bytes, *, packed: bool = True) -> None:
    for name, data in (("images-idx3", images), ("labels-idx1", labels)):
        path = folder / f"t10k-{name}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(data) if packed else data)


def idx(*shape: int) -> bytes:
    header = struct.pack(f">{1 + len(shape)}I", 0x800 + len(shape), *shape)
    return header + bytes(i % 256 for i in range(int(np.prod(shape))))


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_read_packed_or_not(tmp_path: Path, packed: bool) -> None:
    write(tmp_path, idx(2, 28, 28), idx(2), packed=packed)
    images, labels = mnist.load(tmp_path, "test")
    assert images.shape == (2, 28, 28)
    assert images[1, 0, 0] == 784 % 256
    assert labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (b"", idx(2), "no IDX file"),
        (idx(2, 28, 28)[:-1], idx(2), "1567 bytes, expected 1568"),
        (idx(2, 28, 28), idx(3), "3 labels"),
        (idx(2, 27, 28), idx(2), "28x28"),
        (idx(2), idx(2), "3 dimensions"),
    ],
    ids=["empty", "cut", "more labels", "another size", "labels for images"],
)
def test_wrong_files_are_refused(tmp_path: Path, images: bytes, labels: bytes, words: str) -> None:
    write(tmp_path, images, labels)
    with pytest.raises(DataError, match=words):
        mnist.load(tmp_path, "test")


def test_missing_and_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--data"):
        mnist.load(tmp_path, "test")
    write(tmp_path, idx(2, 28, 28), idx(2))
    path = tmp_path / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match="cannot read"):
        mnist.load(tmp_path, "test")


def test_other_sets_under_mnists_names_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, idx(2, 28, 28), idx(2))
    note = dataset.load(tmp_path, "test").note
    assert note == "the files hold 2 images that are not MNIST's test set"
    for name, data in (("images-idx3", idx(2, 28, 28)), ("labels-idx1", idx(2))):
        monkeypatch.setitem(mnist.SHA256, f"t10k-{name}-ubyte", hashlib.sha256(data).hexdigest())
    assert dataset.load(tmp_path, "test").note is None
