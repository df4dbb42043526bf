"""Table II: products of polynomials on chains of processing elements."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena_tfhe.paper import TABLE_2, Multiplier, versal
from palladion.reproduce.reproduction import Column, Reproduction


def throughput(n: int, microseconds: float) -> float:
    """Gigabits per second as in the paper's column: both operands, with 32 bits per coefficient."""
    return 2 * n * 32 / microseconds / 1000


def equation_12(microseconds: float) -> float:
    """The paper's equation 12. Its 256 is the ring degree of another paper."""
    return 256 * 32 / microseconds / 1000


def row(given: Multiplier) -> tuple[str | int | float, ...]:
    """A row with its simulated figures."""
    found = versal().products(given.n, given.elements)
    interval = found["interval_us"] / given.arrays
    return (
        *(given.n, given.elements * given.arrays, given.latency),
        *(interval, interval / given.latency, found["latency_us"]),
        *(given.throughput, throughput(given.n, interval), equation_12(interval)),
    )


def run(steps: Steps) -> Reproduction:
    """Every row by simulation, with the same constants."""
    steps.start_run()
    rows = []
    for done, given in enumerate(TABLE_2):
        steps.count("simulate", done, len(TABLE_2))
        rows.append(row(given))
    return Reproduction(
        "Table II: products on the array, simulated; us and Gbit/s", COLUMNS, rows, NOTES
    )


COLUMNS: Final = (
    Column("n", "N"),
    Column("elements", "PEs"),
    Column("paper_us", "paper", ".2f"),
    Column("interval_us", "interval", ".2f"),
    Column("ratio", "ratio", ".3f"),
    Column("latency_us", "alone", ".2f"),
    Column("paper_gbps", "Gbit/s", ".2f"),
    Column("gbps", "ours", ".2f"),
    Column("equation_12_gbps", "eq. 12", ".2f"),
)
NOTES: Final = (
    "interval: from one product to the next; ratio: interval over the paper's latency; alone: "
    "first word in to last word out of a product that finds the array idle.",
    "The paper's latency is an interval: a product alone moves N words in and N words out at 520 "
    "MHz, 1.97 us each for N = 1024. With both in its latency a step of the loop would take from "
    "9.0 to 11.6 cycles, by row; as intervals all rows go with the 12 that the instructions give.",
    "256 PEs: eight arrays of 32 work on eight products; 1.46 = 11.68 / 8 is a share of a "
    "product's time. No chain of 256 could have blocks of whole vectors: 1024 / 256 = 4 of 8 "
    "lanes.",
    "Gbit/s: the paper's column is 2 N 32 / latency, both operands. Its equation 12 has 256 in "
    "place of 2 N, the ring degree of the designs it is compared with in table IV.",
)
