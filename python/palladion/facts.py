"""The facts that a compiled network states, and the costs of its runs.

Facts are read from the verified program, or from the client's file. Costs are counted by a dry run,
for which the server's tables are built. Names are as in ``palladion inspect --json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from palladion import _native
from palladion.schemes.security import Security
from palladion.support import records
from palladion.support.seconds import seconds_here, threads, wall_seconds
from palladion.support.text import at_most, lined, size, times


@dataclass(frozen=True)
class ClientFacts:
    """A client's knowledge of a program: shapes, parameters, security, and the sizes of keys."""

    network: str
    """Name of the network."""
    batch: int
    """Inputs in one run, at most."""
    input_shape: tuple[int, ...]
    """Channels, rows and columns."""
    ciphertexts: int
    """Ciphertexts of a query."""
    classes: int
    """Integers that the network gives for each input."""
    flooded_answers: int | None
    """Answers over which floods hide the noise of outputs; ``None`` without ``hide_model``."""
    public_log2_failure: int | None
    """log2 of a bound on the probability that a run with inputs under a public key is wrong;
    ``None`` if the program takes no such inputs."""
    security: Security
    security_bits: float | None
    log_n: int
    """log2 of the ring degree."""
    log_q: float
    """log2 of the product of the chain's moduli."""
    log_qp: float
    """The same with the special moduli."""
    plaintext_modulus: int
    limbs: int
    """Moduli of the chain."""
    largest_modulus_bits: int
    special_limbs: int
    digit_limbs: int
    """Moduli of a digit of key switching."""
    lwe_dimension: int
    lwe_log_qp: float
    rounding_sigma: float
    """Deviation of the rounding noise of one LWE sample."""
    predicted_evaluation_key_bytes: int
    """Length of the file of evaluation keys."""
    predicted_key_memory_bytes: int
    """Memory of the evaluation keys."""
    predicted_writing_memory_bytes: int
    """Memory to make and write the keys one at a time."""

    @classmethod
    def of(cls, terms: _native.Terms) -> ClientFacts:
        """The facts of a program's terms."""
        return records.read(cls, terms.facts())

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)

    def __str__(self) -> str:
        return "\n".join([self.network, *lined(self._rows())])

    def _rows(self) -> dict[str, object]:
        return {
            "inputs": f"{self.batch} of {times(self.input_shape)} in one run",
            "evaluation keys": size(self.predicted_evaluation_key_bytes),
            "security": self.security.text,
            "estimated by": self.security.basis,
            "parameters": f"N = {1 << self.log_n}, log2(QP) = {self.log_qp:.0f}, "
            f"t = {self.plaintext_modulus}",
        }


@dataclass(frozen=True)
class Step:
    """A step of a program, with the counts of its operation."""

    name: str
    """Layer and operation."""
    layer: str
    operation: str
    predicted_seconds: float
    """On one thread of the cost model's machine."""
    products: int | None = None
    """Products of polynomials."""
    values: int | None = None
    """Values that are packed."""
    entries: int | None = None
    """Entries of a table."""


@dataclass(frozen=True)
class Facts(ClientFacts):
    """The statements of a verified program, without the server's tables. It can be printed."""

    predicted_margin_bits: float
    """Noise margin of the answer."""
    predicted_log2_failure: float
    """log2 of a bound on the probability that a run is wrong."""
    layer_sigmas: Mapping[str, float]
    """Deviation of the rounding noise before each layer's table."""
    predicted_ciphertext_bytes: int
    """Bytes of a query."""
    predicted_seconds: float
    """Of a run on one thread of the cost model's machine."""
    steps: tuple[Step, ...]
    warnings: tuple[str, ...]
    """The warnings of the network's quantisation."""

    @classmethod
    def of_program(cls, program: _native.Program, warnings: tuple[str, ...]) -> Facts:
        """The facts of a program of the core."""
        return records.read(cls, {**program.facts(), "warnings": warnings})

    def __str__(self) -> str:
        lines = [self.network, *lined(self._rows())]
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def _rows(self) -> dict[str, object]:
        return {
            **super()._rows(),
            "ciphertexts": f"{size(self.predicted_ciphertext_bytes)} in {self.ciphertexts}",
            "noise margin": f"{self.predicted_margin_bits:.1f} bits predicted",
            "failure": f"a run is wrong with at most {at_most(self.predicted_log2_failure)}",
        }


@dataclass(frozen=True)
class WorstStep:
    """The step that is wrong most often."""

    name: str
    log2_failure: float
    bound: int | None = None
    """Of a table: the largest index that values reach without noise."""
    border: int | None = None
    """Of a table: the largest index at which it is still right."""


@dataclass(frozen=True)
class Here:
    """The costs of a run on this machine, with the threads that are now in use."""

    machine_factors: Mapping[str, float]
    """For each kind of pass over limbs, seconds here for a second of the cost model's machine."""
    threads: int
    predicted_wall_seconds: float
    predicted_reading_seconds: float
    """Seconds to read the evaluation keys."""


@dataclass(frozen=True)
class Costs:
    """The costs of a run: memory, work, and its worst step. It can be printed."""

    worst_step: WorstStep
    public_inputs_refusal: str | None
    """The reason for which the program takes no inputs under a public key."""
    predicted_peak_memory_bytes: int
    """Memory of a process that makes or reads the keys, runs, and compares every layer."""
    predicted_run_memory_bytes: int
    """Memory of a process that makes or reads the keys, and runs."""
    predicted_running_memory_bytes: int
    """Memory of a run without its keys."""
    predicted_key_memory_bytes: int
    predicted_evaluation_key_bytes: int
    predicted_work: Mapping[str, float]
    """Seconds on one thread of the cost model's machine, by kind of pass over limbs."""

    @classmethod
    def of_program(cls, program: _native.Program) -> Costs:
        """The costs of a program of the core, which is prepared for runs."""
        return records.read(cls, program.costs())

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)

    @property
    def seconds_here(self) -> float:
        """Predicted seconds of a run on one thread of this machine."""
        return seconds_here(self.predicted_work)

    def wall_seconds(self, count: int | None = None) -> float:
        """Predicted seconds of a run on ``count`` threads of this machine. By default, on the
        threads in use."""
        return wall_seconds(self.predicted_work, count or threads())

    @property
    def reading_seconds(self) -> float:
        """Predicted seconds of reading the evaluation keys, similar on any processor."""
        return _native.READING * self.predicted_evaluation_key_bytes

    def here(self) -> Here:
        """The costs of a run on this machine now."""
        factors = _native.machine_factors()
        return Here(factors, threads(), self.wall_seconds(), self.reading_seconds)

    def __str__(self) -> str:
        rows = {
            "time": f"{self.wall_seconds():.1f} s predicted, on {threads()} threads here",
            "memory": f"{size(self.predicted_run_memory_bytes)} predicted, keys included",
            "reading keys": f"{self.reading_seconds:.1f} s",
            "worst step": f"{self.worst_step.name}, 2^{self.worst_step.log2_failure:.1f}",
        }
        return "\n".join(lined(rows))
