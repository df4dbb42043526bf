"""A client: the half of a deployment with the secret."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from palladion import _native
from palladion.errors import UsageError
from palladion.facts import ClientFacts
from palladion.key_files import KeyFile
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Ints
from palladion.runs import Answer
from palladion.secret import Secret
from palladion.support import events, files, memory

BYTES: Final = (bytes, bytearray, memoryview)
"""Types of bytes that were received."""

REMEMBERED: Final = 64
"""Number of recent queries whose answers a client decrypts without being given the query."""


def check_count(inputs: int, batch: int) -> None:
    """Refuse more inputs than a program takes in one run.

    Raises
    ------
    UsageError
        The message has the remedy.
    """
    if inputs > batch:
        raise UsageError(f"{inputs} inputs, expected at most {batch} in one run: compile "
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
        self.facts = ClientFacts.of(terms)
        """Shapes, parameters, security, and the sizes of keys."""
        self._secret = secret
        self._sent: OrderedDict[bytes, _native.Query] = OrderedDict()

    def __copy__(self) -> Client:
        return Client(self.terms, self._secret)

    def __deepcopy__(self, _memo: object) -> Client:
        """Secret and terms do not change, so a copy shares them. It is not pickled: see
        ``palladion.support.copies``."""
        return Client(self.terms, self._secret)

    def keys(self) -> _native.EvaluationKeys:
        """The evaluation keys, for the server. They are public. The same client may generate more.

        Raises
        ------
        BudgetError
            If generating them needs more memory than is left.
        """
        with events.work("keygen", self._ids), memory.reserved_keys(self.facts):
            return self._secret.evaluation_keys()

    def _ids(self) -> dict[str, str]:
        """Identities for the log."""
        return {"profile": self.terms.profile_id, "key": self.key_id}

    def write_keys(
        self,
        path: str | os.PathLike[str],
        *,
        also: Sequence[_native.Terms] = (),
        have: Sequence[KeyFile] = (),
    ) -> int:
        """Make the evaluation keys and write them to a file, of which the length is returned.

        Only one key at a time is in memory, so that this takes less of it than :meth:`keys`.

        Parameters
        ----------
        also
            Terms of further programs that the keys are to serve.
        have
            Key files that the server has already. What they have is not made again. If nothing is
            missing, no file is written, and 0 is returned.

        Raises
        ------
        BudgetError
            If it needs more memory than is left.
        DataError
            If the file cannot be written.
        FormatError
            If a program or a key file has other parameters.
        KeyMismatch
            If a key file belongs to another secret.
        """
        for keys in have:
            keys.check_secret(self.secret)
        profiles = [keys.profile for keys in have]
        count, _ = self._secret.missing_keys(list(also), profiles)
        if not count:
            return 0
        with (
            events.work("keygen", self._ids),
            memory.reserved_writing(self.facts),
            files.replacing(Path(path)) as name,
        ):
            return self._secret.write_evaluation_keys(name, list(also), profiles)

    @property
    def secret(self) -> Secret:
        """The secret, apart from the program."""
        return Secret(self._secret.secret())

    @property
    def key_id(self) -> str:
        """Identity of the secret: 32 hexadecimal digits."""
        return self.secret.key_id

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
        return self.encrypt_integers(self.boundary.inputs(x))

    def encrypt_pixels(self, pixels: npt.NDArray[np.uint8]) -> _native.Query:
        """Encrypt pictures of shape (N, channels, rows, columns) with pixels of 0 to 255."""
        return self.encrypt_integers(self.boundary.inputs_of_pixels(pixels))

    def encrypt_integers(self, inputs: Ints) -> _native.Query:
        """Encrypt rows of the network's integers, which ``boundary`` makes of other inputs.

        Raises
        ------
        UsageError
            If there are more rows than the batch, or they do not fit the network.
        """
        check_count(len(inputs), self.facts.batch)
        with events.work("encrypt", self._ids) as work:
            query = self._secret.encrypt(inputs.tolist())
            work.result["query"] = query.hash().hex()
        self._sent[query.hash()] = query
        while len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        return query

    def query(self, data: bytes) -> _native.Query:
        """Read a query of this client from its bytes."""
        return _native.Query.from_bytes(self.terms, data)

    def answer(self, data: bytes) -> _native.Answer:
        """Read the answer to a query of this client from its bytes."""
        return _native.Answer.from_bytes(self.terms, data)

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
            answer = self.answer(bytes(answer))
        native = answer.native if isinstance(answer, Answer) else answer
        if not isinstance(native, _native.Answer):
            raise UsageError(f"an answer of type {type(answer).__name__}, expected an "
                             "answer of CompiledModel.run, or its bytes")  # fmt: skip
        sent = query or self._sent.get(native.query_hash())
        if sent is None:
            raise UsageError(
                "the answer is to a query that this client has not encrypted lately: give the "
                "query, decrypt(answer, query)"
            )
        with events.work("decrypt", lambda: {**self._ids(), "query": native.query_hash().hex()}):
            logits, margin = self._secret.decrypt(native, sent)
        return Prediction.of(self.boundary, np.array(logits, dtype=np.int64), margin)

    def save(self, path: str | os.PathLike[str], *, passphrase: str | None = None) -> None:
        """Write the secret, sealed by a passphrase if one is given. Only its owner can read the
        file. :meth:`Secret.save` has more ways to protect it.
        """
        self.secret.save(path, passphrase=passphrase)

    @classmethod
    def generate(cls, terms: _native.Terms | str | os.PathLike[str]) -> Client:
        """A client with a fresh secret from the operating system's randomness.

        ``terms`` are a program's, or the path of a client's file, which
        :meth:`CompiledModel.save` and ``palladion compile`` write.
        """
        known = terms_of(terms)
        return cls.of(known, Secret.generate())

    @classmethod
    def of(cls, terms: _native.Terms | str | os.PathLike[str], secret: Secret) -> Client:
        """A client with a secret that it may share with clients of other programs.

        Raises
        ------
        UsageError
            If the secret is sealed: :meth:`Secret.open` takes the seal off.
        """
        known = terms_of(terms)
        return cls(known, _native.SecretKey.of(known, secret.native))

    @classmethod
    def load(
        cls,
        terms: _native.Terms | str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
    ) -> Client:
        """Read the secret in a file, for a program. ``terms`` are as above, and ``passphrase``
        opens its seal.
        """
        known = terms_of(terms)
        return cls.of(known, Secret.load(path, passphrase=passphrase))


def terms_of(source: _native.Terms | str | os.PathLike[str]) -> _native.Terms:
    """The given terms, or the terms in a client's file.

    Raises
    ------
    UsageError
        If the argument is neither, such as a compiled model, which has the weights.
    """
    if isinstance(source, _native.Terms):
        return source
    if isinstance(source, (str, os.PathLike)):
        return files.parsed(Path(source), _native.Terms.from_bytes, b"CLNT")
    raise UsageError(f"terms of type {type(source).__name__}, expected the path of a client's file "
                     "or the `terms` of a compiled model")  # fmt: skip
