"""Write the sample of MNIST in the package: the first 100 test images, without selection.

python scripts/make_sample.py --data DIR
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from palladion.nn.datasets import mnist

COUNT = 100
TARGET = Path(__file__).parent.parent / "python/palladion/data/mnist_sample.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's IDX files")
    images, labels = mnist.load(parser.parse_args().data, "test")
    np.savez_compressed(TARGET, allow_pickle=False, images=images[:COUNT], labels=labels[:COUNT])


if __name__ == "__main__":
    main()
