"""Figures printed in the paper that several items use, in percent unless stated otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOG_N: Final = 15
LOG_T: Final = 16
LOG_Q: Final = 720
LOG_LWE: Final = 11
"""log2 of the LWE dimension."""
T: Final = 65537
"""Section 3.3, parameters."""


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of one network at one precision: quantised in plain, and encrypted."""

    integer: float
    encrypted: float


@dataclass(frozen=True)
class Benchmark:
    """A network of section 5.1, with Tables 5 and 6. ``milliseconds`` are on the paper's
    accelerator."""

    floating: float
    accuracy: dict[str, Accuracy]
    milliseconds: dict[str, float]


BENCHMARKS: Final = {
    "MNIST": Benchmark(
        98.34,
        {"w7a7": Accuracy(98.27, 98.28), "w6a7": Accuracy(98.37, 98.30)},
        {"w7a7": 9.2, "w6a7": 7.3},
    ),
    "LeNet": Benchmark(
        99.09,
        {"w7a7": Accuracy(99.04, 99.00), "w6a7": Accuracy(99.03, 99.00)},
        {"w7a7": 26.6, "w6a7": 24.1},
    ),
    "ResNet-20": Benchmark(
        93.85,
        {"w7a7": Accuracy(93.84, 93.63), "w6a7": Accuracy(93.51, 93.45)},
        {"w7a7": 65.5, "w6a7": 54.9},
    ),
    "ResNet-56": Benchmark(
        94.96,
        {"w7a7": Accuracy(94.89, 94.65), "w6a7": Accuracy(94.79, 94.66)},
        {"w7a7": 198.7, "w6a7": 157.8},
    ),
}
