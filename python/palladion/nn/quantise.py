"""Quantisation: from real weights to integers whose accumulators fit a table.

The integer network computes ``acc = W x + b`` exactly and then ``table[acc]``, so that the only
freedom is the unit in which each layer's weights are counted. A smaller bound ``B`` on the
accumulators makes the table, and with it the encrypted evaluation, cheaper, and the unit coarser.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palladion.nn.network import Ints

PIXEL_SHIFT = 1
"""Pixels of 8 bits are halved, to 7 bits."""


def pixels_to_inputs(images: npt.NDArray[np.uint8]) -> Ints:
    """Images of any shape (images, ...) with pixels of 0 to 255, as rows of inputs 0 to 127."""
    halves: Ints = (images.reshape(len(images), -1) >> PIXEL_SHIFT).astype(np.int64)
    return halves


def relu_table(bound: int, multiplier: float, maximum: int) -> Ints:
    """ReLU and requantisation: ``round(acc * multiplier)``, clamped to ``0..maximum``.

    Shape
    -----
    ``2 * bound + 1`` values, for accumulators ``-bound`` to ``bound``.
    """
    accumulators = np.arange(-bound, bound + 1)
    values: Ints = np.clip(np.rint(accumulators * multiplier), 0, maximum).astype(np.int64)
    return values
