"""Layers of a model with its own grids: integer sums, and a table that is exact for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Final

import numpy as np

from palladion.nn.floats.expression import Expression, Grid, X, apply
from palladion.nn.floats.graph import Array, Window
from palladion.nn.quantisation.collect.statistics import evaluate_form
from palladion.nn.quantisation.grids import staircase
from palladion.nn.quantisation.grids.lattice import (
    Integers,
    Lattice,
    find_common_steps,
    make_lattice,
)
from palladion.nn.quantisation.grids.staircase import SharedTable, Sums
from palladion.nn.quantisation.plan.form import Form, Linear, Term, to_conv
from palladion.nn.quantisation.plan.planner import Planned
from palladion.nn.quantisation.rounding import units
from palladion.nn.quantisation.settings import NOISE, ROOM, Settings
from palladion.nn.quantisation.values import Group, IntegerLayer, Value, look_up
from palladion.nn.quantisation.write.layer_report import make_bound_error

EXACT: Final = 1 << 24
"""Integers below this are exact in single precision."""

Sources = dict[int, Value]


@dataclass(frozen=True)
class LatticeSums:
    """A lattice with its sums on the data.

    ``sums`` are of the integer network's values, ``wanted`` of the float network's.
    """

    lattice: Lattice
    sums: Array
    wanted: Array
    bias: Array

    def to_real(self, sums: Array) -> Array:
        """The real numbers that sums stand for, in double precision."""
        scale, bias = self.lattice.scale[:, None, None], self.bias[:, None, None]
        real: Array = scale * sums.astype(np.float64) + bias
        return real


def quantise_exactly(
    planned: Planned, sources: Sources, settings: Settings, *, has_data: bool
) -> IntegerLayer | str:
    """Makes a layer in integers, exact if possible. Or returns the reason why that cannot be.

    With ``has_data`` the data are the user's, and bounds may be derived from them.

    Raises
    ------
    NetworkError
        If sums exceed the limit and there are no data from which to derive bounds.
    """
    if planned.softmax or planned.product:
        return "its function is no table of sums"
    if not all(value.own_grid for value in sources.values()):
        return "its sources have no grids of the model's own"
    scales = {s: v.scale for s, v in sources.items()}
    lattice = make_lattice(planned.form, scales, {s: v.reach for s, v in sources.items()})
    if isinstance(lattice, str):
        return lattice
    added = sum_products(planned.form, lattice, sources)
    if planned.function is None:
        return finish_last_layer(planned, added, settings)
    grid = find_output_grid(planned.function, lattice, planned.form.bias)
    if grid is None:
        return "its function ends in no grid of the model's own"
    sums = Sums(lattice.scale, planned.form.bias, lattice.low, lattice.high, lattice.stride)
    placed, warnings = fit_table(planned, sums, added, grid, settings, has_data=has_data)
    if isinstance(placed, str):
        return placed
    return finish_layer(planned, added, grid, placed, warnings)


def sum_products(form: Form, lattice: Lattice, sources: Sources) -> LatticeSums:
    """Computes the sums of a lattice on the data."""
    whole = Form(form.shape, lattice.terms, np.zeros(form.shape[0]))
    most = max(np.abs(lattice.low).max(), np.abs(lattice.high).max())
    kind = np.float32 if most < EXACT else np.float64
    integers = {s: v.integers.astype(kind) for s, v in sources.items()}
    wanted = {s: v.reference_integers().astype(kind) for s, v in sources.items()}
    sums = evaluate_form(whole, integers, whole.bias)
    same = all(np.array_equal(integers[s], wanted[s]) for s in sources)
    return LatticeSums(
        lattice, sums, sums if same else evaluate_form(whole, wanted, whole.bias), form.bias
    )


def find_output_grid(function: Expression, lattice: Lattice, bias: Array) -> Grid | None:
    """The grid of a function's values, or the grid of the sums if the function keeps these."""
    own_grid = function.grid()
    if own_grid is not None:
        return own_grid
    scale = float(lattice.scale[0])
    alike = np.allclose(lattice.scale, scale, rtol=units.TINY, atol=0)
    if function not in (X, apply("relu", X)) or not alike:
        return None
    for shift in np.unique(np.abs(bias)):
        common = find_common_steps(np.array([scale]), np.array([shift]))
        if common is None:
            return None
        scale = float(common[0])
    ends = np.rint(np.concatenate([lattice.low, lattice.high]) * (lattice.scale[0] / scale))
    ends += np.rint(np.tile(bias / scale, 2))
    low = 0 if function != X else int(ends.min())
    return Grid(scale, low, max(int(ends.max()), low)) if np.abs(ends).max() < 1 << 15 else None


def fit_table(
    planned: Planned,
    sums: Sums,
    added: LatticeSums,
    grid: Grid,
    settings: Settings,
    *,
    has_data: bool,
) -> tuple[SharedTable | str, tuple[str, ...]]:
    """Fits one table to all sums, or to sums on the calibration data if all do not keep the limit.

    Returns the table, or the reason why there is none, and warnings about bounds that are not
    proven.
    """
    assert planned.function is not None, "the last layer has no table"
    needed = (sums.span + 1) // 2
    warnings: tuple[str, ...] = ()
    if needed > settings.limit and has_data:
        sums = limit_to_data(sums, added.sums, settings)
        warnings = (
            f"layer {planned.name}: its sums could need a bound of {needed} on other data, beyond "
            f"the limit of {settings.limit}; bounds are those of the calibration data, which need "
            f"{(sums.span + 1) // 2}",
        )
    if sums.span > 2 * settings.limit:
        if not has_data:
            raise make_bound_error(planned.name, needed, settings)
        return f"its sums need a bound of {(sums.span + 1) // 2}, the limit is {settings.limit}", ()
    placed = (
        staircase.place_steps(
            sums, planned.function, grid, settings.limit, choose_room(planned, grid, settings)
        )
        if settings.exact
        else staircase.place_nearest(sums, planned.function, grid, settings.limit)
    )
    if placed is None:
        return f"its sums, scaled to be exact, pass the limit of {settings.limit}", ()
    return placed, warnings


def choose_room(planned: Planned, grid: Grid, settings: Settings) -> int:
    """Wanted units between sums and steps. Truth values get enough that noise changes none."""
    if (grid.lo, grid.hi) != (0, 1):
        return settings.resolution
    return max(settings.resolution, ceil(ROOM * NOISE * sqrt(planned.samples)))


def limit_to_data(sums: Sums, data_sums: Array, settings: Settings) -> Sums:
    """Limits the ranges of sums to the sums on the data, with headroom."""
    low, high = (np.asarray(end(data_sums, axis=(0, 2, 3)), np.float64) for end in (np.min, np.max))
    more = (high - low) * (settings.headroom - 1) / 2 + sums.stride
    low = sums.low + np.maximum((low - more - sums.low) // sums.stride, 0) * sums.stride
    high = sums.high - np.maximum((sums.high - high - more) // sums.stride, 0) * sums.stride
    return replace(sums, low=low.astype(np.int64), high=high.astype(np.int64))


def finish_layer(
    planned: Planned, added: LatticeSums, grid: Grid, placed: SharedTable, warnings: tuple[str, ...]
) -> IntegerLayer:
    """Makes the layer from its table, with its values on the data."""
    assert planned.function is not None, "the last layer has no table"
    factors, lattice = placed.factors, added.lattice
    moved = (part[:, None, None] for part in (factors, placed.offsets))
    m, o = moved
    accumulators = (added.sums * m + o).astype(np.float32)
    outputs = look_up(placed.table, placed.bound, accumulators)
    wanted = staircase.evaluate_on_grid(grid, planned.function, added.to_real(added.wanted))
    reach = find_outputs(planned.function, added, grid)
    value = Value(outputs, wanted * grid.scale, grid.scale, reach, own_grid=True)
    unit = (
        float(np.median((lattice.scale / np.maximum(factors, 1))[factors > 0]))
        if factors.any()
        else 1.0
    )
    group = make_group(lattice, factors, placed.offsets, unit)
    why = None
    if placed.wrong:
        why = (f"no integer factors put the scales of its channels into one table: "
               f"{placed.wrong} of {placed.sums} sums lie on a wrong side of a step")  # fmt: skip
    return IntegerLayer(
        group, accumulators, placed.table, placed.bound, value, added.to_real(added.wanted),
        why=why, distance=placed.distance, warnings=warnings,
    )  # fmt: skip


def find_outputs(function: Expression, added: LatticeSums, grid: Grid) -> Integers:
    """The possible integers of the layer's outputs."""
    lattice = added.lattice
    sums = Sums(lattice.scale, added.bias, lattice.low, lattice.high, lattice.stride)
    low, high = np.zeros(len(lattice.low), np.int64), np.zeros(len(lattice.low), np.int64)
    stride = 0
    for c in range(len(low)):
        every = (
            sums.list_channel(c)
            if lattice.high[c] - lattice.low[c] < EXACT
            else lattice.low[c : c + 1]
        )
        inputs = sums.scale[c] * every + sums.shift[c]
        values = np.unique(staircase.evaluate_on_grid(grid, function, inputs))
        if len(every) == 1 and lattice.high[c] > lattice.low[c]:
            values = np.array([grid.lo, grid.hi])
        low[c], high[c] = values[0], values[-1]
        stride = int(np.gcd.reduce([stride, *np.diff(values)]))
    stride = int(np.gcd.reduce([stride, *np.diff(low)]))
    return Integers(low, high, max(stride, 1))


def make_group(lattice: Lattice, factors: Array, offsets: Array, unit: float) -> Group:
    """The linear form in integers, with output channels multiplied by ``factors``."""
    maps = []
    for term in lattice.terms:
        scaled = multiply_outputs(term, factors)
        plain = units.get_weights(term.map)
        most = int(np.abs(plain).max(initial=1))
        maps.append(units.RoundedMap(scaled, np.maximum(factors, 1), most, units.count_bits(plain)))
    return Group(units.Unit(unit, unit, unit), tuple(maps), offsets.astype(np.float64))


def multiply_outputs(term: Term, factors: Array) -> Linear:
    """The map with its output channels multiplied by integers."""
    map_ = term.map
    if isinstance(map_, Window):
        if np.all(factors == factors[0]):
            return replace(map_, taps=map_.taps * factors[0])
        return to_conv(map_, factors.astype(np.float64), term.channels)
    return replace(map_, weights=map_.weights * factors.reshape(-1, *[1] * (map_.weights.ndim - 1)))


def finish_last_layer(
    planned: Planned, added: LatticeSums, settings: Settings
) -> IntegerLayer | str:
    """Makes the last layer. It has no table: each channel has its own scale and shift."""
    lattice = added.lattice
    largest = np.maximum(np.abs(lattice.low), np.abs(lattice.high)).max()
    parts = (
        settings.resolution
        if not units.are_multiples(added.bias, float(lattice.scale.min()))
        else 1
    )
    unit = float(lattice.scale.min()) / parts
    while True:
        factors = np.maximum(np.rint(lattice.scale / unit), 1).astype(np.int64)
        scale = lattice.scale / factors
        offsets = np.rint(added.bias / scale)
        ends = np.abs(np.stack([lattice.low, lattice.high]) * factors + offsets)
        if ends.max() <= settings.limit:
            break
        if factors.max() == 1:
            largest_on_data = float(np.abs(added.sums + offsets[:, None, None]).max())
            if largest_on_data * settings.headroom > settings.limit:
                return f"its sums need a bound of {int(largest)}, the limit is {settings.limit}"
            break
        unit *= 2
    shift = added.bias - offsets * scale
    accumulators = (added.sums * factors[:, None, None] + offsets[:, None, None]).astype(np.float32)
    bound = max(1, min(int(ends.max()), settings.limit))
    before = added.to_real(added.wanted)
    alike = np.allclose(scale, scale[0], rtol=units.TINY, atol=0)
    near = bool(np.all(np.abs(shift) < units.TINY * scale))
    value = Value(accumulators, before, float(scale[0]), Integers.alike(len(scale), -bound, bound))
    return IntegerLayer(
        make_group(lattice, factors, offsets, float(scale[0])), accumulators, None, bound, value,
        before,
        output_scale=(float(scale[0]),) if alike else tuple(scale.tolist()),
        output_shift=(0.0,) if near else tuple(shift.tolist()),
    )  # fmt: skip
