"""Figure 6: the accelerator's numbers, beside numbers that follow from others."""

from __future__ import annotations

from math import log2

from palladion.accelerators.packing_model import PackingMachine
from palladion.measure.accuracy import Steps
from palladion.reproduce.reproduction import Cell, Column, Reproduction

KILOBYTES_PRINTED = 1
"""Of a polynomial: section 4.2 and the public simulator."""


def run(steps: Steps) -> Reproduction:
    """Sizes in sections 6 and 7.1, and the arithmetic."""
    steps.start_run()
    machine = PackingMachine.named("hyena")
    n, log_n = machine.n, int(log2(machine.n))
    polynomial = n * machine.word_bytes / 1024
    registers = (2 * n + n + machine.partial_sums * 2 * n) * machine.word_bytes / 1024
    rows: list[tuple[Cell, ...]] = [
        ("Benes network, levels", 2 * log_n + 1, 2 * log_n - 1, "2 log N - 1 for N inputs"),
        ("Benes network, 2 x 2 switches a level", n, n // 2, "two inputs each"),
        ("transform of N points, cycles", log_n, 2 * machine.half_steps, "two halves of 32 points"),
        ("multipliers", 2 * n, 4 * 256, "table 4: 2 x 2 of 256"),
        ("polynomial, KB", KILOBYTES_PRINTED, polynomial, "N words of 32 bits"),
        ("ciphertext, KB", 8, 2 * polynomial, "two polynomials"),
        ("partial-sum registers, KB", 512, machine.partial_sums * 2 * polynomial, "64 ciphertexts"),
        ("all registers and L2, MB", 15.02, 14 + registers / 1024, "14 MB of L2, table 4's words"),
        ("W polynomials in 4 MB of L2", 4096, 4 * 1024 / polynomial, "section 6.3 prints 4K"),
        ("IF polynomials in 2 MB of L2", 512, 2 * 1024 / polynomial, "half as many ciphertexts"),
        ("hints in 8 MB of L2", n, 8 * 1024 / (2 * polynomial), "N rotations, a pair each"),
    ]
    return Reproduction(
        "Figure 6: the accelerator",
        (
            Column("what", "what"),
            *(Column("paper", "paper", ",g"), Column("follows", "follows", ",g")),
            Column("from", "from"),
        ),
        rows,
        (
            "The figure prints no numbers; those of the paper's text and tables stand beside what "
            "follows from N = 1,024 and words of 32 bits.",
            "`palladion simulate run TRACE --machine hyena` runs real programs on it, with the "
            "substitutions that its file names.",
        ),
    )
