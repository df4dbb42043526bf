"""``scripts/train_mnist.py``, by which the packaged network and ``mnist_w7a7.json`` were made."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import palladion
import pytest
from palladion.nn.integers.network import IntNetwork


@pytest.mark.long
def test_the_script_of_the_mnist_network(tmp_path: Path) -> None:
    """It makes the packaged network's shapes from the packaged weights, and reports."""
    files = tmp_path / "data"
    files.mkdir()
    sample = palladion.mnist_sample()
    for name, times in (("train", 2), ("t10k", 1)):  # a batch is 128 images
        images, labels = (np.concatenate([a] * times) for a in (sample.images, sample.labels))
        idx(files / f"{name}-images-idx3-ubyte.gz", images)
        idx(files / f"{name}-labels-idx1-ubyte.gz", labels.astype(np.uint8))
    script = Path(__file__).parents[1] / "scripts" / "train_mnist.py"
    start = Path(palladion.__file__).parent / "data" / "mnist_float.npz"
    result = subprocess.run(
        [
            *(sys.executable, script, "--data", files, "--output", tmp_path / "models"),
            *("--start", start, "--fine-epochs", "1"),
        ],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "of 100 test images" in result.stdout
    network = IntNetwork.load(tmp_path / "models" / "mnist_w7a7.json")
    packaged = palladion.mnist_network()
    assert network.input == packaged.input
    assert network.boundary.interface.takes == packaged.boundary.interface.takes
    assert [len(layer.bias) for layer in network.layers] == [4, 64, 10]


def idx(path: Path, values: npt.NDArray[np.uint8]) -> None:
    """Write a file as MNIST's are."""
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    with gzip.open(path, "wb") as file:
        file.write(bytes([0, 0, 8, values.ndim]) + sizes + values.tobytes())
