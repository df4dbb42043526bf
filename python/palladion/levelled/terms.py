"""The part of a levelled program that a client must know. It has no weight."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion import ckks
from palladion.errors import FormatError, InputWarning, NetworkError, UsageError
from palladion.levelled import storage
from palladion.nn.datasets.tabular import check_columns, columns_of
from palladion.nn.ends.interface import Clipped, Interface, array_of
from palladion.nn.ends.prediction import Prediction
from palladion.support import files
from palladion.support.records import Json

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ROUNDED: Final = 1e-9
"""A value that lies beyond its range by less than this part of the range was rounded, not
clipped."""


@dataclass(frozen=True, eq=False)
class LevelledTerms:
    """Inputs, outputs and parameters of a program."""

    name: str
    interface: Interface
    """The model's inputs and outputs."""
    shape: tuple[int, int, int]
    """Channels, rows and columns of the network's input."""
    mean: Floats
    std: Floats
    """A number ``x`` of channel ``c`` is normalised to ``(x - mean[c]) / std[c]``."""
    low: Floats
    high: Floats
    """The range of each normalised value."""
    used: tuple[int, ...]
    """The values that the network reads: one ciphertext for each."""
    scale: Floats
    """Output ``i`` is ``scale[i]`` times its result."""
    fixed: Floats
    """The results that do not depend on inputs; NaN for every other result."""
    log_n: int
    depth: int
    scale_bits: int
    """log2 of the ring degree, the levels, and the bits of each."""
    batch: int
    """Most inputs of one run."""
    program: str
    """Identity of the program: 32 hexadecimal digits."""

    ARRAYS = ("mean", "std", "low", "high", "scale", "fixed")

    @cached_property
    def params(self) -> ckks.Params:
        """The parameters of CKKS. They have 128 bits of security."""
        return ckks.Params.for_depth(self.log_n, self.depth, self.scale_bits)

    @property
    def slots(self) -> int:
        """Inputs of one ciphertext."""
        return self.params.slots

    @property
    def open_outputs(self) -> list[int]:
        """The outputs that are computed under encryption."""
        return [int(index) for index in np.flatnonzero(np.isnan(self.fixed))]

    def variables(self, x: npt.ArrayLike) -> Floats:
        """Inputs of the model, of shape (N, ...), as numbers between -1 and 1: shape (N, values).

        Issues an :class:`~palladion.errors.InputWarning` for numbers beyond the range of the
        calibration data, which are clipped.

        Raises
        ------
        NetworkError
            If they have another shape or type, or are not finite.
        UsageError
            If they are more than the batch.
        """
        given = array_of(x)
        takes = self.interface.takes
        check_columns(columns_of(x), takes.columns, "inputs")
        numbers = takes.arranged(given).reshape(-1, *self.shape)
        if len(numbers) > self.batch:
            raise UsageError(f"{len(numbers)} inputs, expected at most {self.batch}: encrypt them "
                             "in parts, or compile for a larger batch")  # fmt: skip
        mean, std = self.mean[:, None, None], self.std[:, None, None]
        real = ((numbers - mean) / std).reshape(len(numbers), -1)
        width = self.high - self.low
        clipped = np.clip(real, self.low, self.high)
        beyond = np.abs(real - clipped)
        outside = beyond > ROUNDED * width
        if count := int(np.count_nonzero(outside)):
            row, at = np.unravel_index(int(beyond.argmax()), beyond.shape)
            channel = at // (self.shape[1] * self.shape[2])
            ends = [float(self.mean[channel] + self.std[channel] * end[at])
                    for end in (self.low, self.high)]  # fmt: skip
            farthest = float(numbers.reshape(len(numbers), -1)[row, at])
            clipping = Clipped(count, outside.size, farthest, (min(ends), max(ends)))
            warnings.warn(str(clipping), InputWarning, stacklevel=3)
        half = np.where(width > 0, width / 2, 1.0)
        variables: Floats = (clipped - (self.low + self.high) / 2) / half
        return variables

    def prediction(self, values: Floats) -> Prediction:
        """The model's outputs, from the network's outputs of shape (N, outputs)."""
        ends = self.interface
        outputs = ends.gives.outputs(ends.gives.ordered(values.astype(np.float32)))
        return Prediction.of_outputs(ends, outputs)

    def facts(self) -> Json:
        """The facts that are no arrays, in JSON form."""
        return {
            "name": self.name, "interface": self.interface.to_data(), "shape": list(self.shape),
            "used": list(self.used), "log_n": self.log_n, "depth": self.depth,
            "scale_bits": self.scale_bits, "batch": self.batch, "program": self.program,
        }  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """The arrays, by name."""
        return {name: getattr(self, name) for name in self.ARRAYS}

    @classmethod
    def of(cls, facts: Json, arrays: Mapping[str, Array]) -> LevelledTerms:
        """Read the results of :meth:`facts` and :meth:`arrays`.

        Raises
        ------
        FormatError
            If they do not fit together.
        """
        try:
            channels, rows, columns = map(int, facts["shape"])
            shape = (channels, rows, columns)
            own = {name: np.asarray(arrays[name], dtype=np.float64) for name in cls.ARRAYS}
            values, outputs = channels * rows * columns, len(own["scale"])
            lengths = {"mean": channels, "std": channels, "low": values, "high": values,
                       "scale": outputs, "fixed": outputs}  # fmt: skip
            for name, length in lengths.items():
                if own[name].shape != (length,):
                    raise ValueError(f"{name} of shape {own[name].shape}, expected ({length},)")
            used = tuple(map(int, facts["used"]))
            if any(not 0 <= index < values for index in used):
                raise ValueError(f"inputs beyond the {values} of the network")
            return cls(
                str(facts["name"]), Interface.from_data(facts["interface"], values, outputs),
                shape, own["mean"], own["std"], own["low"], own["high"], used, own["scale"],
                own["fixed"], int(facts["log_n"]), int(facts["depth"]), int(facts["scale_bits"]),
                int(facts["batch"]), str(facts["program"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, NetworkError) as error:
            raise FormatError(f"a program whose parts do not fit together: {error}") from error

    def to_bytes(self) -> bytes:
        """The client's file."""
        return storage.to_bytes(storage.CLIENT, self.facts(), self.arrays())

    @classmethod
    def from_bytes(cls, data: bytes) -> LevelledTerms:
        """Read the client's file. Raises ``FormatError`` if it is damaged."""
        return cls.of(*storage.from_bytes(storage.CLIENT, data, cls.ARRAYS))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the client's file."""
        files.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LevelledTerms:
        """Read the client's file."""
        return files.parsed(Path(path), cls.from_bytes, storage.CLIENT)
