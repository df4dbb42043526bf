"""A client: the half of a deployment with the secret."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from palladion import _native
from palladion.encryption import Encryption, terms_of
from palladion.errors import UsageError
from palladion.key_files import KeyFile
from palladion.nn.ends.prediction import Prediction
from palladion.runs import Answer
from palladion.secret import Secret
from palladion.support import events, files, memory

BYTES: Final = (bytes, bytearray, memoryview)
"""Types of bytes that were received."""

REMEMBERED: Final = 64
"""Number of recent queries whose answers a client decrypts without being given the query."""


class Client(Encryption):
    """The half with the secret: generates keys, encrypts inputs, decrypts answers.

    It knows the terms of a program, and not the program.
    """

    def __init__(self, terms: _native.Terms, secret: _native.SecretKey) -> None:
        super().__init__(terms)
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

    def public_key(self) -> _native.PublicKey:
        """A public key for the program's inputs, with which an :class:`Encryptor` encrypts what
        this client alone decrypts. The same client may make more.

        Raises
        ------
        ExpiredError
            If the life of the secret has ended.
        """
        self.secret.check_life()
        with events.work("keygen", self._ids):
            return _native.PublicKey.of(self._secret)

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

    def _encrypt(self, rows: list[list[int]]) -> _native.Query:
        query = self._secret.encrypt(rows)
        self._sent[query.hash()] = query
        while len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        return query

    def query(self, data: bytes) -> _native.Query:
        """Read a query under this client's secret or public key from its bytes."""
        return _native.Query.from_bytes(self.terms, data)

    def answer(self, data: bytes) -> _native.Answer:
        """Read the answer to a query of this client from its bytes."""
        return _native.Answer.from_bytes(self.terms, data)

    def decrypt(
        self, answer: Answer | _native.Answer | bytes, query: _native.Query | None = None
    ) -> Prediction:
        """The model's outputs for the inputs of a query, in the model's units.

        ``query`` is the query that was answered. It may be left out for the last 64 queries that
        this client encrypted. For a query under its public key, it is needed.

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
