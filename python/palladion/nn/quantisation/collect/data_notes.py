"""Notes about calibration data whose range is not the one that a model expects."""

from __future__ import annotations

from typing import Final

import numpy as np

from palladion.nn.floats.graph import Array, Graph

SHARE: Final = 0.01
"""If a larger share of the inputs lies beyond the model's own grid, there is a note."""


def note_data_range(graph: Graph, data: Array) -> tuple[str, ...]:
    """Notes about the range of ``data``: inputs of the model, of shape (N, C, H, W)."""
    low, high = float(data.min()), float(data.max())
    reach = f"the inputs lie from {low:.4g} to {high:.4g}"
    if low == high:
        return (f"{reach}: they are all the same, nothing can be calibrated on them",)
    model_input = graph.input
    if model_input.grid is not None:
        inputs = (data - model_input.mean[:, None, None]) / model_input.std[:, None, None]
        ends = (
            model_input.grid.lo * model_input.grid.scale,
            model_input.grid.hi * model_input.grid.scale,
        )
        slack = model_input.grid.scale
        beyond = float(np.mean((inputs < ends[0] - slack) | (inputs > ends[1] + slack)))
        if beyond > SHARE:
            return (
                f"{reach}; {beyond:.1%} of them are cut off by the model's own quantisation of its "
                f"input, from {ends[0]:.4g} to {ends[1]:.4g}: are they normalised as for its "
                "training?",
            )
        return ()
    normalises = np.any(model_input.mean != 0) or np.any(model_input.std != 1)
    if not normalises and low >= 0 and 1 < high <= 255 and np.array_equal(data, np.rint(data)):
        return (
            f"{reach} and are whole numbers, as pixels are; most models take "
            "(pixel / 255 - mean) / std: were they trained on pixels as these are?",
        )
    return ()
