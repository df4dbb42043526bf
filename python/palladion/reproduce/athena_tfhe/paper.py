"""Figures printed in the paper that several items use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from palladion.machines import Machine
from palladion.reproduce.athena_tfhe.published import PUBLISHED


def versal() -> Machine:
    """The paper's machine."""
    return Machine.named("versal")


@dataclass(frozen=True)
class Multiplier:
    """A row of table II: ``arrays`` of ``elements`` each, microseconds, and gigabits per second."""

    n: int
    elements: int
    arrays: int
    latency: float
    throughput: float


TABLE_2: Final = (
    Multiplier(512, 8, 1, PUBLISHED["I"].product_us, 2.83),
    Multiplier(1024, 16, 1, PUBLISHED["II"].product_us, 3.07),
    Multiplier(1024, 32, 1, 11.68, 5.61),
    Multiplier(1024, 32, 8, 1.46, 44.89),
    Multiplier(2048, 32, 1, 43.17, 3.04),
)


@dataclass(frozen=True)
class Bootstrapping:
    """A row of table V: bits of security, milliseconds, watts."""

    design: str
    platform: str
    security: int
    latency: float
    power: float | None

    @property
    def energy(self) -> float:
        """Millijoules: time times power, as in all rows. NaN if no power is printed."""
        return self.latency * (math.nan if self.power is None else self.power)


TABLE_5: Final = (
    Bootstrapping("TFHE library", "i7-4910MQ", 128, 13.00, 76.8),
    Bootstrapping("Concrete", "i7-4910MQ", 110, 62.00, 76.8),
    Bootstrapping("cuFHE", "RTX 3090", 110, 9.34, 200.0),
    Bootstrapping("MATCHA", "ASIC", 110, 6.8, 39.98),
    Bootstrapping("YKP", "VU13P", 110, 7.53, 50.0),
    Bootstrapping("YKP", "VU13P", 80, 19.13, 50.0),
    Bootstrapping("FPT", "U280", 128, 0.48, 99.0),
    Bootstrapping("FPT", "U280", 110, 0.58, 99.0),
    Bootstrapping("Kong", "VCU128", 128, 6.62, None),
    Bootstrapping("Kong", "VCU128", 110, 2.13, None),
)
"""The other designs, as the paper prints them."""

ATHENA: Final = {
    "I": Bootstrapping("ATHENA", "VCK190", 128, PUBLISHED["I"].milliseconds, 39.2),
    "II": Bootstrapping("ATHENA", "VCK190", 110, PUBLISHED["II"].milliseconds, 37.6),
}
"""The paper's own rows, by set."""
