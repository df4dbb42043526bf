"""Table 1: parameters and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.paper import LOG_N, LOG_Q
from palladion.reproduce.athena.simulated import network_of
from palladion.reproduce.athena.table5 import FILES
from palladion.reproduce.reproduction import Cell, Column, Reproduction

CIPHERTEXT_BYTES: Final = 2 * (1 << LOG_N) * LOG_Q / 8
"""Of the paper's parameters: two components."""
PRINTED_CIPHERTEXT_MB: Final = 5.6
PRINTED_KEYS_MB: Final = 720


def run(models: Path, benchmark: str, steps: Steps) -> Reproduction:
    """The paper's own row beside our program of one network."""
    rows: list[tuple[Cell, ...]] = [
        *[
            (
                "paper",
                benchmark,
                1 << LOG_N,
                LOG_Q,
                None,
                PRINTED_CIPHERTEXT_MB,
                None,
                PRINTED_KEYS_MB,
                None,
            )
        ]
    ]
    for precision in FILES[benchmark]:
        network = network_of(benchmark, precision, models)
        with steps.step(f"compile {benchmark} {precision}"):
            facts = CompiledModel.of_network(network).facts
        n, log_q = 1 << facts.log_n, facts.log_q
        ciphertext = 2 * n * log_q / 8 / 1e6
        keys = facts.predicted_evaluation_key_bytes / 1e6
        rows.append(
            (
                *(f"ours, {precision}", benchmark, n, log_q, facts.log_qp),
                *(ciphertext, ciphertext / PRINTED_CIPHERTEXT_MB),
                *(keys, keys / PRINTED_KEYS_MB),
            )
        )
    return Reproduction(
        "Table 1: parameters and sizes, MB",
        (
            *(Column("method", "method"), Column("network", "network"), Column("n", "degree")),
            *(Column("log_q", "log2 Q", ".0f"), Column("log_qp", "log2 QP", ".0f")),
            *(Column("ciphertext_mb", "ciphertext", ".2f"), Column("ratio", "ratio", ".2f")),
            *(Column("keys_mb", "keys", ".0f"), Column("keys_ratio", "keys ratio", ".2f")),
        ),
        rows,
        (
            f"ciphertext: at the highest level, two components of N coefficients modulo Q. For the "
            f"paper's parameters these are {CIPHERTEXT_BYTES / 1e6:.2f} MB or "
            f"{CIPHERTEXT_BYTES / 2**20:.2f} MiB, so its 5.6 MB are MiB.",
            "keys: the paper's are rotation and relinearisation keys; ours are all evaluation "
            "keys, as "
            "predicted, half of each as a seed.",
            "Why ours differ: a network's moduli have the bits that its noise needs, and a program "
            "needs the rotations of its own packings alone.",
        ),
    )
