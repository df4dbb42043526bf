"""Reading the inputs of a network from the user's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from palladion.errors import DataError, NetworkError
from palladion.nn.datasets.dataset import read_array
from palladion.nn.ends.boundary import Boundary
from palladion.nn.integers.linear_maps import Ints

ARRAYS = {".npy", ".npz"}


def load_inputs(boundary: Boundary, paths: tuple[Path, ...], *, digits: bool) -> Ints:
    """Integers of shape (N, values) from pictures, ``.npy`` and ``.npz`` files, in their order.

    With ``digits``, pictures are prepared as MNIST's were.

    Raises
    ------
    ImageError, DataError
        If a file cannot be read, or does not fit the network.
    """
    parts = []
    for path in paths:
        if path.suffix.lower() in ARRAYS:
            parts.append(of_array(boundary, path))
        else:
            from palladion.support.image import load_digit, load_picture  # needs Pillow

            shape = boundary.input.shape
            picture = load_digit(path) if digits else load_picture(path, shape)
            parts.append(boundary.inputs_of_pixels(picture[None]))
    return np.concatenate(parts)


def of_array(boundary: Boundary, path: Path) -> Ints:
    """Integers for one array or N arrays of the model's inputs."""
    found = read_array(path)
    pixels = boundary.interface.takes.pixels
    if found.dtype == np.uint8 and pixels is not None and not pixels.plain:
        raise DataError(f"{path} holds bytes, and this model takes numbers made of pixels by a "
                        "mean and a deviation: give the pictures themselves as PNG or JPEG files, "
                        "or the numbers as floating point")  # fmt: skip
    single = found.shape == boundary.interface.takes.shape
    try:
        return boundary.inputs(found[None] if single else found)
    except NetworkError as error:
        raise DataError(f"{path}: {error}") from error
