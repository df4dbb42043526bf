"""Inputs of any network from the files that a user names."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from palladion.errors import DataError
from palladion.image import load_digit, load_picture
from palladion.nn.calibration import read_array
from palladion.nn.graph import Array
from palladion.nn.network import IntNetwork, Ints
from palladion.packaged import is_packaged


def load_inputs(network: IntNetwork, paths: tuple[Path, ...]) -> Ints:
    """Integers of shape (images, inputs) from pictures and ``.npy`` files, in their order.

    Raises
    ------
    ImageError, DataError
        If a file cannot be read, or does not fit the network.
    """
    digits = is_packaged(network)
    parts = []
    for path in paths:
        if path.suffix == ".npy":
            parts.append(of_array(network, path))
        else:
            picture = load_digit(path) if digits else load_picture(path, network.input.shape)
            parts.append(network.inputs(picture[None]))
    return np.concatenate(parts)


def of_array(network: IntNetwork, path: Path) -> Ints:
    """Integers for one image of shape (C, H, W), or N of them: bytes are pixels, others real."""
    found: Array = read_array(path)
    shape = network.input.shape
    images = found[None] if found.ndim == 3 else found
    if images.shape[1:] != shape or not len(images):
        words = " x ".join(map(str, found.shape))
        expected = " x ".join(map(str, shape))
        raise DataError(f"{path} has shape {words}, expected {expected} or N x {expected}")
    if images.dtype == np.uint8:
        return network.inputs(images)
    return network.input.integers(images.astype(np.float64))
