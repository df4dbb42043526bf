"""Table IV: multipliers, compared with those of other papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion.evaluation import Steps
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
    """The printed rows by one formula, with the wavefront multiplier simulated."""
    with steps.step("simulate"):
        interval = versal().products(WAVEFRONT.n, 32)["interval_us"] / 8
    rows = [row(design) for design in OTHERS] + [row(WAVEFRONT, interval), row(FFT)]
    return Reproduction("Table IV: multipliers; us and Gbit/s", COLUMNS, rows, NOTES)


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
    "bits x 520 MHz = 33.28 Gbit/s. No FFT kernel is published, and its residues do not fit "
    "single precision (`reproduce athena-tfhe algorithm2`), so this row is not simulated.",
)
