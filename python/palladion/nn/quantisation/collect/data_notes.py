"""Checks whether calibration data have the range that a model expects."""

from __future__ import annotations

from typing import Final

import numpy as np

from palladion.nn.graph import Array, Graph

SHARE: Final = 0.01
"""Largest share of inputs beyond the model's own grid that gives no note."""


def note_data_range(graph: Graph, data: Array) -> tuple[str, ...]:
    """Notes about inputs of the model, of shape (N, C, H, W)."""
    low, high = float(data.min()), float(data.max())
    found = f"the inputs lie from {low:.4g} to {high:.4g}"
    if low == high:
        return (f"{found}: they are all the same, nothing can be calibrated on them",)
    given = graph.input
    if given.grid is not None:
        real = (data - given.mean[:, None, None]) / given.std[:, None, None]
        ends = given.grid.lo * given.grid.scale, given.grid.hi * given.grid.scale
        slack = given.grid.scale
        beyond = float(np.mean((real < ends[0] - slack) | (real > ends[1] + slack)))
        if beyond > SHARE:
            return (
                f"{found}; {beyond:.1%} of them are cut off by the model's own quantisation of its "
                f"input, from {ends[0]:.4g} to {ends[1]:.4g}: are they normalised as for its "
                "training?",
            )
        return ()
    normalises = np.any(given.mean != 0) or np.any(given.std != 1)
    if not normalises and low >= 0 and 1 < high <= 255 and np.array_equal(data, np.rint(data)):
        return (
            f"{found} and are whole numbers, as pixels are; most models take "
            "(pixel / 255 - mean) / std: were they trained on pixels as these are?",
        )
    return ()
