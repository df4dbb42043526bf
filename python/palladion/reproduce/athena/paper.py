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

EDP: Final = {
    "w7a7": {"LeNet": 0.056, "MNIST": 0.008, "ResNet-20": 0.35, "ResNet-56": 3.32},
    "w6a7": {"LeNet": 0.050, "MNIST": 0.005, "ResNet-20": 0.24, "ResNet-56": 1.96},
}
"""Energy times delay of the paper's accelerator by table 7, J s."""


@dataclass(frozen=True)
class Accelerator:
    """An accelerator of CKKS as tables 6 to 9 print it.

    ``milliseconds`` (table 6; but for ResNet-20 scaled from it by the paper's authors) and ``edp``
    (table 7, J s) by network. Square millimetres and watts (table 9), megabytes of scratchpad and
    of register files (table 8).
    """

    milliseconds: dict[str, float]
    edp: dict[str, float]
    mm2: float
    watts: float | None
    scratchpad_mb: int
    registers_mb: int


NETWORKS: Final = ("LeNet", "MNIST", "ResNet-20", "ResNet-56")


def by_network(*values: float) -> dict[str, float]:
    """The cells of a row of tables 6 and 7."""
    return dict(zip(NETWORKS, values, strict=True))


OTHERS: Final = {
    "CraterLake": Accelerator(
        by_network(182, 35, 321, 946), by_network(3.73, 0.42, 11.61, 100.86), 222.7, 207, 256, 26
    ),
    "ARK": Accelerator(
        by_network(71, 14, 125, 368), by_network(0.64, 0.138, 1.99, 17.25), 418.3, 281.3, 512, 76
    ),
    "BTS": Accelerator(
        by_network(1084, 206, 1910, 5627),
        by_network(193.46, 6.987, 600.6, 5213),
        *(373.6, 133.8, 512, 22),
    ),
    "SHARP": Accelerator(
        by_network(56, 11, 99, 292), by_network(0.31, 0.012, 0.96, 8.36), 178.8, None, 180, 18
    ),
}
AREA_MM2: Final = 116.4
WATTS: Final = 148.1
"""The sums of table 9."""
SCRATCHPAD_MB: Final = 45
REGISTERS_MB: Final = 15


@dataclass(frozen=True)
class Solution:
    """A row of table 1: a solution for networks under encryption.

    ``log_q`` are bits, ``ciphertext`` and ``keys`` megabytes, accuracies percent in encryption and
    in plain.
    """

    method: str
    network: str
    degree: int
    log_q: int
    ciphertext: float
    keys: float
    encrypted: float
    plain: float


SOLUTIONS: Final = (
    Solution("YASHE, levelled", "CryptoNets", 8192, 191, 0.375, 31.5, 98.95, 99.0),
    Solution("BGV, levelled", "CryptoDL", 8192, 220, 0.448, 36.7, 99.5, 99.7),
    Solution("BFV, levelled", "Fast-CryptoNets", 8192, 219, 0.448, 36.7, 86.76, 93.10),
    Solution("CKKS, its reference 28", "ResNet-20", 65536, 1450, 27, 1900, 92.43, 92.95),
    Solution("CKKS, its reference 27", "ResNet-20", 65536, 1501, 32, 2100, 91.31, 91.52),
    Solution("CKKS, its reference 27", "ResNet-56", 65536, 1501, 32, 2100, 92.80, 93.07),
    Solution("Athena", "ResNet-20", 32768, 720, 5.6, 720, 93.63, 93.84),
    Solution("Athena", "ResNet-56", 32768, 720, 5.6, 720, 94.65, 94.89),
)
"""Table 1. Q of BGV is printed as below 220 bits; all but Fast-CryptoNets' and the ResNets' of
CIFAR-10 are MNIST's."""
