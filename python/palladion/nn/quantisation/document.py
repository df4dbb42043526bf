"""The file of an integer network, as docs/int-network.md has it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from palladion.nn.expression import Grid
from palladion.nn.graph import Array, Conv, Dense, Input, Window
from palladion.nn.quantisation.form import Linear, Term

FORMAT: Final = "palladion-int-network/2"


def network(name: str, given: Input, grid: Grid, layers: list[dict[str, Any]]) -> dict[str, Any]:
    """The whole file."""
    entry: dict[str, Any] = {
        "shape": list(given.shape),
        "min": grid.lo,
        "max": grid.hi,
        "scale": grid.scale,
    }
    if np.any(given.mean != 0) or np.any(given.std != 1):
        entry |= {"mean": given.mean.tolist(), "std": given.std.tolist()}
    return {"format": FORMAT, "name": name, "input": entry, "layers": layers}


def term(found: Term, map_: Linear) -> dict[str, Any]:
    """One term with integer weights."""
    return {"source": found.source, "linear": linear(map_, found.channels)}


def linear(map_: Linear, channels: int) -> dict[str, Any]:
    """One linear map of a source with so many channels."""
    if isinstance(map_, Dense):
        outputs, inputs = map_.weights.shape
        weights = whole(map_.weights)
        return {"dense": {"inputs": inputs, "outputs": outputs, "weights": weights}}
    sliding = {
        "kernel": list(map_.geometry.kernel),
        "stride": list(map_.geometry.stride),
        "dilation": list(map_.geometry.dilation),
        "pads": list(map_.geometry.pads),
    }
    if isinstance(map_, Window):
        placed = {"first": map_.first, "channels": map_.shape[0]}
        return {"window": {**sliding, "weights": whole(map_.taps), **placed}}
    assert isinstance(map_, Conv), "the three maps"
    sizes = {"kernels": len(map_.weights), "channels": channels, "groups": map_.groups}
    return {"conv": {**sizes, **sliding, "weights": whole(map_.weights)}}


def layer(
    name: str, terms: list[dict[str, Any]], bias: Array, bound: int, table: Array | None
) -> dict[str, Any]:
    """One layer without its scale; ``table`` has ``2 * bound + 1`` values."""
    entry = {"name": name, "terms": terms, "bias": whole(bias), "bound": bound}
    if table is not None:
        starts = np.flatnonzero(np.diff(table, prepend=table[0] - 1))
        entry["lut"] = {"starts": whole(starts - bound), "values": whole(table[starts])}
    return entry


def whole(values: Array) -> list[int]:
    """Integers in order, flat."""
    return [int(v) for v in values.ravel()]
