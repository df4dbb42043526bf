"""The answers of a model: outputs in its units, the class of each input, and the integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.interface import Interface
from palladion.nn.integers.linear_maps import Ints

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Prediction:
    """The answers to N inputs. As an array it is the first output.

    ``outputs`` are the model's outputs by name. ``classes`` is the class of each input, if the
    model is a classifier. ``integers`` are the network's outputs, of shape (N, values).
    """

    outputs: Mapping[str, Array]
    classes: Array | None
    known: int | None = None
    """The number of classes, if they are counted from 0 and are not the model's labels."""
    integers: Ints | None = None
    margin_bits: float | None = None
    """The noise margin left, in bits, if the answers were encrypted."""
    several: Array | None = None
    """The labels of each input, (N, labels), if the model gives several for each."""

    @classmethod
    def of(cls, boundary: Boundary, integers: Ints, margin: float | None = None) -> Prediction:
        """The prediction from the network's integers."""
        outputs = boundary.outputs(integers)
        ends = boundary.interface
        several = ends.several(outputs)
        return cls(outputs, ends.classes(outputs), ends.known(outputs), integers, margin, several)

    @classmethod
    def of_outputs(cls, ends: Interface, outputs: Mapping[str, Array]) -> Prediction:
        """The prediction from the model's own outputs in floating point."""
        found = (ends.classes(outputs), ends.known(outputs))
        return cls(outputs, *found, several=ends.several(outputs))

    @property
    def values(self) -> Array:
        """The first output of real numbers."""
        for found in self.outputs.values():
            if found.dtype.kind == "f":
                return found
        raise NetworkError(f"the model gives {', '.join(self.outputs)}, and none is of real "
                           "numbers")  # fmt: skip

    def __getitem__(self, name: str) -> Array:
        """An output by its name."""
        if name not in self.outputs:
            raise KeyError(f"no output {name!r}, there are {', '.join(self.outputs)}")
        return self.outputs[name]

    def __len__(self) -> int:
        return len(next(iter(self.outputs.values())))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = next(iter(self.outputs.values()))
        return np.array(found, dtype=dtype) if copy or dtype is not None else found

    def __str__(self) -> str:
        lines = [f"{len(self)} inputs"]
        if self.classes is not None:
            lines.append(f"classes {np.array2string(self.classes, threshold=16)}")
        for name, values in self.outputs.items():
            lines.append(f"{name}, {' x '.join(map(str, values.shape))}:")
            lines.append(np.array2string(values, threshold=64, precision=4))
        return "\n".join(lines)
