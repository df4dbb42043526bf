"""CIFAR-10's files: what is read, and what is refused."""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path

import numpy as np
import pytest
from palladion.errors import DataError
from palladion.nn.datasets import cifar10

pytestmark = pytest.mark.long


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small files whose sums stand in place of the official ones."""
    for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"):
        data = rng.integers(0, 256, 10 * cifar10.RECORD, dtype=np.uint8).tobytes()
        monkeypatch.setitem(cifar10.SHA1, name, hashlib.sha1(data).hexdigest())
        packed = name == "data_batch_2.bin"
        path = tmp_path / (f"{name}.xz" if packed else name)
        path.write_bytes(lzma.compress(data) if packed else data)
    return tmp_path


def test_plain_and_packed_files(folder: Path) -> None:
    images, labels = cifar10.load(folder, "train", batches=2)
    assert images.shape == (20, 3, 32, 32)
    record = np.frombuffer((folder / "data_batch_1.bin").read_bytes(), np.uint8)[: cifar10.RECORD]
    assert labels[0] == record[0]
    np.testing.assert_array_equal(images[0, 2, 31], record[-32:])
    assert cifar10.load(folder, "test")[0].shape == (10, 3, 32, 32)


def test_first_test_images(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = folder / "test_batch.bin"
    packed = lzma.compress(whole.read_bytes()[: 3 * cifar10.RECORD])
    whole.unlink()
    (folder / "test_batch_first1000.bin.xz").write_bytes(packed)
    with pytest.raises(DataError, match="sha256"):
        cifar10.load(folder, "test")
    monkeypatch.setattr(cifar10, "FIRST_TEST_SHA256", hashlib.sha256(packed).hexdigest())
    assert cifar10.load(folder, "test")[1].shape == (3,)


def test_refusals(folder: Path) -> None:
    with pytest.raises(DataError, match=r"no data_batch_3\.bin"):
        cifar10.load(folder, "train")
    (folder / "data_batch_1.bin").write_bytes(b"other")
    with pytest.raises(DataError, match="sha1"):
        cifar10.load(folder, "train", batches=1)
    (folder / "data_batch_2.bin.xz").write_bytes(b"no xz")
    with pytest.raises(DataError, match="cannot read"):
        cifar10._read(folder, "data_batch_2.bin")


def test_normalise() -> None:
    images = np.full((1, 3, 1, 1), 255, np.uint8)
    found = cifar10.normalise(images, [0.5, 0.0, 1.0], [0.5, 2.0, 1.0])
    np.testing.assert_allclose(found.ravel(), [1, 0.5, 0])
    assert found.dtype == np.float32
