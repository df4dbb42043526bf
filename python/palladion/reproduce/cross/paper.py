"""Figures that the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OPERATIONS: Final = ("add", "product", "rescale", "rotation")
"""HE-Add, HE-Mult, Rescale, Rotate."""


@dataclass(frozen=True)
class Published:
    """A column of table 5: a library, its device, and microseconds of the operations."""

    library: str
    device: str
    watts: int
    set: str
    times: tuple[float | None, float | None, float | None, float | None]


TABLE_5: Final = (
    Published("OpenFHE", "AMD 5950", 105, "cross-1", (31423, 533497, 5784, 442224)),
    Published("Lattigo", "i5-6600k", 91, "cross-2", (4500, 19400, 65700, None)),
    Published("100x", "V100", 300, "cross-3", (378, 7960, 1200, 6600)),
    Published("Cheddar", "A100", 400, "cross-4", (80, 850, None, None)),
    Published("FAB", "Alveo U280", 215, "cross-5", (40, 1710, 190, 1570)),
    Published("CraterLake", "ASIC", 280, "cross-6", (8.75, 35, 9, 27)),
    Published("CROSS", "TPUv4", 170, "cross-6", (3.26, 1628, 216, 1128)),
)

CIPHERTEXT_MB: Final = {"cross-1": 60.84, "cross-3": 35.75, "cross-5": 13.0, "cross-6": 11.15}
"""Sizes of ciphertexts that table 5 prints."""
BITS: Final = {"cross-1": 59, "cross-3": 52, "cross-5": 52, "cross-6": 28}
"""Bits of a prime."""

LOGISTIC_MS: Final = {"Sharp": 2.53, "BTS": 28.4, "ARK": 14.3, "CraterLake": 15.2, "CROSS": 83.98}
"""Table 6: an iteration of logistic regression."""
LOLA_MNIST_MS: Final = 49.0
"""Section 6.2: an image of LoLa-MNIST on a TPUv4."""

TABLE_7: Final = {
    (256, 256, 256): (49.36, 24.83),
    (512, 512, 512): (52.03, 42.11),
    (512, 1024, 1024): (136.76, 124.38),
    (2048, 2048, 2048): (2000.0, 1360.0),
    (4096, 4096, 4096): (13760.0, 8220.0),
    (8192, 8192, 8192): (120500.0, 76540.0),
    (16384, 256, 256): (429.40, 345.90),
    (16384, 1024, 256): (1118.35, 806.75),
    (8192, 256, 1024): (763.10, 707.52),
}
"""Rows, terms and columns: microseconds by convolution and by BAT."""
SPEEDUPS: Final = (1.99, 1.24, 1.10, 1.50, 1.67, 1.57, 1.24, 1.39, 1.08)
"""The last column of table 7."""
USED: Final = 85.0
"""Percent of the matrix units that section 6.3.1 says BAT uses on average."""

AREAS: Final = {
    "vector unit's element": (1296.0, 1.0, None),
    "with Barrett": (2016.0, 1.55, 3),
    "with hardcoded moduli": (1932.0, 1.49, 2),
    "with Montgomery": (2624.83, 2.03, 3),
}
"""Table 8: square micrometres, the printed ratio, cycles of latency."""
GAIN: Final = 2.0
"""Section 6.4: how much faster an element with a unit of its own is."""
NET: Final = 1.34
"""The throughput for the same area, as printed."""

NTT_SHARE: Final = (45.1, 86.3)
"""Section 3.1: percent of time in transforms, over operations of CKKS and BFV on a CPU."""
KERNELS_SHARE: Final = (74.5, 92.3)
"""Percent of time in transforms, basis changes and products, in the introduction."""
