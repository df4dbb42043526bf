"""Figures that the paper prints, and our programs in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Benchmark:
    """A bar of figure 5. ``ours`` are programs of ours, the secure one first.

    Milliseconds of F1 and of the paper's CPU, a Xeon E3-1240v5 of 4 cores at 3.5 GHz. ``limbs``
    is the number with which the program starts, ``digit_limbs`` the sizes of digits that are tried.
    """

    name: str
    f1_ms: float
    cpu_ms: float
    limbs: int
    ours: tuple[str, ...]
    why: str
    digit_limbs: tuple[int, ...] = (1, 2, 3, 4, 6)


FIGURE_5: Final = {
    "lola-cifar": Benchmark(
        "LoLa-CIFAR",
        241,
        1.2e6,
        8,
        ("lola-cifar",),
        "another program. Ours has 230 rotations: the client sends an image as 38 ciphertexts, in "
        "which each place sees its pixels, and plaintexts repeat after 128 slots. It takes about a "
        "second on a CPU, the paper's 20 minutes. 241 ms are 241 GB of traffic at most, of which "
        "three quarters are intermediates by the paper; ours loads 3 GB of plaintext weights, and "
        "few hints",
        (1, 2),
    ),
    "lola-mnist": Benchmark(
        "LoLa-MNIST, plain weights",
        0.17,
        2960,
        4,
        ("lola-mnist",),
        "a ring of half the degree, since 7 limbs of 32 bits are still secure at N = 2^13",
    ),
    "lola-mnist-encrypted": Benchmark(
        "LoLa-MNIST, encrypted weights",
        0.36,
        5431,
        6,
        ("lola-mnist-encrypted",),
        "a ring of half the degree, and a sum of products is relinearised once: 15 times, where "
        "there are 153 products of ciphertexts",
    ),
    "helr": Benchmark(
        "Logistic regression",
        1.15,
        8300,
        16,
        ("helr", "helr-f1-insecure"),
        "an iteration takes 4 levels, so the secure program starts with 6 limbs instead of 16. "
        "From 17 limbs, with digits of one, a hint has 40 MB, and the scratchpad no room for "
        "another: what is loaded again depends on whether the 8 ciphertexts of a batch share it",
    ),
    "lookup": Benchmark(
        "DB lookup",
        4.36,
        29300,
        17,
        ("lookup", "lookup-f1-insecure"),
        "another table. HElib's example (BGV_country_db_lookup) has a ciphertext for each row, and "
        "takes 56 products and 47 rotations for each, at a modulus of 131 that rings of our kind "
        "have no slots for; the paper does not say how many rows it adapted. Ours has a row in "
        "each slot: 17 products find it, and 26 rotations of few limbs sum up all its columns. A "
        "hint for 17 limbs of N = 2^14 is 40 MB with digits of one limb, so 4.36 ms are a hundred "
        "of them",
    ),
    "bgv-bootstrapping": Benchmark(
        "BGV bootstrapping",
        2.40,
        4390,
        24,
        ("bgv-bootstrapping", "bgv-bootstrapping-f1-insecure"),
        "digits of several limbs: hints are most of the traffic, and digits of one limb, as the "
        "paper's, have several times as many. Messages are modulo 3 here, whose 7 digits "
        "take 12 products one after the other",
    ),
    "ckks-bootstrapping": Benchmark(
        "CKKS bootstrapping",
        1.30,
        1554,
        24,
        ("ckks-bootstrapping", "ckks-bootstrapping-f1-insecure"),
        "digits of several limbs: hints of 14 rotations are most of the traffic, and with digits "
        "of one limb, as the paper's, there are several times as many",
    ),
}
"""Times of figure 5a; limbs are from the longer paper, arXiv 2109.05371, by memory."""

SPEEDUP_RANGE: Final = (1195, 17412)
"""Least and largest speed-up of F1 over the CPU. The text prints them, and the quotients of the
times above agree: 1554 / 1.30 and 2960 / 0.17."""
GEOMETRIC_MEAN: Final = 5432
"""Of the seven speed-ups, as the text prints it. The rounded times give 5,427."""
LIKE_F1: Final = (
    "helr-f1-insecure",
    "bgv-bootstrapping-f1-insecure",
    "ckks-bootstrapping-f1-insecure",
)
"""Programs that have F1's degree and limbs, and do F1's task in its way."""

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
