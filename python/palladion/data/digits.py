"""Files in the package: the MNIST network, plain and integer, and sample images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from palladion.nn.ends.boundary import Boundary
from palladion.nn.floats.plain import PlainNetwork
from palladion.nn.integers.network import IntNetwork

_DATA = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """The first images of the MNIST test set: (images, 28, 28) pixels of 0 to 255, and labels."""

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]


def mnist_network() -> IntNetwork:
    """The integer network that ``demo`` runs encrypted: weights of 5 bits, small tables."""
    return IntNetwork.load(_DATA / "mnist.json")


def is_packaged(network: IntNetwork) -> bool:
    """True if a network equals the packaged one, whatever file it was read from."""
    packaged = mnist_network()
    if (network.name, network.input) != (packaged.name, packaged.input):
        return False
    return network.to_json() == packaged.to_json()


def takes_digits(boundary: Boundary) -> bool:
    """True if a boundary takes what the packaged network takes: pictures of digits.

    The units of the outputs do not matter, so this holds for each of the MNIST networks that
    ``scripts/train_mnist.py`` makes.
    """
    digits = mnist_network().boundary
    own = (boundary.input, boundary.interface.takes, boundary.interface.gives.shape)
    return own == (digits.input, digits.interface.takes, digits.interface.gives.shape)


def mnist_plain() -> PlainNetwork:
    """The network in floating point from which the integer network was made."""
    return PlainNetwork.load(_DATA / "mnist_float.npz")


def mnist_sample() -> Sample:
    """The first 100 images of the MNIST test set, without selection."""
    with np.load(_DATA / "mnist_sample.npz", allow_pickle=False) as arrays:
        return Sample(arrays["images"], arrays["labels"])
