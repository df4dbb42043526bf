"""Table IV: multipliers, compared with the multipliers of other papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.athena_tfhe.paper import versal
from palladion.reproduce.reproduction import Cell, Column, Reproduction


@dataclass(frozen=True)
class Design:
    """A row: ``log_q`` bits per coefficient, microseconds, and printed megabits per second."""

    name: str
    n: int
    log_q: int
    latency: float
    throughput: float


OTHERS: Final = (
    Design("Saber-Karatsuba", 256, 13, 0.52, 6415.42),
    Design("Saber-schoolbook", 256, 13, 0.15, 21600),
    Design("Saber-NTT", 256, 13, 0.15, 1664),
    Design("Saber-Winograd", 256, 13, 0.12, 28900),
    Design("2D-BFU, Virtex-7", 1024, 13, 3.3, 4215.5),
    Design("2D-BFU, Virtex-7", 1024, 13, 7.5, 1854.8),
)
WAVEFRONT: Final = Design("ATHENA-Wavefront", 1024, 32, 1.46, 44900)
FFT: Final = Design("ATHENA-FFT", 2048, 32, 73.10, 33000)
DIGIT: Final = 1 << 9
"""Largest digit of set II, for the limbs of an exact FFT."""


def one_operand(given: Design) -> float:
    """Gbit/s of one operand: N log q divided by the time, the first form of equation 12."""
    return given.n * given.log_q / given.latency / 1000


def row(given: Design, simulated: float | None = None) -> tuple[Cell, ...]:
    """A row: one operand by the printed latency, and by the simulated one."""
    printed = given.throughput / 1000
    formula = one_operand(given)
    ratio = None if simulated is None else simulated / given.latency
    return (
        *(given.name, given.n, given.log_q, given.latency, simulated, ratio),
        *(printed, formula, printed / formula),
    )


def run(steps: Steps) -> Reproduction:
    """The printed rows by one formula, with both multipliers of the paper simulated."""
    with steps.step("simulate"):
        interval = versal().products(WAVEFRONT.n, 32)["interval_us"] / 8
        printed, exact = (
            versal().fft_products(FFT.n, DIGIT, exact=exact) for exact in (False, True)
        )
    rows = [row(design) for design in OTHERS]
    rows += [row(WAVEFRONT, interval), row(FFT, printed["latency_us"])]
    notes = (*NOTES, pipeline(printed, exact))
    return Reproduction("Table IV: multipliers; us and Gbit/s", COLUMNS, rows, notes)


def pipeline(printed: dict[str, float], exact: dict[str, float]) -> str:
    """The simulated figures of the FFT multiplier."""
    return (
        f"ATHENA-FFT, ours: a product alone through {printed['elements']:.0f} tiles, in the "
        f"{printed['passes']:.0f} passes of algorithm 2; from one product to the next "
        f"{printed['interval_us']:.2f} us, where the printed throughput needs 3.97. With the limbs "
        f"that make it exact for digits up to 2^9 it takes {exact['passes']:.0f} passes: "
        f"{exact['latency_us']:.0f} us alone, {exact['interval_us']:.0f} us from one to the next. "
        "No kernel is published: the tiles are inferred from their number, and so are the "
        "instructions for residues."
    )


COLUMNS: Final = (
    Column("design", "design"),
    Column("n", "N"),
    Column("log_q", "log q"),
    Column("paper_us", "paper", ".2f"),
    Column("simulated_us", "ours", ".2f"),
    Column("ratio", "ratio", ".3f"),
    Column("paper_gbps", "Gbit/s", ".2f"),
    Column("formula_gbps", "N log q / t", ".2f"),
    Column("paper_over_formula", "over", ".2f"),
)
NOTES: Final = (
    "N log q / t: one operand over the printed time, for every design alike; over: the printed "
    "throughput over that. ATHENA's rows count two operands, the others one (0.97 to 1.05).",
    "Like for like the wavefront multiplier has 22.4 Gbit/s, Saber-NTT 22.2: the factor of 2 "
    "that the abstract claims is the second operand. Saber-NTT's printed 1664 Mbit/s would be 2 "
    "us, not 0.15.",
    "ATHENA-Wavefront: 1.46 us is a share of the time of eight arrays. One product takes 11.68 us, "
    "beside 3.3 us of 2D-BFU with coefficients of 13 bits.",
    "ATHENA-FFT: 73.10 us alone would be 1.8 Gbit/s. 33.0 Gbit/s, with both operands counted, is "
    "one product in 3.97 us: 18 in a pipeline of 34 PEs. It is the rate of two channels: 2 x 32 "
    "bits x 520 MHz = 33.28 Gbit/s. Its residues do not fit single precision (`reproduce "
    "athena-tfhe algorithm2`), so only its times can be simulated as printed.",
)
