"""Table 1: parameters and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.paper import LOG_N, LOG_Q, SOLUTIONS, Solution
from palladion.reproduce.athena.simulated import network_of
from palladion.reproduce.athena.table5 import FILES
from palladion.reproduce.reproduction import Cell, Column, Reproduction

CIPHERTEXT_BYTES: Final = 2 * (1 << LOG_N) * LOG_Q / 8
"""Of the paper's parameters: two components."""
PRINTED_CIPHERTEXT_MB: Final = 5.6
PRINTED_KEYS_MB: Final = 720


def run(models: Path, benchmark: str, steps: Steps) -> Reproduction:
    """The paper's rows beside our program of one network."""
    rows: list[tuple[Cell, ...]] = [printed(each) for each in SOLUTIONS]
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
                *(None, None, "predicted"),
            )
        )
    return Reproduction(
        "Table 1: parameters and sizes, MB",
        (
            *(Column("method", "method"), Column("network", "network"), Column("n", "degree")),
            *(Column("log_q", "log2 Q", ".0f"), Column("log_qp", "log2 QP", ".0f")),
            *(Column("ciphertext_mb", "ciphertext", ".2f"), Column("ratio", "ratio", ".2f")),
            *(Column("keys_mb", "keys", ",.0f"), Column("keys_ratio", "keys ratio", ".2f")),
            *(Column("encrypted", "encrypted, %", ".2f"), Column("plain", "plain, %", ".2f")),
            Column("source", "source"),
        ),
        rows,
        (
            f"ciphertext: at the highest level, two components of N coefficients modulo Q. For the "
            f"paper's parameters these are {CIPHERTEXT_BYTES / 1e6:.2f} MB or "
            f"{CIPHERTEXT_BYTES / 2**20:.2f} MiB, so its 5.6 MB are MiB.",
            "keys: the paper's are rotation and relinearisation keys; ours are all evaluation "
            "keys, as "
            "predicted, half of each as a seed.",
            "Accuracy: as printed; ours is in `table5`. Networks and test sets differ between "
            "rows: CryptoNets and CryptoDL have MNIST, all others CIFAR-10. For BGV the paper "
            "prints a Q below 220 bits. ratios: over the paper's Athena.",
            "Why ours differ: a network's moduli have the bits that its noise needs, and a program "
            "needs the rotations of its own packings alone.",
        ),
    )


def printed(each: Solution) -> tuple[Cell, ...]:
    """A row of the paper."""
    return (
        *(each.method, each.network, each.degree, each.log_q, None),
        *(each.ciphertext, each.ciphertext / PRINTED_CIPHERTEXT_MB),
        *(each.keys, each.keys / PRINTED_KEYS_MB),
        *(each.encrypted, each.plain, "printed"),
    )
