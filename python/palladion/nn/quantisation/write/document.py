"""Converts linear forms in integers to the layers of an integer network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palladion.nn.ends.interface import Interface
from palladion.nn.floats import graph
from palladion.nn.floats.expression import Grid
from palladion.nn.floats.graph import Array
from palladion.nn.integers import network
from palladion.nn.integers.linear_maps import Conv, Dense, Ints, Linear, Window
from palladion.nn.integers.network import Lut, Term
from palladion.nn.quantisation.plan import form


def write_input(source: graph.Input, grid: Grid) -> network.Input:
    """The input, with the model's own normalisation as its mean and deviation."""
    written = network.Input(source.shape, int(grid.lo), int(grid.hi), float(grid.scale))
    if np.any(source.mean != 0) or np.any(source.std != 1):
        mean, std = tuple(source.mean.tolist()), tuple(source.std.tolist())
        written = replace(written, mean=mean, std=std)
    return written


def write_interface(
    model: graph.Graph, scale: tuple[float, ...], shift: tuple[float, ...]
) -> Interface:
    """The model's inputs and outputs, with the meaning of the last layer's integers."""
    ends = model.ends
    takes = replace(ends.takes, own_grid=model.input.grid is not None)
    return Interface(takes, replace(ends.gives, scale=scale, shift=shift))


def write_term(term: form.Term, map_: form.Linear) -> Term:
    """One term of a form, with ``map_`` in integers in place of its map."""
    return Term(term.source, write_map(map_))


def write_map(map_: form.Linear) -> Linear:
    """One linear map."""
    if isinstance(map_, graph.Dense):
        return Dense(write_integers(map_.weights))
    stride, pads, dilation = map_.geometry.stride, map_.geometry.pads, map_.geometry.dilation
    if isinstance(map_, graph.Window):
        return Window(write_integers(map_.taps), map_.shape[0], map_.first, stride, pads, dilation)
    return Conv(write_integers(map_.weights), stride, pads, dilation, map_.groups)


def write_table(values: Array | None) -> Lut | None:
    """The table of ``2 * bound + 1`` values, or ``None`` for a layer without a table."""
    return None if values is None else Lut.from_values(write_integers(values))


def write_integers(values: Array) -> Ints:
    """The values, which are whole numbers, in an integer type."""
    integers: Ints = np.rint(values).astype(np.int64)
    return integers
