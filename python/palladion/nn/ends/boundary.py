"""Conversion between a model's arrays and a network's integers, by a client before and after a
run."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palladion.errors import InputWarning, NetworkError
from palladion.nn.datasets.tabular import check_columns, columns_of
from palladion.nn.ends.interface import Clipped, Gives, Interface, Takes, array_of
from palladion.nn.integers.linear_maps import Ints
from palladion.support.records import Json
from palladion.support.text import times

if TYPE_CHECKING:
    from palladion._native import Terms


@dataclass(frozen=True)
class Input:
    """Shape and range of the input, and the meaning of its integers.

    A number ``x`` of channel ``c``, in the model's unit, is normalised to ``(x - mean[c]) /
    std[c]``. The integer is the normalised number divided by ``scale``, rounded (halves to even)
    and clamped to ``min..max``. Without ``mean`` and ``std``, these are 0 and 1.
    """

    shape: tuple[int, int, int]
    min: int
    max: int
    scale: float
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @property
    def values(self) -> int:
        """Number of values in one input."""
        channels, height, width = self.shape
        return channels * height * width

    def integers(self, numbers: npt.NDArray[Any], *, single: bool = False) -> tuple[Ints, Clipped]:
        """Finite numbers of shape (N, values), in order channel, row, column, as integers.

        ``single`` rounds quotients of single precision, like a model that rounds its own input.
        Also returns the record of the numbers that were clipped.
        """
        plane = self.values // self.shape[0]
        mean, std = (np.repeat(np.array(part), plane) for part in self.normalisation())
        real = (numbers.astype(np.float64) - mean) / std / self.scale
        rounded = np.rint(real.astype(np.float32) if single else real).astype(np.float64)
        found: Ints = np.clip(rounded, self.min, self.max).astype(np.int64)
        beyond = np.abs(rounded - found)
        count = int(np.count_nonzero(beyond))
        if not count:
            return found, Clipped(0, found.size)
        row, at = np.unravel_index(int(beyond.argmax()), beyond.shape)
        ends = sorted(float(mean[at] + std[at] * self.scale * end) for end in (self.min, self.max))
        return found, Clipped(count, found.size, float(numbers[row, at]), (ends[0], ends[1]))

    def normalisation(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and deviation of every channel."""
        channels = self.shape[0]
        return self.mean or (0.0,) * channels, self.std or (1.0,) * channels

    def to_data(self) -> Json:
        """The data in JSON form."""
        return {
            "shape": list(self.shape),
            "min": self.min,
            "max": self.max,
            "scale": self.scale,
            "mean": list(self.mean),
            "std": list(self.std),
        }

    @classmethod
    def from_data(cls, data: Json) -> Input:
        """Read the result of :meth:`to_data`. The core has checked it."""
        channels, rows, columns = data["shape"]
        mean, std = tuple(data.get("mean", ())), tuple(data.get("std", ()))
        shape = (channels, rows, columns)
        return cls(shape, data["min"], data["max"], data["scale"], mean, std)


@dataclass(frozen=True)
class Boundary:
    """Converts the model's arrays to integers, and integers to the model's outputs."""

    input: Input
    interface: Interface

    @classmethod
    def of_terms(cls, terms: Terms) -> Boundary:
        """The boundary of the network from which a program was compiled.

        Raises
        ------
        NetworkError
            If the terms do not describe it, or not in a readable way.
        """
        facts, text = terms.facts(), terms.interface()
        if text is None:
            raise NetworkError(f"the program of {facts['network']} does not say what its inputs "
                               "mean: compile the network again")  # fmt: skip
        return cls.of_description(json.loads(text), facts["classes"])

    @classmethod
    def of_description(cls, data: Json, classes: int) -> Boundary:
        """The boundary that ``input`` and ``interface`` describe, for a number of logits.

        Raises
        ------
        NetworkError
            If they are not readable.
        """
        found = Input.from_data(data["input"])
        if (interface := data.get("interface")) is None:
            takes = Takes("input", found.shape)
            return cls(found, Interface(takes, Gives((classes,), (1.0,))))
        return cls(found, Interface.from_data(interface, found.values, classes))

    def inputs(self, x: npt.ArrayLike) -> Ints:
        """Arrays of the model, of shape (N, ...), as rows of the input's integers.

        Issues an :class:`~palladion.errors.InputWarning` for numbers beyond the calibrated range,
        which are clipped.

        Raises
        ------
        NetworkError
            If they have another shape or type, or are not finite. Also if they are bytes, and so
            perhaps pixels, but the model takes pictures in another unit.
        """
        given, takes = array_of(x), self.interface.takes
        check_columns(columns_of(x), takes.columns, "inputs")
        if given.dtype == np.uint8 and takes.pixels is not None and not takes.pixels.plain:
            raise NetworkError(
                "inputs of bytes, as pixels are: this model takes (p / 255 - mean) / std of a "
                f"pixel p, with mean {shown(takes.pixels.mean)} and std "
                f"{shown(takes.pixels.std)}; give these numbers as floating point, or files of "
                "pictures"
            )
        return self._integers(takes.arranged(given))

    def inputs_of_pixels(self, pixels: npt.NDArray[np.uint8]) -> Ints:
        """Pictures with pixels of 0 to 255 as rows of the input's integers.

        Their shape is (N, channels, rows, columns), or any other with the values in that order.

        Raises
        ------
        NetworkError
            If they have another size, or if the meaning of pixels for the model is not known.
        """
        takes, shape = self.interface.takes, self.input.shape
        if takes.pixels is None:
            raise NetworkError(
                "the network was quantised on arrays, so that it is not known what pixels are to "
                "it: give arrays as the model takes them, or quantise with --mean and --std"
            )
        if pixels.dtype != np.uint8 or not len(pixels) or pixels[0].size != self.input.values:
            raise NetworkError(f"pictures of shape {times(pixels.shape)} and type {pixels.dtype}, "
                               f"expected {times(('N', *shape))} of bytes")  # fmt: skip
        found = takes.pixels.values(pixels.reshape(-1, *shape))
        return self._integers(found.reshape(len(found), -1))

    def _integers(self, numbers: npt.NDArray[Any]) -> Ints:
        own_grid = self.interface.takes.own_grid
        found, clipped = self.input.integers(numbers, single=own_grid)
        if clipped.count and not own_grid:
            warnings.warn(str(clipped), InputWarning, stacklevel=4)
        return found

    def outputs(self, logits: Ints) -> dict[str, npt.NDArray[Any]]:
        """The network's integers (N, values) as the model's outputs, by name and in its units.

        Raises
        ------
        NetworkError
            If the functions at the end of the model cannot be computed.
        """
        gives = self.interface.gives
        return gives.outputs(gives.real(logits))

    def classes(self, logits: Ints) -> npt.NDArray[Any] | None:
        """The class of each input: see :meth:`~palladion.nn.ends.interface.Interface.classes`."""
        return self.interface.classes(self.outputs(logits))


def shown(numbers: Sequence[float]) -> str:
    """Numbers of channels in a few words."""
    return ", ".join(f"{number:.4g}" for number in dict.fromkeys(numbers))
