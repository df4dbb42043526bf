"""Post-training quantisation of a model for the images of a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from palladion.errors import DataError
from palladion.nn import dataset
from palladion.nn.graph import Array, Graph
from palladion.nn.interface import Pixels
from palladion.nn.network import IntNetwork
from palladion.nn.quantisation import Quantised, Settings, quantise
from palladion.text import times


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
    graph: Graph, data: Path | None, count: int, normalisation: Normalisation, settings: Settings
) -> Quantised:
    """Quantise a model, calibrated on ``count`` real inputs.

    ``data`` is a folder of MNIST's or CIFAR-10's files, whose training images are used, or an
    ``.npy`` file of inputs. A model with grids of its own needs none.

    Raises
    ------
    DataError
        If the data cannot be read or do not fit the model.
    """
    if data is None:
        return quantise(graph, None, settings)
    found = quantise(graph, inputs(data, count, graph, normalisation), settings)
    if data.is_dir():
        pixels = Pixels(normalisation.mean, normalisation.std)
        found = replace(found, network=of_pictures(found.network, pixels))
    return found


def of_pictures(network: IntNetwork, pixels: Pixels) -> IntNetwork:
    """The network, told what pictures are to its model."""
    ends = network.boundary.interface
    interface = replace(ends, takes=replace(ends.takes, pixels=pixels))
    return replace(network, interface=interface)


def inputs(data: Path, count: int, graph: Graph, normalisation: Normalisation) -> Array:
    """Calibration inputs as the model takes them."""
    if not data.is_dir():
        return dataset.read_array(data)[:count]
    images = dataset.load(data, "train", count).images
    shape = graph.input.shape
    if images[0].size != np.prod(shape):
        raise DataError(f"{data}: pictures of shape {times(images.shape[1:])}, the model takes "
                        f"{graph.ends.takes.expected}")  # fmt: skip
    mean, std = normalisation.over(shape[0] if shape[0] == images.shape[1] else 1)
    pixels = Pixels(tuple(mean), tuple(std)).values(images)
    return graph.ends.takes.restored(pixels.reshape(len(images), -1))
