"""Table 3: products and rotations of each step of the loop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena import loop
from palladion.reproduce.athena.fig9 import PARTS
from palladion.reproduce.athena.simulated import STEP, calls, network_of, operation_of
from palladion.reproduce.reproduction import Cell, Column, Reproduction

PRINTED: Final = {
    "linear": ("O(C)", "/", "/"),
    "packing": ("O(C)", "/", "O(C)"),
    "FBS": ("O(t)", "O(sqrt t)", "/"),
    "S2C": ("O(N^1/3)", "/", "O(N^1/3)"),
}
"""Products with plaintexts, products of ciphertexts, rotations."""
PRINTED_CKKS: Final = {
    "CKKS, convolution": ("O(f^2 C)", "/", "O(f^2) + O(C)"),
    "CKKS, ReLU": ("O(p)", "O(sqrt p)", "/"),
    "CKKS, bootstrapping": ("O(N^1/3) + O(r)", "O(sqrt r)", "O(N^1/3)"),
}
"""The same of the solution that the paper compares with, its reference 27."""
CIPHERTEXTS: Final = ("tensor",)
"""Sub-traces of products of ciphertexts."""
PRODUCTS: Final = ("relinearize",)
"""Sub-traces of key switches."""
ROTATIONS: Final = ("rotate", "automorphism", "turn")

SUB: Final = re.compile(r"^sub ([^ ]+) ")
LIFTED: Final = re.compile(r"^\s*(%\d+): .*= call lift\.")
DOT: Final = re.compile(r"^\s*%\d+: .*= dot (.*)$")
COMBINED: Final = re.compile(r"^\s*(%.*) = combine (.*?) list ")
CALLED: Final = re.compile(r"= call ([^ ]+)")
COMPONENTS: Final = 2
"""Of a ciphertext: a product with a plaintext multiplies each."""


def run(models: Path, benchmark: str, steps: Steps) -> Reproduction:
    """Orders as printed, the counts of algorithm 2, and the counts of our program's trace."""
    network = network_of(benchmark, "w7a7", models)
    with steps.step(f"compile {benchmark}"):
        trace = CompiledModel.of_network(network).lower()
    table, called, plain = loop.Table(), calls(trace.text), plain_products(trace.text)
    rows: list[tuple[Cell, ...]] = []
    for part, orders in PRINTED.items():
        own: Counter[str] = sum((called[name] for name in PARTS[part] if name in called), Counter())
        rows.append(
            (
                *(part, *orders, table.products if part == "FBS" else None),
                sum(plain[name] for name in PARTS[part]),
                *(sum(own[name] for name in names) for names in (CIPHERTEXTS, PRODUCTS, ROTATIONS)),
                "printed; counted",
            )
        )
    rows += [
        (name, *orders, None, None, None, None, None, "printed")
        for name, orders in PRINTED_CKKS.items()
    ]
    return Reproduction(
        f"Table 3: products and rotations, {benchmark} w7a7",
        (
            *(Column("step", "step"), Column("pmult", "PMult"), Column("cmult", "CMult")),
            *(Column("hrot", "HRot"), Column("algorithm_cmult", "CMult, alg. 2", ",")),
            *(Column("plain_products", "our PMult", ","), Column("tensors", "our CMult", ",")),
            *(Column("products", "our k. switches", ","), Column("rotations", "our HRot", ",")),
            Column("source", "source"),
        ),
        rows,
        (
            "PMult, CMult, HRot: orders as the paper prints them, for one ciphertext. CMult, alg. "
            f"2: {table.steps} baby steps and {table.steps} giant steps for t = 65537, one table.",
            "our: counted in the trace of the whole network, over all its layers. PMult: products "
            "of a ciphertext with a plaintext, or with a number for the sums of a table. CMult: "
            "products of ciphertexts; those that are summed share one key switch of products.",
            "Why ours has fewer: a table has the degree of its layer, and giant steps are summed "
            "before one key switch. `savings` has the ratios.",
        ),
    )


def plain_products(trace: str) -> Counter[str]:
    """For each operation of a program, its products of ciphertexts with plaintexts and numbers.

    A plaintext is a polynomial that was lifted. Products in sub-traces count for each call.
    """
    subs, _, main = trace.rpartition("\nmain")
    inside: Counter[str] = Counter()
    for name, lines in bodies(subs.splitlines()):
        inside[name] = products_of(lines)
    counts: Counter[str] = Counter()
    for operation, lines in sections(main.splitlines()):
        called = (CALLED.search(line) for line in lines)
        counts[operation] += products_of(lines)
        counts[operation] += sum(inside[call[1]] for call in called if call)
    return Counter({operation: count // COMPONENTS for operation, count in counts.items()})


def products_of(lines: Iterable[str]) -> int:
    """Products of polynomials with lifted ones or with numbers."""
    lifted, count = set(), 0
    for line in lines:
        if match := LIFTED.match(line):
            lifted.add(match[1])
        elif match := DOT.match(line):
            count += sum(not lifted.isdisjoint(term.split()) for term in match[1].split(", "))
        elif match := COMBINED.match(line):
            count += len(match[1].split(", ")) * len(match[2].split())
    return count


def bodies(lines: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    """Names and lines of sub-traces."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := SUB.match(line):
            found.append((match[1], []))
        elif found:
            found[-1][1].append(line)
    return found


def sections(lines: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    """Operations of the steps of a program, in order, with their lines."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := STEP.match(line):
            found.append((operation_of(match[1]), []))
        elif found:
            found[-1][1].append(line)
    return found
