"""The work of a functional bootstrapping by the paper's own description.

The paper prints degree, modulus, table size, lanes, blocks and passes of a transform. It prints
neither the word nor the digits of a key switch. With words of 36 bits its modulus of 720 bits is 20
limbs, and the printed times follow from the sums of its tables alone (``TABLE_MS``).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Final

from palladion.reproduce.athena.paper import LOG_N, LOG_Q, T

LANES: Final = 2048
BLOCKS: Final = 16
"""FRU blocks of region 1 (section 4.2.2)."""
TRANSFORM_PASSES: Final = 5
"""Of a transform of 2^15 points by butterflies of 8 points (section 4.2.1)."""
CLOCK_MHZ: Final = 1000
BYTES_PER_SECOND: Final = 1e12
SCRATCHPAD: Final = 45 << 20
NON_LINEAR_SHARE: Final = 0.72
"""Section 5.2.2: the non-linear part takes up to 72 % of the time."""

WORD_BITS: Final = 36
"""Inferred: no word is printed."""
LIMBS: Final = -(-LOG_Q // WORD_BITS)
SPECIAL: Final = 5
DIGITS: Final = 4
"""Inferred: digits of a key switch, and the special limbs that go with them."""

ROWS: Final = (1 << LOG_N) // LANES
"""Cycles of a pass over one limb: 16."""


def milliseconds(cycles: float) -> float:
    """At the paper's clock."""
    return cycles / CLOCK_MHZ / 1000


@dataclass(frozen=True)
class Table:
    """Algorithm 2 for a table of ``entries`` entries."""

    entries: int = T - 1

    @property
    def steps(self) -> int:
        """Baby steps, and as many giant steps."""
        return isqrt(self.entries - 1) + 1

    @property
    def sums_ms(self) -> float:
        """Scalar products and additions, cascaded, on all blocks of region 1."""
        return milliseconds(self.entries * 2 * LIMBS * ROWS / BLOCKS)

    @property
    def products(self) -> int:
        """Products of ciphertexts: powers, and giant steps."""
        return 2 * self.steps - 1

    def products_ms(self, transforms: int) -> float:
        """Transforms of all products, one after the other, on the unit of region 0."""
        return milliseconds(self.products * transforms * TRANSFORM_PASSES * ROWS)

    @property
    def powers_bytes(self) -> int:
        """All baby steps: two components of all limbs."""
        return self.steps * 2 * LIMBS * (1 << LOG_N) * WORD_BITS // 8

    @property
    def traffic_ms(self) -> float:
        """Baby steps and sums, each written once and read once, as neither fits the scratchpad."""
        return 4 * self.powers_bytes / BYTES_PER_SECOND * 1000


RELINEARISE: Final = LIMBS + DIGITS * (LIMBS + SPECIAL) + 2 * SPECIAL + 2 * LIMBS
"""Transforms of a key switch: the digits out of values and into all limbs, the result back."""

SCALE_INVARIANT: Final = 2 * LIMBS + 2 * (LIMBS + 1) + 3 * (2 * LIMBS + 1) + 2 * LIMBS + RELINEARISE
"""Transforms of a product of BFV: one factor into twice the limbs (the other is prepared once),
three components scaled down, two of them back to values, and the key switch."""

TABLE_MS: Final = Table().sums_ms
