"""The paper's sets of parameters, its times for them, and the parts that these can contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion import _native
from palladion.machines import Bootstrapping, BootstrapSet

SETS: Final = {
    "I": BootstrapSet("I", 586, 2, 512, (8, 2), (2, 8), "INSECURE: 110.1 bits (128 by the paper)"),
    "II": BootstrapSet(
        *("II", 500, 1, 1024, (10, 3), (1, 15)),
        "INSECURE: 115.0 bits (110 by the paper, 80 by its code)",
    ),
}
"""Table I of ATHENA. The security comes from ``crates/tfhe``. Set II has 3 digits, as in the
paper's code and text. The table says 2. The digits of the key switch come from the code."""

NAMED: Final = {"I": "tfhe-paper-1-insecure", "II": "tfhe-paper-2-insecure"}
"""The sets by their names in `palladion params`."""

SET_II_AS_PRINTED: Final = BootstrapSet(
    *("II, l = 2", 500, 1, 1024, (10, 2), (1, 15)), SETS["II"].security
)


@dataclass(frozen=True)
class Published:
    """Times that the paper prints for a set: of a bootstrapping, and of one of its products."""

    milliseconds: float
    product_us: float


PUBLISHED: Final = {"I": Published(6.19, 11.56), "II": Published(10.35, 21.33)}
"""Tables V and II of ATHENA, for direct multipliers."""


def log2_failure(name: str) -> float:
    """log2 of the probability that a bootstrapping of a set is wrong, by ``palladion params``."""
    return float(_native.TfheParams.named(NAMED[name], True).describe()["log2_failure"])


def published(sizes: BootstrapSet, run: Bootstrapping) -> list[str]:
    """The parts that the paper's time of a set can and cannot contain, with the arithmetic.

    ``run`` is the result of :meth:`Machine.bootstrap` with direct multipliers.
    """
    printed, product = (
        PUBLISHED[sizes.name].milliseconds,
        PUBLISHED[sizes.name].product_us,
    )
    each = 1000 * printed / sizes.lwe_dimension
    megabytes = run.switch_key_bytes / 1e6
    least = run.switch_key_bytes / run.memory_megabytes_per_second / 1000
    whole = run.whole.processor
    switch = next(part.us for part in whole.parts if part.name == "key switch") / 1000
    rest = whole.latency_ms - run.latency_ms
    return [
        f"The paper's {printed:.2f} ms are {each:.2f} us for each of {sizes.lwe_dimension} "
        f"iterations, which depend on each other. Its table II prints {product:.2f} us for one "
        "product of an iteration. So the time has no room for the rotation and the sums of an "
        "iteration, and none for any part besides the blind rotation.",
        f"A key switch by samples reads {megabytes:.1f} MB of key. At the peak rate of the memory "
        f"that takes {least:.2f} ms, {100 * least / printed:.0f} % of the printed time; simulated "
        f"on the processor it takes {switch:.2f} ms.",
        f"So {printed:.2f} ms can be the blind rotation ({run.latency_ms:.2f} simulated), and "
        f"cannot contain the key switch. The whole takes {whole.latency_ms:.2f} ms, "
        f"{rest:.2f} of them outside the blind rotation.",
        "The published program starts its clock when the graph starts, after the modulus switch "
        "and the starts of the channels, and stops it when the graph ends, before the extraction "
        "and the key switch. The paper does not say whether its times are those of this program.",
    ]
