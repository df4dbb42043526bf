"""Figure 4: the parts of the operations of CKKS and BFV."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from palladion import bfv
from palladion.circuit import Circuit
from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.measured import profiles
from palladion.reproduce.cross.model import Work
from palladion.reproduce.cross.operations import SETS, WRITTEN, operation
from palladion.reproduce.cross.paper import KERNELS_SHARE, NTT_SHARE, OPERATIONS
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

SHOWN: Final = ("cross-6", "secure")
BFV: Final = "bfv"
BFV_OPERATIONS: Final = ("add", "product", "rotation")
"""BFV has no rescale: a product keeps its modulus."""
KINDS: Final = {
    "transforms": ("ntt", "intt"),
    "basis changes": ("convert", "combine", "combine-wide"),
    "products": ("mul", "dot", "scale"),
    "sums": ("add", "sub"),
    "others": ("permute", "extract", "turn", "round", "digit"),
}
"""Kernels of each kind."""


def shares(work: Work) -> dict[str, float]:
    """Percent of 32-bit modular products and sums, with transforms by butterflies."""
    passes, butterflies = work.passes, work.n.bit_length() - 1
    # A butterfly is a product and two sums for two words.
    counts = {
        "transforms": work.transforms * butterflies * 1.5,
        "basis changes": 2.0 * passes["conversion terms"],
        "products": passes["products"] + 2.0 * passes["dot terms"] + passes["scalings"],
        "sums": float(passes["additions"]),
    }
    total = sum(counts.values())
    return {name: 100 * count / total for name, count in counts.items()}


def times(text: str, runs: int) -> dict[str, float]:
    """Seconds of each kind in a trace through XLA, medians of the runs."""
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for profile in profiles(text, runs):
        for kind, kernels in KINDS.items():
            own = (each for name, each in profile.items() if name.split()[0] in kernels)
            taken[kind].append(sum(own))
    return {kind: statistics.median(each) for kind, each in taken.items()}


def bfv_params() -> bfv.Params:
    """Parameters of BFV, 128-bit secure, in words of 32 bits."""
    return bfv.Params(14, [31] * 10, [31, 31], t=65537, digit_limbs=2)


def traces() -> Iterator[tuple[str, str, str, Work]]:
    """The set, the operation, its trace and its work, one after the other."""
    for name in SHOWN:
        params = SETS[name].params()
        for each in OPERATIONS:
            trace = operation(SETS[name], params, each)
            yield SETS[name].name, each, trace.text, trace.work
    exact = bfv_params()
    for each in BFV_OPERATIONS:
        circuit = Circuit(exact, name=each)
        operands, write = WRITTEN[each]
        circuit.output("z", write(*(circuit.input(f"x{index}") for index in range(operands))))
        lowered = circuit.lower()
        yield BFV, each, lowered.text, Work.of(exact.n, 32, lowered.counts().to_json())


def run(measured: bool, runs: int, steps: Steps) -> Reproduction:
    """Shares of the operations' arithmetic, and of their times here."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    count = len(SHOWN) * len(OPERATIONS) + len(BFV_OPERATIONS)
    for done, (name, each, text, work) in enumerate(traces()):
        steps.count(f"{name} {each}", done, count)
        rows.append((name, each, "counted", *shares(work).values(), None, None))
        if measured:
            seconds = times(text, runs)
            total = sum(seconds.values())
            parts = (100 * part / total for part in seconds.values())
            rows.append((name, each, "measured", *parts, 1e3 * total))
    return Reproduction(
        "Figure 4: shares of arithmetic and of time by kind, in percent",
        COLUMNS,
        rows,
        NOTES,
        tuple(panels(rows)),
    )


def panels(rows: list[tuple[Cell, ...]]) -> Iterator[Panel]:
    """Bars of each kind over the operations of the paper's set, and of BFV, for each source."""
    for source in dict.fromkeys(cells[2] for cells in rows):
        for name in (SETS[SHOWN[0]].name, BFV):
            own = [cells for cells in rows if (cells[0], cells[2]) == (name, source)]
            names = [str(cells[1]) for cells in own]
            bars = []
            for place, kind in enumerate(KINDS):
                values = (cells[3 + place] for cells in own)
                bars.append(
                    Series(kind, names, [v if isinstance(v, float) else None for v in values])
                )
            yield Panel(f"{name}, {source}", "%", bars)


COLUMNS: Final = (
    Column("set", "set"),
    Column("operation", "operation"),
    Column("source", "source"),
    Column("transforms", "transforms", ".1f"),
    Column("basis_changes", "basis changes", ".1f"),
    Column("products", "products", ".1f"),
    Column("sums", "sums", ".1f"),
    Column("others", "others", ".1f"),
    Column("here_ms", "ms", ",.1f"),
)
NOTES: Final = (
    "The figure's bars print no numbers. Its text has shares of time, of OpenFHE on a CPU over "
    f"operations of CKKS and BFV: transforms {NTT_SHARE[0]} to {NTT_SHARE[1]} %, and transforms, "
    f"basis changes and products together {KERNELS_SHARE[0]} to {KERNELS_SHARE[1]} %.",
    "counted: shares of modular products and sums of words in the operations' traces, with "
    "transforms by butterflies. They are no times: a transform also moves words. measured: with "
    "--measure, shares of time and ms here, by waves of one kernel each through JAX, on random "
    "residues and without loading them. others: permutations and roundings, which have no products "
    "modulo a prime.",
    "bfv: N = 2^14, t = 65537, 10 primes and 2 special ones of 31 bits, digits of 2 limbs, 128-bit "
    "secure; a product is relinearised. A measured rescale has the product with a number before "
    "it.",
)
