"""Finds one exact table for channels of different scales, by integer factors and offsets.

Channel ``c`` has integer sums ``A``, which stand for ``scale_c A + shift_c``. A function maps these
numbers to the integers of a grid: a staircase. A layer has one table for all its channels. The
network therefore computes ``m_c A + o_c``. The integers ``m_c`` and ``o_c`` are chosen so that
every possible sum lies between the same two steps of the table as its real value lies between steps
of the function.

With the factors ``m_c`` fixed, this is a system of difference constraints in the offsets ``o_c``
and the steps ``T_j``, which the algorithm of Bellman and Ford solves or refutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from palladion.nn.floats import elementary
from palladion.nn.floats.expression import Expression, Grid
from palladion.nn.floats.graph import Array

FAR: Final = 1 << 40
"""A number beyond every accumulator."""

GUARD: Final = 76
"""Units between table parts of different channels: nine deviations of noise."""

UNITS: Final = 160
"""Number of units to try, from the finest to the coarsest."""

GROUP_UNITS: Final = 40
"""Number of units to try if channels need their own parts of the table."""

EXTRA_UNITS: Final = 24
"""Number of coarser units to try after an exact one whose sums lie near the steps."""


SHARES: Final = (1.0, 0.93, 0.86, 0.8, 0.7)
"""Shares of the limit to try for the span of one channel. The channels' offsets need the rest."""


@dataclass(frozen=True)
class Sums:
    """The possible integer sums of each channel: ``low, low + stride, ... high``.

    A sum stands for ``scale * sum + shift``. Arrays have the shape (C,).
    """

    scale: Array
    shift: Array
    low: Array
    high: Array
    stride: Array

    @property
    def span(self) -> int:
        """Largest distance between two sums of one channel."""
        return int((self.high - self.low).max())

    def list_channel(self, channel: int) -> Array:
        """All sums of a channel."""
        return np.arange(self.low[channel], self.high[channel] + 1, self.stride[channel])


@dataclass(frozen=True)
class Stairs:
    """The steps of a function: ``J`` changes between ``J + 1`` pieces, ordered by real value.

    ``below`` and ``above``, of shape (C, J), are each channel's last sum before a change and its
    first sum after it. If there is none, ``has_below`` or ``has_above`` is false.
    """

    values: Array
    places: Array
    below: Array
    above: Array
    has_below: Array
    has_above: Array

    @property
    def constant(self) -> Array:
        """For each channel, whether all its sums lie in one piece."""
        return np.asarray(~(self.has_below & self.has_above).any(axis=1))

    def select(self, channels: Array) -> Stairs:
        """The same changes, for some of the channels."""
        rows = [a[channels] for a in (self.below, self.above, self.has_below, self.has_above)]
        return Stairs(self.values, self.places, *rows)


@dataclass(frozen=True)
class SharedTable:
    """Factor and offset of each channel, and the table for accumulators in ``-bound..bound``.

    ``wrong`` is the number of sums whose value in the table differs from the function, ``sums`` the
    number of all sums. ``distance`` is the least distance of a sum to a step of the table, in
    units.
    """

    factors: Array
    offsets: Array
    table: Array
    bound: int
    distance: float
    wrong: int = 0
    sums: int = 0


def find_stairs(sums: Sums, function: Expression, grid: Grid) -> Stairs:
    """Finds the changes of a function on all sums of all channels."""
    every = [sums.list_channel(c) for c in range(len(sums.scale))]
    counts = np.array([len(sums_of_channel) for sums_of_channel in every])
    channel = np.repeat(np.arange(len(counts)), counts)
    flat = np.concatenate(every)
    inputs = sums.scale[channel] * flat + sums.shift[channel]
    whole = evaluate_on_grid(grid, function, inputs)
    order = np.argsort(inputs, kind="stable")
    changed = np.flatnonzero(np.diff(whole[order])) + 1
    values = whole[order][np.concatenate(([0], changed))]
    places = (inputs[order[changed - 1]] + inputs[order[changed]]) / 2
    piece = np.empty(len(flat), np.int64)
    piece[order] = np.searchsorted(changed, np.arange(len(flat)), side="right")
    shape = len(counts), len(changed)
    above, below = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    has_above, has_below = np.zeros(shape, bool), np.zeros(shape, bool)
    first = np.concatenate(([0], np.cumsum(counts)))
    for c, sums_of_channel in enumerate(every):
        index = np.searchsorted(piece[first[c] : first[c + 1]], np.arange(1, shape[1] + 1))
        has_below[c], has_above[c] = index > 0, index < len(sums_of_channel)
        below[c] = sums_of_channel[np.maximum(index - 1, 0)]
        above[c] = sums_of_channel[np.minimum(index, len(sums_of_channel) - 1)]
    return Stairs(values, places, below, above, has_below, has_above)


def evaluate_on_grid(grid: Grid, function: Expression, inputs: Array) -> Array:
    """The integers of a function's values on a grid."""
    integers: Array = np.clip(np.rint(function(inputs) / grid.scale), grid.lo, grid.hi).astype(
        np.int64
    )
    return integers


def place_steps(
    sums: Sums, function: Expression, grid: Grid, limit: int, room: int
) -> SharedTable | None:
    """Places the table's steps: finds factors, offsets and a table, if possible an exact one.

    Steps keep a distance of ``room`` units from every sum, if limit and scales allow it. The result
    is ``None`` if the sums exceed the limit.
    """
    if sums.span > 2 * limit:
        return None
    changes = find_stairs(sums, function, grid)
    moving = np.flatnonzero(~changes.constant)
    if not len(moving):
        return join_parts(sums, changes, np.zeros(len(sums.scale), np.int64), [], limit)
    best: SharedTable | None = None
    attempts = 0
    for unit in list_units(sums, moving, room):
        now = try_unit(sums, changes, moving, unit, (limit, room))
        if now is not None and (best is None or now.distance > best.distance):
            best = now
        attempts += best is not None
        if best is not None and (best.distance > room or attempts > EXTRA_UNITS):
            return best
    return (
        best
        or place_groups(sums, changes, moving, limit)
        or place_nearest(sums, function, grid, limit)
    )


def try_unit(
    sums: Sums, changes: Stairs, moving: Array, unit: float, wanted: tuple[int, int]
) -> SharedTable | None:
    """The table with factors near the channels' scales in a unit; ``None`` if there is none.

    ``wanted`` has the limit and the room. A table above the limit is tried with smaller factors.
    """
    limit, room = wanted
    for share in SHARES:
        factors = choose_factors(sums, changes, moving, unit, int(limit * share), room)
        solution = centre_steps(changes.select(moving), factors[moving], room)
        if solution is None:
            return None
        placed = join_parts(sums, changes, factors, [TablePart(moving, *solution)], limit)
        if placed is not None:
            return placed
    return None


def list_units(sums: Sums, moving: Array, room: int) -> Iterator[float]:
    """Yields the real values to try for the accumulator's unit, from fine to coarse."""
    steps = (sums.scale * sums.stride)[moving]
    yield from elementary.space_geometrically(
        steps.min() / (2 * room + 2), steps.max() * 1.01, UNITS
    )


def choose_factors(
    sums: Sums, changes: Stairs, moving: Array, unit: float, limit: int, wanted: int
) -> Array:
    """Chooses each channel's factor: the one with the most room around steps, up to ``wanted``.

    The unit determines the steps. Of equally good factors the smallest is taken.
    """
    factors = np.zeros(len(sums.scale), np.int64)
    places = changes.places / unit
    for c in moving:
        most = max(1, min(2 * limit // max(int(sums.high[c] - sums.low[c]), 1), 2 * limit))
        ideal = sums.scale[c] / unit
        near = np.rint(ideal) + np.arange(-1, 2)
        candidates = np.concatenate(
            [elementary.space_geometrically(1, max(ideal, 1), 24).round(), near]
        )
        candidates = np.unique(np.clip(candidates, 1, most)).astype(np.int64)
        lower, upper = changes.has_below[c], changes.has_above[c]
        high = (places[lower] - candidates[:, None] * changes.below[c, lower]).min(axis=1)
        low = (places[upper] - candidates[:, None] * changes.above[c, upper]).max(axis=1)
        room = np.minimum((high - low) / 2, wanted + 1)
        factors[c] = candidates[int(np.argmax(room))]
    return factors


def centre_steps(changes: Stairs, factors: Array, wanted: int) -> tuple[Array, Array] | None:
    """Offsets and steps with the most room on both sides of each step, up to ``wanted``.

    ``None`` if the factors allow no exact table.
    """
    best = solve_constraints(changes, factors, 0)
    if best is None:
        return None
    low, high = 0, wanted
    while low < high:
        room = (low + high + 1) // 2
        now = solve_constraints(changes, factors, room)
        if now is None:
            high = room - 1
        else:
            best, low = now, room
    below, above = map_changes(changes, factors, best[0])
    steps = halve_gaps(below.max(axis=0), above.min(axis=0) - 1, wanted)
    zero = np.zeros(len(factors), np.int64)
    below, above = map_changes(changes, factors, zero)
    offsets = ((steps - below).min(axis=1) + (steps + 1 - above).max(axis=1)) // 2
    return offsets, steps


def halve_gaps(least: Array, most: Array, wanted: int) -> Array:
    """Puts each step halfway between the sums below it, ``least``, and above it, ``most``.

    A step with sums on one side only lies ``wanted`` units from them. Steps are in order: first the
    steps without sums below, last the steps without sums above.
    """
    first, last = np.searchsorted(least, -FAR + 1), np.searchsorted(most, FAR - 1)
    steps = (least + most) // 2
    steps[:first] = most[:first] - wanted
    steps[last:] = least[last:] + wanted
    steps[:first] = np.minimum(steps[:first], steps[first : first + 1].min(initial=FAR))
    steps[last:] = np.maximum(steps[last:], steps[:last].max(initial=-FAR))
    return steps


def map_changes(changes: Stairs, factors: Array, offsets: Array) -> tuple[Array, Array]:
    """The accumulators below and above each change; -FAR and FAR where a channel has none."""
    m, o = factors[:, None], offsets[:, None]
    below = np.where(changes.has_below, m * changes.below + o, -FAR)
    above = np.where(changes.has_above, m * changes.above + o, FAR)
    return below, above


def solve_constraints(changes: Stairs, factors: Array, room: int) -> tuple[Array, Array] | None:
    """Offsets and steps ``T`` with ``below + room <= T < above - room``, or ``None``.

    The algorithm of Bellman and Ford: bounds are lowered until all hold.
    """
    zero = np.zeros(len(factors), np.int64)
    below, above = map_changes(changes, factors, zero)
    if (above - below <= 2 * room).any():
        return None
    offsets, steps = zero, np.zeros(below.shape[1], np.int64)
    size = max(np.abs(side[np.abs(side) < FAR]).max(initial=1) for side in (below, above))
    for _ in range(sum(below.shape) + 2):
        moved = np.minimum(offsets, (steps - below).min(axis=1) - room)
        now = np.minimum(steps, (above + moved[:, None]).min(axis=0) - 1 - room)
        now = np.minimum.accumulate(now[::-1])[::-1]
        if np.array_equal(moved, offsets) and np.array_equal(now, steps):
            return offsets, steps
        offsets, steps = moved, now
        if min(offsets.min(), steps.min()) < -8 * size - 8 * room:  # a negative cycle
            return None
    return None


@dataclass(frozen=True)
class TablePart:
    """Channels that share a part of the table, their offsets, and the steps there."""

    channels: Array
    offsets: Array
    steps: Array


def join_parts(
    sums: Sums, changes: Stairs, factors: Array, parts: list[TablePart], limit: int
) -> SharedTable | None:
    """Joins the parts and the constant channels into one table; ``None`` above the limit."""
    offsets = np.zeros(len(factors), np.int64)
    pieces, starts, start, distance = [], [], 0, np.inf
    for part in parts:
        m = factors[part.channels]
        low = int((m * sums.low[part.channels] + part.offsets).min())
        width = int((m * sums.high[part.channels] + part.offsets).max()) - low + 1
        offsets[part.channels] = part.offsets - low + start
        pieces.append(np.searchsorted(part.steps - low, np.arange(width)))
        starts.append(start)
        start += width + GUARD
        below, above = map_changes(changes.select(part.channels), m, part.offsets)
        gaps = [part.steps - below, above - 1 - part.steps]
        distance = min(distance, *(float(gap.min()) + 0.5 for gap in gaps))
    constant = np.flatnonzero(changes.constant)
    lies_in = (~changes.has_below[constant]).sum(axis=1)
    for piece in sorted(set(lies_in.tolist()) - set(np.concatenate([[-1], *pieces]).tolist())):
        pieces.append(np.full(GUARD, piece))
        starts.append(start)
        start += 2 * GUARD
    whole = join_pieces(pieces)
    if len(whole) > 2 * limit + 1:
        return None
    for c, piece in zip(constant, lies_in, strict=True):
        offsets[c] = find_middle(whole == piece)
    bound = len(whole) // 2
    table = changes.values[np.concatenate([whole, whole[-1:]])[: 2 * bound + 1]]
    return SharedTable(factors, offsets - bound, table, max(bound, 1), float(distance))


def join_pieces(pieces: list[Array]) -> Array:
    """Joins pieces with a guard between each two. Each piece is continued over half of a guard."""
    half = GUARD // 2
    every = []
    for index, part in enumerate(pieces):
        before = np.full(half if index else 0, part[0])
        after = np.full(half if index + 1 < len(pieces) else 0, part[-1])
        every += [before, part, after]
    return np.concatenate(every)


def find_middle(mask: Array) -> int:
    """The index in the middle of the longest run of a mask."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest] + ends[longest] - 1) // 2


def place_groups(sums: Sums, changes: Stairs, moving: Array, limit: int) -> SharedTable | None:
    """Groups channels whose scales fit together, and gives each group its own part of the table."""
    best: SharedTable | None = None
    order = moving[np.argsort(sums.scale[moving], kind="stable")]
    steps = (sums.scale * sums.stride)[moving]
    spans = (sums.high - sums.low)[moving]
    for unit in elementary.space_geometrically(steps.min() / GUARD, steps.max(), GROUP_UNITS):
        ideal = np.clip(np.rint(sums.scale / unit), 1, GUARD)  # more does not help a single channel
        factors = np.where(changes.constant, 0, ideal).astype(np.int64)
        if int((factors[moving] * spans).max()) > 2 * limit:
            continue
        parts: list[TablePart] = []
        group: list[int] = []
        for c in order:
            if (
                solve_constraints(changes.select(np.array([*group, c])), factors[[*group, c]], 0)
                is None
            ):
                parts.append(make_part(changes, factors, group))
                group = []
            group.append(int(c))
        placed = join_parts(
            sums, changes, factors, [*parts, make_part(changes, factors, group)], limit
        )
        if placed is not None and (best is None or placed.distance > best.distance):
            best = placed
    return best


def make_part(changes: Stairs, factors: Array, group: list[int]) -> TablePart:
    channels = np.array(group)
    solution = centre_steps(changes.select(channels), factors[channels], GUARD)
    assert solution is not None, "the group has been tried"
    return TablePart(channels, *solution)


def place_nearest(sums: Sums, function: Expression, grid: Grid, limit: int) -> SharedTable | None:
    """A table that is not exact: factors and offsets are rounded to the nearest integers.

    It counts the sums on a wrong side of a step. ``None`` if sums exceed the limit.
    """
    changes = find_stairs(sums, function, grid)
    moving = np.flatnonzero(~changes.constant)
    if not len(moving):
        return join_parts(sums, changes, np.zeros(len(sums.scale), np.int64), [], limit)
    unit = float((sums.scale * (sums.high - sums.low)).max()) / (2 * limit - 2)
    for _ in range(200):
        factors = np.where(changes.constant, 0, np.maximum(np.rint(sums.scale / unit), 1))
        factors = factors.astype(np.int64)
        steps = np.floor(changes.places / unit).astype(np.int64)
        below, above = map_changes(changes, factors, np.zeros_like(factors))
        own = ((steps - below).min(axis=1) + (steps + 1 - above).max(axis=1)) // 2
        placed = join_parts(sums, changes, factors, [TablePart(moving, own[moving], steps)], limit)
        if placed is not None:
            return count_wrong(sums, function, grid, placed)
        unit *= 1.03
    return None


def count_wrong(sums: Sums, function: Expression, grid: Grid, placed: SharedTable) -> SharedTable:
    """The table with the number of sums that lie on a wrong side of a step."""
    wrong = total = 0
    for c in range(len(sums.scale)):
        every = sums.list_channel(c)
        wanted = evaluate_on_grid(grid, function, sums.scale[c] * every + sums.shift[c])
        places = placed.factors[c] * every + placed.offsets[c] + placed.bound
        wrong += int((placed.table[places] != wanted).sum())
        total += len(every)
    return replace(placed, wrong=wrong, sums=total, distance=0.0)
