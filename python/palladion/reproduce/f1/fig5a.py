"""Figure 5a: times of the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.f1.paper import FIGURE_5
from palladion.reproduce.f1.simulated import Run, simulated
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

FACTOR: Final = 1.5
"""Ratio from which on, and below whose inverse, a difference is explained."""


def run(f1_benchmarks: Sequence[str], digit_limbs: Sequence[int], steps: Steps) -> Reproduction:
    """Each program with its fastest digits beside the published time."""
    found = simulated(f1_benchmarks, digit_limbs, steps)
    best = [fastest for fastest, _ in found]
    names = [each.label for each in best]
    return Reproduction(
        "Figure 5a: times of seven benchmarks on F1, simulated",
        COLUMNS,
        [row(fastest, runs) for fastest, runs in found],
        (*(choice(fastest, runs) for fastest, runs in found), *reasons(best), *NOTES),
        (
            Panel(
                "program",
                "ms",
                (
                    Series("paper", names, [each.benchmark.f1_ms for each in best]),
                    Series("simulated", names, [each.milliseconds for each in best]),
                    Series("lower bound", names, [each.bound for each in best]),
                ),
                logarithmic=True,
            ),
        ),
    )


def row(each: Run, runs: Sequence[Run]) -> tuple[Cell, ...]:
    """The paper's time, our time, and the parts of ours."""
    single = next((run.milliseconds for run in runs if run.made["digit_limbs"] == 1), None)
    made, passes = each.made, each.made["counts"]["passes"]
    paper = each.benchmark.f1_ms
    return (
        *(each.program, each.benchmark.cpu_ms, paper, each.milliseconds),
        *(each.milliseconds / paper, each.bound, each.found.gap),
        *(each.tight_bound, each.found.tight_gap),
        single,
        *(f"2^{made['log_n']}", made["limbs"], each.benchmark.limbs, made["digit_limbs"]),
        *(each.rotations, each.products, passes["ntt"] + passes["intt"], passes["dot terms"]),
        *(each.traffic("hints") / 1e6, each.found.traffic_total / 1e6),
    )


def choice(fastest: Run, runs: Sequence[Run]) -> str:
    """The time with each size of digits."""
    each = ", ".join(
        f"{run.made['digit_limbs']}: {run.milliseconds:.3f} ms, hints of "
        f"{run.traffic('hints') / 1e6:.0f} MB"
        for run in runs
    )
    security = fastest.made["security"]["text"]
    return (
        f"{fastest.program}: log2(QP) = {fastest.made['log_qp']:.0f}, {security}. "
        f"By limbs of a digit, {each}."
    )


def reasons(best: Sequence[Run]) -> list[str]:
    """Why times differ by more than the factor."""
    notes = []
    for name, benchmark in FIGURE_5.items():
        ratios = [
            each.milliseconds / benchmark.f1_ms for each in best if each.benchmark is benchmark
        ]
        if ratios and any(not 1 / FACTOR <= ratio <= FACTOR for ratio in ratios):
            shown = " and ".join(f"{ratio:.2f}" for ratio in ratios)
            notes.append(f"{name}, {shown} times the paper's: {benchmark.why}.")
    return notes


COLUMNS: Final = (
    Column("program", "program"),
    Column("cpu_ms", "CPU", ".0f"),
    Column("paper_ms", "F1", ".2f"),
    Column("simulated_ms", "ours", ".3f"),
    Column("ratio", "ratio", ".2f"),
    Column("bound_ms", "bound", ".3f"),
    Column("gap", "gap", ".2f"),
    Column("tight_bound_ms", "tight", ".3f"),
    Column("tight_gap", "gap t", ".2f"),
    Column("single_ms", "d = 1", ".3f"),
    Column("degree", "N"),
    Column("limbs", "limbs"),
    Column("paper_limbs", "L"),
    Column("digit_limbs", "d"),
    Column("rotations", "rotations"),
    Column("relinearizations", "products"),
    Column("transforms", "NTTs", ","),
    Column("limb_products", "dots", ","),
    Column("hint_megabytes", "hints", ".0f"),
    Column("traffic_megabytes", "MB", ".0f"),
)
NOTES: Final = (
    "CPU and F1: ms as the paper prints them, CPU on its Xeon E3-1240v5; ours: simulated on the "
    "machine f1, with the fastest of the digits that were tried. Nothing is encrypted: traces need "
    "no keys. bound: the largest of the longest chain, the busiest unit and compulsory traffic; "
    "tight: the largest over all sets of work of the chain before it, the work, and the chain "
    "behind it; gap and gap t: ours over each. "
    "d = 1: ours with digits of one limb, as the paper's.",
    "limbs: of 32 bits, that ours starts with; two of CKKS's bootstrappings are not used. L: the "
    "paper's, by memory of arXiv 2109.05371, not checked against the paper. rotations, and "
    "products of ciphertexts that are relinearised, have a key switch each; NTTs, and the terms "
    "of inner products (dots), are passes over limbs; hints and all traffic (MB) in megabytes.",
    "The paper runs each program at the security it was written for: 128 bits for LoLa, 80 for "
    "the others. Ours have 128 bits, but for those whose names say insecure: they have F1's "
    "degree and length.",
    "A key switch with digits of one limb from L limbs reads 2 L (L + 1) limbs of hint, and F1's "
    "about as much; digits of d limbs read 2 (L / d) (L + d), for special moduli of d limbs.",
    "Weights of the networks are synthetic: no instruction depends on a weight. Plaintext weights "
    "are loaded as coefficients and transformed on the machine.",
)
