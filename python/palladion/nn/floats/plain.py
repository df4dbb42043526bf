"""The plain network: the same layers in floating point, as trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PlainNetwork:
    """Convolution, dense, dense, with ReLU between, on images of 28x28 with values in 0 to 1."""

    conv: Floats  # (kernels, rows, columns), stride 3
    conv_bias: Floats
    hidden: Floats  # (64, 256)
    hidden_bias: Floats
    last: Floats  # (10, 64)
    last_bias: Floats

    STRIDE = 3

    def preactivations(self, images: npt.NDArray[Any]) -> list[Floats]:
        """The accumulators of each layer before its ReLU, for pixels of 0 to 255."""
        x = images.reshape(-1, 28, 28).astype(np.float32) / 255
        windows = np.lib.stride_tricks.sliding_window_view(x, self.conv.shape[1:], axis=(1, 2))
        windows = windows[:, :: self.STRIDE, :: self.STRIDE]
        first = np.einsum("nyxij,kij->nkyx", windows, self.conv, optimize=True)
        first = first.reshape(len(x), len(self.conv), -1) + self.conv_bias[:, None]
        first = first.reshape(len(x), -1)
        second = np.maximum(first, 0) @ self.hidden.T + self.hidden_bias
        third = np.maximum(second, 0) @ self.last.T + self.last_bias
        return [first, second, third]

    def predict(self, images: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Class of each image, for pixels of 0 to 255."""
        classes: npt.NDArray[np.int64] = self.preactivations(images)[-1].argmax(axis=1)
        return classes

    @classmethod
    def load(cls, path: Path) -> PlainNetwork:
        """Read the network from an ``.npz`` file.

        Raises
        ------
        NetworkError
            If the file cannot be read, or holds other arrays.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(**{name: arrays[name].astype(np.float32) for name in arrays.files})
        except (OSError, ValueError, TypeError, BadZipFile) as error:
            raise NetworkError(f"cannot read the plain network {path}: {error}") from error

    def save(self, path: Path) -> None:
        """Write a file for :meth:`load`."""
        np.savez_compressed(path, allow_pickle=False, **vars(self))
