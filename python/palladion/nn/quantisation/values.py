"""Types that the phases of quantisation share: values of layers, linear forms in integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palladion.nn.floats.graph import Array, Window
from palladion.nn.quantisation.grids.lattice import Integers
from palladion.nn.quantisation.rounding import units


@dataclass(frozen=True)
class Group:
    """A linear form in integers: the unit of its accumulators, and the rounded map of each term."""

    unit: units.Unit
    maps: tuple[units.RoundedMap, ...]
    bias: Array

    @property
    def bits(self) -> float:
        """Bits of the kernels' weights, or of the windows' taps if there are only windows."""
        kernels = [m.bits for m in self.maps if not isinstance(m.map, Window)]
        return max(kernels or [m.bits for m in self.maps], default=0.0)


@dataclass(frozen=True)
class Value:
    """The input or a layer's output on the data.

    ``integers`` has the integer network's values and ``reference`` the float network's, both of
    shape (N, C, H, W). ``reach`` bounds the integers for any input. ``own_grid`` says that the grid
    is the model's own. Then the values in ``reference`` are multiples of ``scale`` too.
    """

    integers: Array
    reference: Array
    scale: float
    reach: Integers
    own_grid: bool = False

    @property
    def real(self) -> Array:
        """The real numbers that the integers stand for."""
        return self.integers * self.scale

    @property
    def varies(self) -> Array:
        """For each channel, whether its values on the data differ."""
        axes = (0, 2, 3)
        varies: Array = self.integers.max(axis=axes) > self.integers.min(axis=axes)
        return varies

    def reference_integers(self) -> Array:
        """The float network's values in integers, for a value on the model's own grid."""
        assert self.own_grid, "the caller has checked it"
        integers: Array = np.rint(self.reference / self.scale).astype(self.integers.dtype)
        return integers


@dataclass(frozen=True)
class IntegerLayer:
    """One layer in integers.

    ``table`` has the outputs for accumulators from ``-bound`` to ``bound``. The last layer has no
    table: an accumulator stands for ``accumulator * output_scale + output_shift``. ``why`` is the
    reason why a layer of a model with its own grids is not exact. ``distance`` is the least
    distance of a sum to a step of the table.
    """

    group: Group
    accumulators: Array
    table: Array | None
    bound: int
    value: Value
    before: Array
    """The float network's values before the function."""
    why: str | None = None
    distance: float | None = None
    output_scale: tuple[float, ...] = (1.0,)
    output_shift: tuple[float, ...] = (0.0,)
    warnings: tuple[str, ...] = ()
    costs: tuple[float, float] = (0.0, 0.0)
    """Relative error of rounded weights: with these settings, and with a step for each channel and
    no limit."""


def look_up(table: Array, bound: int, accumulators: Array) -> Array:
    """The table's outputs. An accumulator beyond an end of the table gives the value at the end."""
    places = np.clip(accumulators, -bound, bound).astype(np.int64) + bound
    outputs: Array = table[places].astype(np.float32)
    return outputs
