"""Table 3: products and rotations of each step of the loop."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena import loop
from palladion.reproduce.athena.fig9 import PARTS
from palladion.reproduce.athena.simulated import calls, network_of
from palladion.reproduce.reproduction import Cell, Column, Reproduction

PRINTED: Final = {
    "linear": ("O(C)", "/", "/"),
    "packing": ("O(C)", "/", "O(C)"),
    "FBS": ("O(t)", "O(sqrt t)", "/"),
    "S2C": ("O(N^1/3)", "/", "O(N^1/3)"),
}
"""Products with plaintexts, products of ciphertexts, rotations."""
PRODUCTS: Final = ("relinearize",)
"""Sub-traces of key switches."""
ROTATIONS: Final = ("rotate", "automorphism", "turn")


def run(models: Path, benchmark: str, steps: Steps) -> Reproduction:
    """Orders as printed, the counts of algorithm 2, and the counts of our program's trace."""
    network = network_of(benchmark, "w7a7", models)
    with steps.step(f"compile {benchmark}"):
        trace = CompiledModel.of_network(network).lower()
    found = calls(trace.text)
    table = loop.Table()
    rows: list[tuple[Cell, ...]] = []
    for part, orders in PRINTED.items():
        own: Counter[str] = sum((found[name] for name in PARTS[part] if name in found), Counter())
        algorithm = table.products if part == "FBS" else None
        rows.append(
            (
                *(part, *orders, algorithm),
                *(sum(own[name] for name in PRODUCTS), sum(own[name] for name in ROTATIONS)),
            )
        )
    return Reproduction(
        f"Table 3: products and rotations, {benchmark} w7a7",
        (
            *(Column("step", "step"), Column("pmult", "PMult"), Column("cmult", "CMult")),
            *(Column("hrot", "HRot"), Column("algorithm_cmult", "CMult, algorithm 2")),
            *(Column("products", "our key switches of products"),
              Column("rotations", "our rotations")),
        ),
        rows,
        (
            "PMult, CMult, HRot: orders as the paper prints them, for one ciphertext. CMult, "
            "algorithm "
            f"2: {table.steps} baby steps and {table.steps} giant steps for t = 65537, one table.",
            "ours: key switches in the trace of the whole network, of all its layers. Products "
            "that "
            "are summed share one key switch.",
            "Why ours has fewer: a table has the degree of its layer, and giant steps are summed "
            "before one key switch. `savings` has the ratios.",
        ),
    )  # fmt: skip
