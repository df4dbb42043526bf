"""Queries and answers of a levelled program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import FormatError, MismatchError
from palladion.levelled import storage
from palladion.levelled.terms import LevelledTerms
from palladion.support.records import Json

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Message:
    """Ciphertexts for a number of inputs."""

    program: str
    """Identity of the program."""
    query: str
    """Identity of the query. An answer has that of its query."""
    count: int
    """The number of inputs."""
    ciphertexts: Bytes
    """The bytes of ciphertexts, of shape (blocks, values, bytes): a block for as many inputs as a
    ciphertext has slots."""

    tag = b""

    def to_bytes(self) -> bytes:
        """The message as bytes."""
        facts = {"program": self.program, "query": self.query, "count": self.count}
        return storage.to_bytes(self.tag, facts, {"ciphertexts": self.ciphertexts})

    @classmethod
    def read(cls, terms: LevelledTerms, data: bytes, values: int) -> Any:
        """Read a message of so many values."""
        facts, arrays = storage.from_bytes(cls.tag, data, ("ciphertexts",))
        return cls.checked(terms, facts, arrays["ciphertexts"], values)

    @classmethod
    def checked(cls, terms: LevelledTerms, facts: Json, found: Bytes, values: int) -> Any:
        """The message, if it is one of the program."""
        try:
            program, query, count = str(facts["program"]), str(facts["query"]), int(facts["count"])
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"a message that lacks {error}") from error
        if program != terms.program:
            raise MismatchError(f"made for the program {program}, expected {terms.program}")
        blocks = -(-count // terms.slots)
        shape = f"({blocks}, {values}, bytes of a ciphertext)"
        if not (1 <= count <= terms.batch and found.ndim == 3 and found.dtype == np.uint8
                and found.shape[:2] == (blocks, values)):  # fmt: skip
            raise FormatError(f"{count} inputs in an array of shape {found.shape}, expected at "
                              f"most {terms.batch} inputs and shape {shape}")  # fmt: skip
        return cls(program, query, count, found)


class LevelledQuery(Message):
    """Encrypted inputs."""

    tag = storage.QUERY

    @classmethod
    def from_bytes(cls, terms: LevelledTerms, data: bytes) -> LevelledQuery:
        """Read a query. Raises ``FormatError`` if it is damaged or of another program."""
        found: LevelledQuery = cls.read(terms, data, len(terms.used))
        return found


class LevelledAnswer(Message):
    """Encrypted outputs."""

    tag = storage.ANSWER

    @classmethod
    def from_bytes(cls, terms: LevelledTerms, data: bytes) -> LevelledAnswer:
        """Read an answer. Raises ``FormatError`` if it is damaged or of another program."""
        found: LevelledAnswer = cls.read(terms, data, len(terms.open_outputs))
        return found


def joined(parts: Iterator[bytes], shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Parts of equal length as an array of shape (*shape, length)."""
    first = next(parts)
    array = np.empty((shape[0] * shape[1], len(first)), dtype=np.uint8)
    array[0] = np.frombuffer(first, dtype=np.uint8)
    for at, part in enumerate(parts, start=1):
        array[at] = np.frombuffer(part, dtype=np.uint8)
    return array.reshape(*shape, len(first))
