"""Post-training quantisation of a model for the images of a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from palladion.errors import DataError, NetworkError, UsageError
from palladion.nn.datasets import dataset
from palladion.nn.ends.interface import Pixels, Takes
from palladion.nn.floats.graph import Array, Graph
from palladion.nn.integers.network import IntNetwork
from palladion.nn.quantisation import Quantised, Settings, quantise
from palladion.support.text import times


@dataclass(frozen=True)
class Normalisation:
    """``(pixel / 255 - mean) / std``, one number per channel or one for all."""

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if not np.isfinite((*self.mean, *self.std)).all() or min(self.std) <= 0:
            raise UsageError(f"mean {self.mean} and std {self.std} of pixels, expected finite "
                             "numbers, std above 0")  # fmt: skip

    def over(self, channels: int) -> tuple[list[float], list[float]]:
        """Mean and deviation of each channel."""
        return self._spread(self.mean, channels), self._spread(self.std, channels)

    @staticmethod
    def _spread(given: tuple[float, ...], channels: int) -> list[float]:
        if len(given) not in (1, channels):
            raise UsageError(f"{len(given)} numbers for {channels} channels of pixels, expected "
                             "one for all or one for each")  # fmt: skip
        return [*given] if len(given) == channels else [*given] * channels


def calibrated(
    graph: Graph,
    data: Path | None,
    count: int,
    normalisation: Normalisation | None,
    settings: Settings,
) -> Quantised:
    """Quantise a model, calibrated on ``count`` real inputs.

    ``data`` is a folder of MNIST's or CIFAR-10's files, whose training images are used, or an
    ``.npy`` or ``.npz`` file of inputs. A model with its own grids needs no data. The normalisation
    describes the number that the model gets for a pixel. It is not applied to arrays. Without a
    normalisation, the pixels of a folder are divided by 255.

    Raises
    ------
    DataError
        If the data cannot be read or do not fit the model.
    """
    if normalisation is None and data is not None and data.is_dir():
        normalisation = Normalisation()
    if normalisation is not None:
        check_pictures(graph.ends.takes)
    pixels = None if normalisation is None else pixels_of(graph.input.shape, normalisation)
    x = None if data is None else inputs(data, count, graph, pixels)
    found = quantise(graph, x, settings)
    if normalisation is None:
        return found
    return replace(found, network=of_pictures(found.network, normalisation))


def pixels_of(shape: tuple[int, ...], normalisation: Normalisation) -> Pixels:
    """The meaning of pixels for a model with inputs of shape (channels, rows, columns).

    Raises
    ------
    UsageError
        If the number of values is neither one nor that of the channels.
    """
    channels, *place = shape
    if place == [1, 1] and channels % 3 == 0 and len(normalisation.mean) == 3:
        channels = 3  # a colour picture, flattened
    mean, std = normalisation.over(channels)
    return Pixels(tuple(mean), tuple(std))


def check_pictures(takes: Takes) -> None:
    """Refuse pictures if the client computes the network's inputs from the model's inputs.

    Raises
    ------
    UsageError
        If the client computes the network's inputs.
    """
    if takes.head.model:
        raise UsageError("the model begins with decision trees or an imputer, which take arrays, "
                         "not pictures: give an array of their numbers, without a mean and a "
                         "deviation of pixels")  # fmt: skip


def of_pictures(network: IntNetwork, normalisation: Normalisation) -> IntNetwork:
    """The network with the meaning of pictures for its model. Raises as :func:`pixels_of`."""
    ends = network.boundary.interface
    check_pictures(ends.takes)
    pixels = pixels_of(network.input.shape, normalisation)
    interface = replace(ends, takes=replace(ends.takes, pixels=pixels))
    return replace(network, interface=interface)


def inputs(data: Path, count: int, graph: Graph, pixels: Pixels | None) -> Array:
    """Calibration inputs of the model. Inputs from a folder need ``pixels``."""
    if pixels is None or not data.is_dir():
        found = dataset.read_array(data)[:count]
        try:
            graph.ends.takes.arranged(found)
        except NetworkError as error:
            raise DataError(f"{data}: {error}") from error
        return found
    images = dataset.load(data, "train", count).images
    shape = graph.input.shape
    if images[0].size != np.prod(shape):
        raise DataError(f"{data}: pictures of shape {times(images.shape[1:])}, the model takes "
                        f"{graph.ends.takes.expected}")  # fmt: skip
    values = pixels.values(images)
    return graph.ends.takes.restored(values.reshape(len(images), -1))
