"""Client and server in one process, and the figures of such a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import click
import numpy as np

from palladion.cli.common import peak_memory, phases, print_rows, security_rows
from palladion.cli.progress import Steps
from palladion.cli.target import prepare
from palladion.deployment import CompiledModel
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Ints
from palladion.support.records import Json
from palladion.support.seconds import threads
from palladion.support.text import size
from palladion.targets import CPU, Target


@dataclass
class Outcome:
    """The results of the encrypted runs, summed over all runs."""

    evaluation_key_bytes: int
    logits: list[Ints] = field(default_factory=list)
    seconds: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)
    noise_margin_bits: float = float("inf")
    ciphertext_bytes: int = 0

    def add(self, prediction: Prediction, taken: Mapping[str, float]) -> None:
        """Add the answer to one query, and the seconds of its steps."""
        assert prediction.integers is not None, "a decrypted answer has integers"
        assert prediction.margin_bits is not None, "a decrypted answer has a margin"
        self.logits.append(prediction.integers)
        self.noise_margin_bits = min(self.noise_margin_bits, prediction.margin_bits)
        for name, seconds in taken.items():
            self.steps[name] = self.steps.get(name, 0.0) + seconds

    @property
    def integers(self) -> Ints:
        """The network's integers for all inputs, of shape (N, values)."""
        return np.concatenate(self.logits)


def both_halves(
    program: CompiledModel, inputs: Ints, steps: Steps, target: Target = CPU
) -> Outcome:
    """Run client and server in one process. The server's part gets no secret.

    ``inputs`` are rows of the network's integers. They are run one batch at a time.

    Raises
    ------
    BudgetError
        If keys or a run need more memory than is left.
    """
    with program.reserved(target):
        return one_batch_at_a_time(program, inputs, steps, target)


def one_batch_at_a_time(
    program: CompiledModel, inputs: Ints, steps: Steps, target: Target
) -> Outcome:
    """The body of :func:`both_halves`."""
    batch = program.facts.batch
    with steps.step("make keys"):
        client = program.client()
        keys = client.keys()
    outcome = Outcome(keys.byte_len())
    for start in range(0, len(inputs), batch):
        began = time.perf_counter()
        with steps.step("encrypt"):
            query = client.encrypt_integers(inputs[start : start + batch])
        encrypted = time.perf_counter() - began
        run = prepare(program, target, steps)
        answer = run(keys, query, steps.update)
        outcome.seconds += answer.seconds
        began = time.perf_counter()
        with steps.step("decrypt"):
            prediction = client.decrypt(answer, query)
        outcome.ciphertext_bytes += len(query.to_bytes())
        decrypted = time.perf_counter() - began
        outcome.add(
            prediction,
            {"encrypt": encrypted, **phases(answer.report.steps), "decrypt": decrypted},
        )
    return outcome


@dataclass(frozen=True)
class Figures:
    """Times and memory of encrypted runs. Names are as in ``--json``: see docs/cli.md."""

    seconds: float
    steps: dict[str, float]
    threads: int
    program: CompiledModel
    noise_margin_bits: float
    ciphertext_bytes: int
    evaluation_key_bytes: int
    peak_memory_bytes: int

    @classmethod
    def of(cls, program: CompiledModel, outcome: Outcome) -> Figures:
        """The figures of runs that have just ended."""
        return cls(
            outcome.seconds,
            outcome.steps,
            threads(),
            program,
            round(outcome.noise_margin_bits, 1),
            outcome.ciphertext_bytes,
            outcome.evaluation_key_bytes,
            peak_memory(),
        )

    def to_json(self) -> Json:
        """As data for JSON."""
        facts = self.program.facts
        return {
            "seconds": self.seconds,
            "steps": [{"name": name, "seconds": taken} for name, taken in self.steps.items()],
            "threads": self.threads,
            "security": asdict(facts.security),
            "security_bits": facts.security_bits,
            "log_n": facts.log_n,
            "log_qp": facts.log_qp,
            "plaintext_modulus": facts.plaintext_modulus,
            "noise_margin_bits": self.noise_margin_bits,
            "ciphertext_bytes": self.ciphertext_bytes,
            "evaluation_key_bytes": self.evaluation_key_bytes,
            "peak_memory_bytes": self.peak_memory_bytes,
        }

    def show(self) -> None:
        """Print the same as text."""
        facts = self.program.facts
        print_rows({name: f"{taken:.2f} s" for name, taken in self.steps.items()})
        click.echo()
        print_rows(
            {
                "inference": f"{self.seconds:.2f} s on {self.threads} threads",
                **security_rows(facts.security),
                "parameters": f"N = {1 << facts.log_n}, log2(QP) = {facts.log_qp:.0f}, "
                f"t = {facts.plaintext_modulus}",
                "noise margin left": f"{self.noise_margin_bits:.1f} bits",
                "ciphertexts": size(self.ciphertext_bytes),
                "evaluation keys": size(self.evaluation_key_bytes),
                "peak memory": size(self.peak_memory_bytes),
            }
        )
