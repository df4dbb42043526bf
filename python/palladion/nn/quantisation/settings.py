"""The settings of quantisation that a user chooses."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import ceil, sqrt
from numbers import Integral, Real
from typing import Final, Literal, get_args

from palladion.errors import UsageError

HALF: Final = 32_768
"""(t - 1) / 2 for t = 65537. An accumulator plus its noise must stay below it."""
NOISE: Final = 8.453
"""Deviation of the rounding noise of one sample."""
ROOM: Final = 10.05
"""Deviations of noise that the limit keeps free. One of 2^35 values exceeds them with a probability
below 2^-40."""


TABLE_ENTRIES: Final = 2 * HALF + 1
"""Entries of a table of all residues, the largest."""


def find_limit(samples: int, table_entries: int = TABLE_ENTRIES) -> int:
    """The largest accumulator whose table has at most ``table_entries`` entries.

    They leave room for the noise of a sum of ``samples`` samples.
    """
    return table_entries // 2 - 2 - ceil(ROOM * NOISE * sqrt(samples))


LIMIT: Final = find_limit(1)
"""Largest accumulator of any layer."""

LEAST_ENTRIES: Final = 257
"""Fewest entries that a user may ask for. They leave bounds of 41."""

Method = Literal["mse", "max", "percentile"]


KINDS: Final = {"bool": bool, "int": Integral, "float": Real, "Method": str}
"""The types allowed for the fields of a type, including numpy's numbers."""


@dataclass(frozen=True)
class Settings:
    """Widths in bits, and the choice of scales.

    Raises
    ------
    UsageError
        If a width is not 2 to 8, or another number is out of range.
    """

    weights: int = 7
    activations: int = 7
    inputs: int = 8
    per_channel: bool = True
    method: Method = "mse"
    percentile: float = 99.99
    headroom: float = 1.15
    """Bounds are the largest calibrated accumulator times this factor."""
    limit: int = LIMIT
    table_entries: int = TABLE_ENTRIES
    """Most entries of a layer's table, the room for noise among them. One more than a power of two
    costs least for its size: 8,193 entries leave bounds of 4,009."""
    resolution: int = 64
    """Least number of units in one step of a table's output, in layers with exact weights and if
    the limit allows it. With the default, the rounding noise of a run, of deviation 8.45 units,
    changes one output in 7,000 by one step. 1 gives the smallest bounds."""
    correct_bias: bool = True
    """Shift biases so that means over the calibration data equal the means of the float network."""
    strict: bool = False
    """Refuse all warnings, and weights that the limit makes coarser."""
    exact: bool = True
    """Keep the own grids of a model exactly, wherever integers fit."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            wanted = KINDS[str(entry.type)]
            if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
                raise UsageError(f"{entry.name} is {value!r}, expected {entry.type}")
        if self.method not in get_args(Method):
            raise UsageError(f"method {self.method!r}, expected {', '.join(get_args(Method))}")
        for name in ("weights", "activations", "inputs"):
            if not 2 <= getattr(self, name) <= 8:
                raise UsageError(f"{name} of {getattr(self, name)} bits, expected 2 to 8")
        if not 1 <= self.headroom <= 4:
            raise UsageError(f"headroom {self.headroom:g}, expected 1 to 4")
        if not 1 <= self.limit <= LIMIT:
            raise UsageError(f"limit {self.limit}, expected 1 to {LIMIT}")
        if not LEAST_ENTRIES <= self.table_entries <= TABLE_ENTRIES:
            raise UsageError(f"tables of {self.table_entries} entries, expected {LEAST_ENTRIES} to "
                             f"{TABLE_ENTRIES}")  # fmt: skip
        if not 1 <= self.resolution <= LIMIT:
            raise UsageError(f"resolution {self.resolution}, expected 1 to {LIMIT}")
        if not 50 < self.percentile <= 100:
            raise UsageError(f"percentile {self.percentile:g}, expected 50 to 100")

    def limit_to_samples(self, samples: int) -> Settings:
        """These settings for a layer whose accumulators are sums of ``samples`` samples."""
        most = find_limit(samples, self.table_entries)
        if most < 1:
            raise UsageError(f"tables of {self.table_entries} entries leave no room for the noise "
                             f"of a sum of {samples} samples; expected more entries")  # fmt: skip
        return replace(self, limit=min(self.limit, most))
