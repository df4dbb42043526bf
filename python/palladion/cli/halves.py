"""Client and server in one process, and the figures of such a run."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import click

import palladion
from palladion.cli.common import peak_memory, phases, print_rows, security_rows
from palladion.cli.progress import Steps
from palladion.cli.target import CPU, Target
from palladion.text import size


@dataclass
class Outcome:
    """The results of the encrypted runs, summed over all runs."""

    logits: list[list[int]]
    seconds: float
    steps: dict[str, float]
    noise_margin_bits: float
    ciphertext_bytes: int
    evaluation_key_bytes: int


def both_halves(
    program: palladion.Program,
    inputs: list[list[int]],
    steps: Steps,
    target: Target = CPU,
) -> Outcome:
    """Run client and server in one process. The server's part gets no secret.

    ``inputs`` are rows of the network's integers. They are run one batch at a time.

    Raises
    ------
    BudgetError
        If keys or a run need more memory than is left.
    """
    report = program.report()
    target.check_run(report)
    batch = report["batch"]
    with steps.step("make keys"):
        secret, keys = palladion.keygen(program.terms())
    found = Outcome([], 0.0, {}, float("inf"), 0, keys.byte_len())
    for start in range(0, len(inputs), batch):
        began = time.perf_counter()
        with steps.step("encrypt"):
            query = secret.encrypt(inputs[start : start + batch])
        encrypted = time.perf_counter() - began
        answer, ran = target.run(program, keys, query, steps)
        found.seconds += ran["seconds"]
        began = time.perf_counter()
        with steps.step("decrypt"):
            logits, margin = secret.decrypt(answer, query)
        found.logits += logits
        found.noise_margin_bits = min(found.noise_margin_bits, margin)
        found.ciphertext_bytes += len(query.to_bytes())
        decrypted = time.perf_counter() - began
        taken = {"encrypt": encrypted, **phases(ran["steps"]), "decrypt": decrypted}
        for name, seconds in taken.items():
            found.steps[name] = found.steps.get(name, 0.0) + seconds
    return found


def figures(program: palladion.Program, outcome: Outcome) -> dict[str, Any]:
    """The fields of ``--json``. They are documented in docs/cli.md and do not change."""
    report = program.report()
    return {
        "seconds": outcome.seconds,
        "steps": [{"name": name, "seconds": taken} for name, taken in outcome.steps.items()],
        "threads": palladion.info().get("threads", os.cpu_count()),
        "security": report["security"],
        "security_bits": report["security_bits"],
        "log_n": report["log_n"],
        "log_qp": report["log_qp"],
        "plaintext_modulus": report["plaintext_modulus"],
        "noise_margin_bits": round(outcome.noise_margin_bits, 1),
        "ciphertext_bytes": outcome.ciphertext_bytes,
        "evaluation_key_bytes": outcome.evaluation_key_bytes,
        "peak_memory_bytes": peak_memory(),
    }


def show_figures(result: dict[str, Any]) -> None:
    """Print the same fields as text."""
    print_rows({step["name"]: f"{step['seconds']:.2f} s" for step in result["steps"]})
    click.echo()
    degree, modulus = 1 << result["log_n"], result["plaintext_modulus"]
    print_rows(
        {
            "inference": f"{result['seconds']:.2f} s on {result['threads']} threads",
            **security_rows(result["security"]),
            "parameters": f"N = {degree}, log2(QP) = {result['log_qp']:.0f}, t = {modulus}",
            "noise margin left": f"{result['noise_margin_bits']:.1f} bits",
            "ciphertexts": size(result["ciphertext_bytes"]),
            "evaluation keys": size(result["evaluation_key_bytes"]),
            "peak memory": size(result["peak_memory_bytes"]),
        }
    )
