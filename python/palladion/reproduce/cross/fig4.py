"""Figure 4: the parts of the operations."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.cross.model import Work
from palladion.reproduce.cross.operations import SETS, operation
from palladion.reproduce.cross.paper import KERNELS_SHARE, NTT_SHARE, OPERATIONS
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

SHOWN: Final = ("cross-6", "secure")


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


def run(steps: Steps) -> Reproduction:
    """Shares of the operations' arithmetic."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    found = {}
    for done, name in enumerate(SHOWN):
        steps.count(name, done, len(SHOWN))
        params = SETS[name].params()
        for each in OPERATIONS:
            found[name, each] = shares(operation(SETS[name], params, each).work)
            rows.append((SETS[name].name, each, *found[name, each].values()))
    kinds = list(found[SHOWN[0], "add"])
    series = [
        Series(kind, OPERATIONS, [found[SHOWN[0], each][kind] for each in OPERATIONS])
        for kind in kinds
    ]
    return Reproduction(
        "Figure 4: shares of arithmetic by kind, in percent",
        COLUMNS,
        rows,
        NOTES,
        (Panel("operation", "%", series),),
    )


COLUMNS: Final = (
    Column("set", "set"),
    Column("operation", "operation"),
    Column("transforms", "transforms", ".1f"),
    Column("basis_changes", "basis changes", ".1f"),
    Column("products", "products", ".1f"),
    Column("sums", "sums", ".1f"),
)
NOTES: Final = (
    "The figure's bars print no numbers. Its text has shares of time, of OpenFHE on a CPU over "
    f"operations of CKKS and BFV: transforms {NTT_SHARE[0]} to {NTT_SHARE[1]} %, and transforms, "
    f"basis changes and products together {KERNELS_SHARE[0]} to {KERNELS_SHARE[1]} %.",
    "Ours are shares of modular products and sums of words in the operations' traces, counted "
    "with transforms by butterflies. They are no times: a transform also moves words.",
)
