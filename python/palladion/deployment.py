"""The two halves of a deployment: a compiled model, which is public, and a client with a secret."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion import _native, files, memory
from palladion.errors import UsageError
from palladion.nn.boundary import Boundary
from palladion.nn.prediction import Prediction
from palladion.report import ProgramReport

REMEMBERED: Final = 64
"""Number of recent queries whose answers a client decrypts without being given the query."""


@dataclass(frozen=True)
class Answer:
    """Encrypted results for the client, and a report of the run."""

    native: _native.Answer
    seconds: float
    steps: tuple[dict[str, Any], ...] = ()

    def to_bytes(self) -> bytes:
        """The bytes that a server sends."""
        return self.native.to_bytes()


class CompiledModel:
    """A program over ciphertexts. It is public: server and clients have the same."""

    def __init__(self, program: _native.Program) -> None:
        self.program = program
        """The program: steps, parameters, text."""
        self.boundary = Boundary.of_program(program)
        self._report = ProgramReport(program.report(), self.boundary.interface.warnings)

    def report(self) -> ProgramReport:
        """Predicted seconds, memory, keys, security and failure. It can be printed."""
        return self._report

    def client(self) -> Client:
        """A client with a fresh secret from the operating system's randomness."""
        return Client(self, _native.SecretKey.generate(self.program))

    def run(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: _native.Progress | None = None,
    ) -> Answer:
        """Run the program on ciphertexts: the server's half.

        ``progress`` is called with the current step, the work done and the total work.

        Raises
        ------
        BudgetError
            If the run needs more memory than is left.
        UsageError
            If keys or query were made for another program.
        """
        memory.check_run(self.report(), keys_are_loaded=True)
        answer, ran = self.program.run(keys, query, progress)
        return Answer(answer, ran["seconds"], tuple(ran["steps"]))

    def keys(self, data: bytes) -> _native.EvaluationKeys:
        """Read a client's evaluation keys from their bytes."""
        return _native.EvaluationKeys.from_bytes(self.program, data)

    def query(self, data: bytes) -> _native.Query:
        """Read a client's encrypted inputs from their bytes."""
        return _native.Query.from_bytes(self.program, data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program, for servers and clients."""
        files.write(Path(path), self.program.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CompiledModel:
        """Read a program that :meth:`save` or ``palladion compile`` wrote."""
        return cls(files.parsed(Path(path), _native.Program.from_bytes, b"PROG"))


def check_count(inputs: int, report: Mapping[str, Any]) -> None:
    """Refuse more inputs than a program takes in one run.

    Raises
    ------
    UsageError
        The message has the remedy.
    """
    if inputs > report["batch"]:
        raise UsageError(f"{inputs} inputs, expected at most {report['batch']} in one run: compile "
                         f"with batch={inputs} (`palladion compile --batch {inputs}`), or encrypt "
                         "them in parts")  # fmt: skip


class Client:
    """The half with the secret: generates keys, encrypts inputs, decrypts answers."""

    def __init__(self, model: CompiledModel, secret: _native.SecretKey) -> None:
        self.model = model
        self._secret = secret
        self._sent: OrderedDict[bytes, _native.Query] = OrderedDict()

    def keys(self) -> _native.EvaluationKeys:
        """The evaluation keys, for the server. They are public. The same client may generate more.

        Raises
        ------
        BudgetError
            If generating them needs more memory than is left.
        """
        memory.check_keys(self.model.report())
        return self._secret.evaluation_keys()

    def encrypt(self, x: npt.ArrayLike) -> _native.Query:
        """Encrypt inputs of the model, of shape (N, ...), with N at most the batch.

        Issues an :class:`~palladion.errors.InputWarning` for values beyond the calibrated range.

        Raises
        ------
        NetworkError
            If the inputs do not fit the model.
        UsageError
            If there are more inputs than the batch.
        """
        return self._send(self.model.boundary.inputs(x))

    def encrypt_pixels(self, pixels: npt.NDArray[np.uint8]) -> _native.Query:
        """Encrypt pictures of shape (N, channels, rows, columns) with pixels of 0 to 255."""
        return self._send(self.model.boundary.inputs_of_pixels(pixels))

    def _send(self, inputs: npt.NDArray[np.int64]) -> _native.Query:
        check_count(len(inputs), self.model.report())
        query = self._secret.encrypt(inputs.tolist())
        self._sent[query.hash()] = query
        while len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        return query

    def decrypt(
        self, answer: Answer | _native.Answer | bytes, query: _native.Query | None = None
    ) -> Prediction:
        """The model's outputs for the inputs of a query, in the model's units.

        ``query`` is the query that was answered. It may be left out for the last 64 queries that
        this client encrypted.

        Raises
        ------
        UsageError
            If the query is not known.
        FormatError
            If the answer is to another query.
        NoiseError
            If no noise margin is left, so that the answer may be wrong.
        """
        if isinstance(answer, bytes):
            answer = _native.Answer.from_bytes(self.model.program, answer)
        native = answer.native if isinstance(answer, Answer) else answer
        if not isinstance(native, _native.Answer):
            raise UsageError(f"an answer of type {type(answer).__name__}, expected what "
                             "CompiledModel.run gives, or its bytes")  # fmt: skip
        sent = query or self._sent.get(native.query_hash())
        if sent is None:
            raise UsageError(
                "the answer is to a query that this client has not encrypted lately: give the "
                "query, decrypt(answer, query)"
            )
        logits, margin = self._secret.decrypt(native, sent)
        return Prediction.of(self.model.boundary, np.array(logits, dtype=np.int64), margin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the secret key. Only its owner can read the file."""
        files.write(Path(path), self._secret.to_bytes(), secret=True)

    @classmethod
    def load(cls, model: CompiledModel, path: str | os.PathLike[str]) -> Client:
        """Read a client that :meth:`save` wrote for the same program."""
        parse = partial(_native.SecretKey.from_bytes, model.program)
        return cls(model, files.parsed(Path(path), parse, b"SKEY"))
