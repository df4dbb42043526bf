"""Queries and answers of a levelled program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from palladion.errors import FormatError, MismatchError
from palladion.levelled import storage
from palladion.levelled.terms import LevelledTerms

Bytes = npt.NDArray[np.uint8]
M = TypeVar("M", bound="Message")


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

    @staticmethod
    def values(terms: LevelledTerms) -> int:
        """The number of ciphertexts of a block."""
        raise NotImplementedError

    @classmethod
    def from_bytes(cls: type[M], terms: LevelledTerms, data: bytes) -> M:
        """Read a message. Raises ``FormatError`` if it is damaged or of another program."""
        facts, arrays = storage.from_bytes(cls.tag, data, ("ciphertexts",))
        try:
            message = cls(str(facts["program"]), str(facts["query"]), int(facts["count"]),
                          arrays["ciphertexts"])  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"a message that lacks {error}") from error
        message.check(terms)
        return message

    def check(self, terms: LevelledTerms) -> None:
        """Check that the message is one of the program.

        Raises
        ------
        MismatchError
            If it was made for another program.
        FormatError
            If its parts do not fit together.
        """
        if self.program != terms.program:
            raise MismatchError(f"made for the program {self.program}, expected {terms.program}")
        array, blocks, values = self.ciphertexts, -(-self.count // terms.slots), self.values(terms)
        if not (1 <= self.count <= terms.batch and array.ndim == 3 and array.dtype == np.uint8
                and array.shape[:2] == (blocks, values)):  # fmt: skip
            raise FormatError(f"{self.count} inputs in an array of shape {array.shape}, expected "
                              f"at most {terms.batch} inputs and shape ({blocks}, {values}, bytes "
                              "of a ciphertext)")  # fmt: skip


class LevelledQuery(Message):
    """Encrypted inputs."""

    tag = storage.QUERY

    @staticmethod
    def values(terms: LevelledTerms) -> int:
        """The number of inputs that the network reads."""
        return len(terms.used)


class LevelledAnswer(Message):
    """Encrypted outputs."""

    tag = storage.ANSWER

    @staticmethod
    def values(terms: LevelledTerms) -> int:
        """The number of outputs that depend on inputs."""
        return len(terms.open_outputs)


def joined(parts: Iterator[bytes], shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Parts of equal length as an array of shape (*shape, length)."""
    first = next(parts)
    array = np.empty((shape[0] * shape[1], len(first)), dtype=np.uint8)
    array[0] = np.frombuffer(first, dtype=np.uint8)
    for at, part in enumerate(parts, start=1):
        array[at] = np.frombuffer(part, dtype=np.uint8)
    return array.reshape(*shape, len(first))
