"""Post-training quantisation of a model for the images of a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from palladion.errors import DataError
from palladion.nn import cifar10, dataset
from palladion.nn.graph import Array, Graph
from palladion.nn.interface import Pixels
from palladion.nn.network import IntNetwork
from palladion.nn.quantisation import Quantised, Settings, quantise


@dataclass(frozen=True)
class Normalisation:
    """``(pixel / 255 - mean) / std``, one number per channel or one for all."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def over(self, channels: int) -> tuple[list[float], list[float]]:
        """Mean and deviation of each channel."""
        return self._spread(self.mean, channels), self._spread(self.std, channels)

    @staticmethod
    def _spread(given: tuple[float, ...], channels: int) -> list[float]:
        if len(given) not in (1, channels):
            raise DataError(f"{len(given)} numbers for {channels} channels, expected one for each")
        return [*given] if len(given) == channels else [*given] * channels


def calibrated(
    graph: Graph, data: Path, count: int, normalisation: Normalisation, settings: Settings
) -> Quantised:
    """Quantise a model, calibrated on ``count`` real inputs.

    ``data`` is a folder of MNIST's or CIFAR-10's files, whose training images are used, or an
    ``.npy`` file of inputs.

    Raises
    ------
    DataError
        If the data cannot be read or do not fit the model.
    """
    found = quantise(graph, inputs(data, count, graph, normalisation), settings)
    if data.is_dir():
        mean, std = normalisation.over(graph.input.shape[0])
        pixels = Pixels(tuple(mean), tuple(std))
        found = replace(found, network=of_pictures(found.network, pixels))
    return found


def of_pictures(network: IntNetwork, pixels: Pixels) -> IntNetwork:
    """The network, told what pictures are to its model."""
    ends = network.boundary.interface
    interface = replace(ends, takes=replace(ends.takes, pixels=pixels))
    return replace(network, interface=interface)


def inputs(data: Path, count: int, graph: Graph, normalisation: Normalisation) -> Array:
    """Calibration inputs of shape (N, C, H, W)."""
    if not data.is_dir():
        return graph.arranged(read_array(data)[:count])
    images = dataset.load(data, "train", count).images
    if graph.input.shape == (images[0].size, 1, 1):
        images = images.reshape(len(images), -1, 1, 1)
    return cifar10.normalise(images, *normalisation.over(images.shape[1]))


def read_array(path: Path, name: str = "x") -> Array:
    """Numbers in an ``.npy`` file, or under ``name`` in an ``.npz`` file."""
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.lib.npyio.NpzFile):
            with found:
                found = found[name]
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise DataError(f"{path} holds no array of numbers, expected an .npy file")
    return found

