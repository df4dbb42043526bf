"""Figures that the paper prints, and our programs in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Benchmark:
    """A bar of figure 5. ``ours`` are programs of ours, the secure one first.

    Milliseconds of F1 and of the paper's CPU, a Xeon E3-1240v5 of 4 cores at 3.5 GHz. ``limbs``
    are those that the program starts with.
    """

    name: str
    f1_ms: float
    cpu_ms: float
    limbs: int
    ours: tuple[str, ...]
    why: str


FIGURE_5: Final = {
    "lola-cifar": Benchmark(
        "LoLa-CIFAR",
        241,
        1.2e6,
        8,
        ("lola-cifar",),
        "another program: our layout has 46,000 products with short plaintexts and 140 rotations "
        "or so, and runs in half a second on a CPU where the paper's takes 20 minutes",
    ),
    "lola-mnist": Benchmark(
        "LoLa-MNIST, plain weights",
        0.17,
        2960,
        4,
        ("lola-mnist",),
        "7 limbs instead of 4: our two squares and three layers take a level each above a first "
        "modulus of two limbs",
    ),
    "lola-mnist-encrypted": Benchmark(
        "LoLa-MNIST, encrypted weights",
        0.36,
        5431,
        6,
        ("lola-mnist-encrypted",),
        "as with plain weights; our layers relinearise once for a whole sum of products",
    ),
    "helr": Benchmark(
        "Logistic regression",
        1.15,
        8300,
        16,
        ("helr", "helr-f1-insecure"),
        "an iteration of ours takes 4 levels, and can start with 6 limbs instead of 16; from 16 "
        "limbs it moves as much as the paper's",
    ),
    "lookup": Benchmark(
        "DB lookup",
        4.36,
        29300,
        17,
        ("lookup", "lookup-f1-insecure"),
        "another table: HElib's example compares strings, ours a word of 16 bits with all slots; "
        "every fourth of our squarings drops a second limb of 32 bits",
    ),
    "bgv-bootstrapping": Benchmark(
        "BGV bootstrapping",
        2.40,
        4390,
        24,
        ("bgv-bootstrapping", "bgv-bootstrapping-f1-insecure"),
        "messages modulo 3 instead of 2: seven digits instead of one bit after the other",
    ),
    "ckks-bootstrapping": Benchmark(
        "CKKS bootstrapping",
        1.30,
        1554,
        24,
        ("ckks-bootstrapping", "ckks-bootstrapping-f1-insecure"),
        "the same sizes: 14 or 15 rotations of all slots, and a polynomial for the sine",
    ),
}
"""Times of figure 5a; limbs are from the longer paper, arXiv 2109.05371, by memory."""

NON_COMPULSORY: Final = (5.0, 18.0)
"""Percent that traffic exceeds the compulsory by, in all programs but LoLa-CIFAR."""
INTERMEDIATES_CIFAR: Final = 75.0
"""Percent of LoLa-CIFAR's traffic."""
HINTS_MOST: Final = 94.0
"""Percent of traffic that is hints, at most."""
COMPUTE: Final = (20.0, 30.0)
"""Percent of power that is computation."""

AREA_MM2: Final = 151.4
WATTS: Final = 180.4
SHARES: Final = {"units": 42, "memories": 32, "network": 6, "memory": 20}
"""Percent of the area as the text prints them."""
COMPONENTS: Final = {
    "ntt": (16 * 2.27, 16 * 4.80),
    "automorphism": (16 * 0.58, 16 * 0.99),
    "multiplier": (32 * 0.25, 32 * 0.60),
    "adder": (32 * 0.03, 32 * 0.05),
    "register files": (16 * 0.56, 16 * 1.67),
    "scratchpad": (48.09, 20.35),
    "network": (10.02, 19.65),
    "memory": (29.80, 0.45),
}
"""Square millimetres and watts of the longer paper's table, by memory."""
