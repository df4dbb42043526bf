"""Our compiler's savings on the paper's accelerator, in the tables of a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena import loop
from palladion.reproduce.athena.simulated import Run, simulated
from palladion.reproduce.athena.table3 import PRODUCTS
from palladion.reproduce.reproduction import Cell, Column, Reproduction

SUMS: Final = "region 1"
"""The region of scalar products and their sums (section 4.3)."""
PRODUCTS_OF: Final = "region 0"
"""The region of products and key switches."""


def run(
    benchmarks: Sequence[str], precisions: Sequence[str], models: Path, steps: Steps
) -> Reproduction:
    """Key switches, sums and traffic of a network's tables: the paper's algorithm and ours."""
    runs = simulated(benchmarks, precisions, models, steps)
    return Reproduction(
        "What our compiler saves on Athena's accelerator, in the tables of a network",
        (
            *(Column("network", "network"), Column("precision", "bits")),
            Column("tables", "tables"),
            *(Column("paper_products", "k. switches"), Column("products", "ours ks")),
            *(Column("paper_sums_ms", "region 1", ".1f"), Column("sums_ms", "ours r1", ".2f")),
            Column("paper_products_ms", "region 0", ".1f"),
            Column("products_ms", "ours r0", ".1f"),
            *(Column("paper_memory_ms", "memory", ".1f"), Column("memory_ms", "ours mem", ".1f")),
            *(
                Column("paper_slowest_ms", "slowest", ".1f"),
                Column("slowest_ms", "ours slow", ".1f"),
            ),
            Column("saved", "saved x", ".2f"),
        ),
        [row(each) for each in runs],
        (
            "Each column `ours` is our program, simulated. The one before it is the paper's "
            "algorithm for tables of the entries that our network's layers need, as the paper fits "
            "them too, by arithmetic: twice the root of the entries in products, with a key switch "
            f"of {loop.RELINEARISE} transforms each, the most generous reading of table 6's "
            "accounting 2.",
            "region 1: time of scalar products and sums; region 0: of products and key switches, "
            "ours with all else that is done there for tables; memory: bytes of tables at 1 TB/s. "
            "The three overlap, so the slowest is the time at least.",
            "saved: the paper's slowest over ours. Our tables take fewer products, and products "
            "that are summed share a key switch. Where memory is the slowest, 45 MB hold too few "
            "limbs.",
        ),
    )


def row(run: Run) -> tuple[Cell, ...]:
    tables = run.tables
    printed = [loop.Table(entries) for entries in run.entries]

    def works(region: str) -> float:
        return loop.milliseconds(sum(step.works_cycles[region] for step in tables))

    traffic = sum(sum(step.traffic_bytes.values()) for step in tables)
    paper = (
        sum(table.sums_ms for table in printed),
        sum(table.products_ms(loop.RELINEARISE) for table in printed),
        sum(table.traffic_ms for table in printed),
    )
    ours = works(SUMS), works(PRODUCTS_OF), traffic / loop.BYTES_PER_SECOND * 1000
    products = sum(run.calls["table"][name] for name in PRODUCTS)
    pairs = [cell for pair in zip(paper, ours, strict=True) for cell in pair]
    return (
        *(run.benchmark, run.precision, len(printed)),
        *(sum(table.products for table in printed), products),
        *(*pairs, max(paper), max(ours), max(paper) / max(ours)),
    )
