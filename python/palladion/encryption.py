"""Encryption of a model's inputs, under a secret or under a public key."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt

from palladion import _native
from palladion.errors import UsageError
from palladion.facts import ClientFacts
from palladion.nn.ends.boundary import Boundary
from palladion.nn.integers.linear_maps import Ints
from palladion.support import events, files


class Encryption(ABC):
    """Encrypts inputs of a program. It knows the terms of the program, and not the program."""

    def __init__(self, terms: _native.Terms) -> None:
        self.terms = terms
        """Parameters, keys, places of inputs and outputs."""
        self.boundary = Boundary.of_terms(terms)
        self.facts = ClientFacts.of(terms)
        """Shapes, parameters, security, and the sizes of keys."""

    @property
    @abstractmethod
    def key_id(self) -> str:
        """Identity of the secret that decrypts: 32 hexadecimal digits."""

    @abstractmethod
    def _encrypt(self, rows: list[list[int]]) -> _native.Query: ...

    def encrypt(self, x: npt.ArrayLike) -> _native.Query:
        """Encrypt inputs of the model, of shape (N, ...), with N at most the batch.

        Issues an :class:`~palladion.errors.InputWarning` for values beyond the calibrated range.

        Raises
        ------
        ExpiredError
            If the life of the key has ended.
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
            query = self._encrypt(inputs.tolist())
            work.result["query"] = query.hash().hex()
        return query

    def _ids(self) -> dict[str, str]:
        """Identities for the log."""
        return {"profile": self.terms.profile_id, "key": self.key_id}


@final
class Encryptor(Encryption):
    """Encrypts under a public key, which :meth:`Client.public_key` makes. It has no secret.

    Whoever has the public key can encrypt, so a query does not show who made it. Only the client
    with the secret decrypts: it needs the answer, and the query, which is therefore handed to it
    too.
    """

    def __init__(self, key: _native.PublicKey) -> None:
        """An encryptor with a public key, for the program with whose terms the key was read.

        Raises
        ------
        ExpiredError
            If the life of the key has ended.
        FormatError
            If the key has another level than the program's inputs.
        UsageError
            If the program promises nothing of inputs under a public key.
        """
        key.check()
        super().__init__(key.terms())
        self._key = key

    @property
    def key_id(self) -> str:
        """Identity of the secret that decrypts: 32 hexadecimal digits."""
        return self._key.key

    def _encrypt(self, rows: list[list[int]]) -> _native.Query:
        return self._key.encrypt(rows)

    @classmethod
    def load(
        cls,
        terms: _native.Terms | str | os.PathLike[str],
        path: str | os.PathLike[str],
    ) -> Encryptor:
        """Read the public key in a file, for a program. ``terms`` are a program's, or the path of a
        client's file.

        Raises
        ------
        DataError
            If a file cannot be read.
        FormatError
            If it is no public key, or of other parameters than the program.
        """
        read = partial(_native.PublicKey.from_bytes, terms_of(terms))
        return cls(files.parsed(Path(path), read, b"PKEY"))


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
