"""The two halves of a deployment: a compiled model for the server, and a client with a secret."""

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

BYTES: Final = (bytes, bytearray, memoryview)
"""Types of what a server received."""

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
    """A program over ciphertexts, for the server. It has the model's weights.

    A client needs its :attr:`terms` alone, which have no weight: :meth:`save` writes them to a file
    of their own.
    """

    def __init__(self, program: _native.Program) -> None:
        self.program = program
        """The program: steps, parameters, text."""
        self.terms = program.terms()
        """What a client must know of the program."""
        self.boundary = Boundary.of_terms(self.terms)
        self._report = ProgramReport(program.report(), self.boundary.interface.warnings)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as its program."""
        return CompiledModel, (self.program,)

    def report(self) -> ProgramReport:
        """Predicted seconds, memory, keys, security and failure. It can be printed."""
        return self._report

    def client(self) -> Client:
        """A client with a fresh secret from the operating system's randomness."""
        return Client.generate(self.terms)

    def run(
        self,
        keys: _native.EvaluationKeys | bytes | bytearray,
        query: _native.Query | bytes | bytearray,
        progress: _native.Progress | None = None,
    ) -> Answer:
        """Run the program on ciphertexts: the server's half.

        Keys and query may be given as their bytes. Keys that serve many queries are better read
        once, by :meth:`keys`. ``progress`` is called with the current step, the work done and
        the total work.

        Raises
        ------
        BudgetError
            If the run needs more memory than is left.
        UsageError
            If keys or query are something else, or were made for another program.
        """
        keys = self.keys(bytes(keys)) if isinstance(keys, BYTES) else keys
        query = self.query(bytes(query)) if isinstance(query, BYTES) else query
        if not isinstance(keys, _native.EvaluationKeys):
            raise UsageError(f"keys of type {type(keys).__name__}, expected those of Client.keys, "
                             "or their bytes")  # fmt: skip
        if not isinstance(query, _native.Query):
            raise UsageError(f"a query of type {type(query).__name__}, expected one of "
                             "Client.encrypt, or its bytes")  # fmt: skip
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
        """Write the program, for servers, and beside it ``PATH.client``, for clients.

        A pipe or a device gets the program alone: `palladion split` writes the other of it.
        """
        program = Path(path)
        if not files.streams(program):
            beside = program.with_name(f"{program.name}.client")
            files.check(program)
            files.write(beside, self.terms.to_bytes())
        files.write(program, self.program.to_bytes())

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
    """The half with the secret: generates keys, encrypts inputs, decrypts answers.

    It knows the terms of a program, and not the program.
    """

    def __init__(self, terms: _native.Terms, secret: _native.SecretKey) -> None:
        self.terms = terms
        """Parameters, keys, places of inputs and outputs."""
        self.boundary = Boundary.of_terms(terms)
        self._report = terms.report()
        self._secret = secret
        self._sent: OrderedDict[bytes, _native.Query] = OrderedDict()

    def __copy__(self) -> Client:
        return Client(self.terms, self._secret)

    def __deepcopy__(self, _memo: object) -> Client:
        """Secret and terms do not change, so a copy shares them. It is not pickled: see
        ``palladion.copies``."""
        return Client(self.terms, self._secret)

    def keys(self) -> _native.EvaluationKeys:
        """The evaluation keys, for the server. They are public. The same client may generate more.

        Raises
        ------
        BudgetError
            If generating them needs more memory than is left.
        """
        memory.check_keys(self._report)
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
        return self._send(self.boundary.inputs(x))

    def encrypt_pixels(self, pixels: npt.NDArray[np.uint8]) -> _native.Query:
        """Encrypt pictures of shape (N, channels, rows, columns) with pixels of 0 to 255."""
        return self._send(self.boundary.inputs_of_pixels(pixels))

    def query(self, data: bytes) -> _native.Query:
        """Read a query of this client from its bytes."""
        return _native.Query.from_bytes(self.terms, data)

    def _send(self, inputs: npt.NDArray[np.int64]) -> _native.Query:
        check_count(len(inputs), self._report)
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
        if isinstance(answer, BYTES):
            answer = _native.Answer.from_bytes(self.terms, bytes(answer))
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
        return Prediction.of(self.boundary, np.array(logits, dtype=np.int64), margin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the secret key. Only its owner can read the file."""
        files.write(Path(path), self._secret.to_bytes(), secret=True)

    @classmethod
    def generate(cls, terms: _native.Terms | str | os.PathLike[str]) -> Client:
        """A client with a fresh secret from the operating system's randomness.

        ``terms`` are those of a program, or the path of a client's file, which
        :meth:`CompiledModel.save` and ``palladion compile`` write.
        """
        known = terms_of(terms)
        return cls(known, _native.SecretKey.generate(known))

    @classmethod
    def load(
        cls, terms: _native.Terms | str | os.PathLike[str], path: str | os.PathLike[str]
    ) -> Client:
        """Read a client that :meth:`save` wrote for the same program. ``terms`` are as above."""
        known = terms_of(terms)
        parse = partial(_native.SecretKey.from_bytes, known)
        return cls(known, files.parsed(Path(path), parse, b"SKEY"))


def terms_of(given: _native.Terms | str | os.PathLike[str]) -> _native.Terms:
    """Terms, or those in a client's file.

    Raises
    ------
    UsageError
        If they are neither, such as a compiled model, which has the weights.
    """
    if isinstance(given, _native.Terms):
        return given
    if isinstance(given, (str, os.PathLike)):
        return files.parsed(Path(given), _native.Terms.from_bytes, b"CLNT")
    raise UsageError(f"terms of type {type(given).__name__}, expected the path of a client's file "
                     "or the `terms` of a compiled model")  # fmt: skip
