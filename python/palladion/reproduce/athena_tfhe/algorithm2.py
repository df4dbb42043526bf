"""Algorithm 2: products by FFT in single precision, as printed and made exact."""

from __future__ import annotations

from typing import Final

import numpy as np

from palladion import _native
from palladion.measure.accuracy import Steps
from palladion.reproduce.reproduction import Column, Reproduction

CASES: Final = ((512, 6, 1 << 7), (1024, 6, 1 << 9), (1024, 1, 1 << 30), (2048, 6, 1 << 9))
"""Ring degree, rows of a sum, largest digit: both sets, full words, the largest ring."""

EXACT_DIGIT: Final = 1 << 20
"""Largest digit for which three primes of 30 bits must suffice with full words."""


def row(n: int, rows: int, digit: int) -> tuple[str | int | float, ...]:
    """A product of random operands by the printed algorithm, and the limbs that make it exact."""
    rng = np.random.default_rng(n + digit)
    digits = rng.integers(-digit, digit, size=n)
    words = rng.integers(0, 1 << 32, size=n)
    found = _native.algorithm_2(digits.tolist(), words.tolist(), rows, min(digit, EXACT_DIGIT))
    (a_bits, a_count), (b_bits, b_count) = found["exact_limbs"]
    return (
        *(n, f"2^{digit.bit_length() - 1}", 100 * found["wrong_residues"]),
        *(100 * found["wrong_words"], float(np.log2(found["rms_error"]))),
        *(float(np.log2(found["estimated_rms_error"])), float(np.log2(found["spacing"]))),
        f"{a_count} of {a_bits}, {b_count} of {b_bits}",
        found["exact_bound"],
    )


def run(steps: Steps) -> Reproduction:
    """All cases, measured."""
    with steps.step("multiply"):
        rows = [row(*case) for case in CASES]
    return Reproduction("Algorithm 2 as printed: FFT in single precision", COLUMNS, rows, NOTES)


COLUMNS: Final = (
    Column("n", "N"),
    Column("digit", "digits"),
    Column("wrong_residues", "% residues wrong", ".2f"),
    Column("wrong_words", "% words", ".2f"),
    Column("log_rms_error", "log2 error", ".1f"),
    Column("log_estimate", "estimate", ".1f"),
    Column("log_spacing", "spacing", ".1f"),
    Column("limbs", "exact: limbs"),
    Column("bound", "bound", ".3f"),
)
NOTES: Final = (
    "Measured in software with random operands. log2 error: root mean square error of a "
    "coefficient before it is reduced modulo a prime of 21 bits; estimate: from the roundings; "
    "spacing: of numbers in single precision at the size of a coefficient.",
    "Residues of 21 bits make products of up to 2^51 in numbers with a mantissa of 24 bits: what "
    "is asked for is beneath the last bit. The paper's bound on the primes, 2^62, lacks the "
    "factor 2 N.",
    "exact: limbs of digits and of words modulo three primes, by which the bound on the error of "
    "what is rounded is below 1/2, proven (ring::torus::garner). Full words: of digits up to "
    "2^20.",
)
