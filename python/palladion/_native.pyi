"""The Rust core. Every function releases the interpreter lock while it works."""

from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str

def set_threads(count: int) -> None:
    """Use ``count`` threads from now on; at least 1."""

def info() -> dict[str, Any]:
    """Kernels chosen and available, threads, and what the core was built as."""

def bench(what: str, samples: int) -> list[dict[str, Any]]:
    """Measure ``ntt``, ``bfv``, ``lut`` or ``loop``; one row per measurement."""

def evaluate(
    network_json: str, image: Sequence[int]
) -> tuple[list[list[int]], list[list[int]], int]:
    """Exact evaluation: each layer's accumulators and outputs, and the predicted class."""

def compile(network_json: str, batch: int) -> Program:
    """Compile an integer network for ``batch`` images per run."""

def keygen(program: Program, seed: bytes | None = None) -> tuple[SecretKey, EvaluationKeys]:
    """Make the keys of a program. A seed is for tests only: whoever knows it knows the key."""

@final
class Program:
    """A network compiled to operations on ciphertexts. Public."""

    def report(self) -> dict[str, Any]:
        """Parameters, their security, the steps, and what a run will cost."""

    def to_text(self) -> str:
        """The program in its text form."""

    def run(
        self,
        keys: EvaluationKeys,
        query: Ciphertexts,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> tuple[Ciphertexts, dict[str, Any]]:
        """Compute blind. ``progress(step, done, total)`` counts work of the whole run."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Program: ...

@final
class SecretKey:
    """The client's key. It never leaves the client."""

    def encrypt(self, program: Program, images: Sequence[Sequence[int]]) -> Ciphertexts: ...
    def decrypt(self, program: Program, answer: Ciphertexts) -> tuple[list[list[int]], float]:
        """The logits of each image, and the bits of noise margin that were left."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(program: Program, data: bytes) -> SecretKey: ...

@final
class EvaluationKeys:
    """What the server needs to compute blind. Public."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(program: Program, data: bytes) -> EvaluationKeys: ...

@final
class Ciphertexts:
    """Encrypted inputs or results."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(program: Program, data: bytes) -> Ciphertexts: ...
