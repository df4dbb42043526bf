"""The client's half of the levelled mode."""

from __future__ import annotations

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from palladion import ckks
from palladion.errors import KeyMismatch, NoiseError, UsageError
from palladion.levelled.queries import LevelledAnswer, LevelledQuery, joined
from palladion.levelled.terms import LevelledTerms
from palladion.nn.ends.prediction import Prediction
from palladion.schemes.keys import EvaluationKeys
from palladion.support import files
from palladion.support.seconds import threads

NOISE: Final = 2.0**-10
"""The largest imaginary part, and the largest excess beyond 1, of a result that is right. Results
are real numbers between -1 and 1."""


class LevelledClient:
    """Holds a secret: encrypts inputs, and decrypts answers."""

    def __init__(self, terms: LevelledTerms, secret: ckks.SecretKey | None = None) -> None:
        self.terms = terms
        self.secret = ckks.keygen(terms.params) if secret is None else secret
        """The secret key. Whoever has it reads all queries and answers."""
        if self.secret.params.fingerprint != terms.params.fingerprint:
            raise KeyMismatch(f"a secret for {self.secret.params}, expected one for "
                              f"{terms.params}")  # fmt: skip

    @classmethod
    def load(
        cls, terms: LevelledTerms | str | os.PathLike[str], path: str | os.PathLike[str]
    ) -> LevelledClient:
        """Read the secret in a file. ``terms`` are a program's, or the path of a client's file."""
        known = terms if isinstance(terms, LevelledTerms) else LevelledTerms.load(terms)
        data = files.read(Path(path))
        return cls(known, ckks.SecretKey.from_bytes(known.params, data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the secret. Only its owner can read the file."""
        files.write(Path(path), self.secret.to_bytes(), secret=True)

    def keys(self) -> EvaluationKeys:
        """The evaluation keys: public, for the server."""
        return self.secret.evaluation_keys()

    def encrypt(self, x: npt.ArrayLike) -> LevelledQuery:
        """Encrypt inputs of the model, of shape (N, ...).

        Raises and warns as :meth:`LevelledTerms.variables`.
        """
        terms = self.terms
        variables = terms.variables(x)
        used = np.array(terms.used, dtype=np.int64)

        def encrypted(at: tuple[int, int]) -> bytes:
            block, index = at
            column = variables[block * terms.slots : (block + 1) * terms.slots, index]
            return self.secret.encrypt(column).to_bytes()

        blocks = -(-len(variables) // terms.slots)
        places = [(block, int(index)) for block in range(blocks) for index in used]
        with ThreadPoolExecutor(threads()) as pool:
            made = pool.map(encrypted, places)
            array = joined(made, (blocks, len(used)))
        return LevelledQuery(terms.program, secrets.token_hex(16), len(variables), array)

    def decrypt(
        self, answer: LevelledAnswer | bytes, query: LevelledQuery | None = None
    ) -> Prediction:
        """The model's outputs for the inputs of a query.

        Raises
        ------
        UsageError
            If the answer is to another query than the given one.
        NoiseError
            If the results cannot be right.
        """
        terms = self.terms
        if isinstance(answer, bytes):
            answer = LevelledAnswer.from_bytes(terms, answer)
        else:
            answer.check(terms)
        if query is not None and query.query != answer.query:
            raise UsageError(f"an answer to the query {answer.query}, expected one to "
                             f"{query.query}")  # fmt: skip
        results = np.broadcast_to(terms.fixed, (answer.count, len(terms.fixed))).copy()
        for block, row in enumerate(answer.ciphertexts):
            start = block * terms.slots
            for index, data in zip(terms.open_outputs, row, strict=True):
                ct = ckks.Ciphertext.from_bytes(terms.params, data.tobytes())
                slots = self.secret.decrypt(ct.bounded(1 + NOISE))
                check(slots)
                part = slots.real[: answer.count - start]
                results[start : start + len(part), index] = part
        return terms.prediction(results * terms.scale)


def check(slots: npt.NDArray[np.complex128]) -> None:
    """Refuse slots that cannot be results of a program."""
    imaginary = float(np.abs(slots.imag).max())
    excess = float(np.abs(slots.real).max()) - 1
    if not (imaginary <= NOISE and excess <= NOISE):
        raise NoiseError(f"results with imaginary parts of {imaginary:.3g} and up to "
                         f"{1 + excess:.4g} in size, expected at most {NOISE:.3g} and 1: the "
                         "answer is not one of this program, or is damaged")  # fmt: skip
