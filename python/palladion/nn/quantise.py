"""Quantisation: from real weights to integers whose accumulators fit a table.

The integer network computes ``acc = W x + b`` exactly and then ``table[acc]``. The only freedom is
the unit of each layer's weights. A smaller bound ``B`` on the accumulators makes the table, and so
the encrypted evaluation, cheaper, but the unit coarser.
"""

from __future__ import annotations

import numpy as np

from palladion.nn.network import Lut


def relu_table(bound: int, multiplier: float, maximum: int) -> Lut:
    """ReLU and requantisation: ``round(acc * multiplier)``, clamped to ``0..maximum``.

    For accumulators ``-bound`` to ``bound``.
    """
    accumulators = np.arange(-bound, bound + 1)
    values = np.clip(np.rint(accumulators * multiplier), 0, maximum)
    return Lut.from_values(values.astype(np.int64))
