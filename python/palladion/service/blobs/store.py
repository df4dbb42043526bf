"""The interface of a store of blobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from palladion.errors import IO, RESOURCES, PalladionError


class StoreError(PalladionError):
    """The store cannot be reached, or refuses."""

    kind = IO


class MissingBlobError(PalladionError):
    """There is no blob of a name."""

    kind = IO


class FullError(PalladionError):
    """The store has no space left."""

    kind = RESOURCES


class Store(Protocol):
    """Blobs by name, such as ``keys/TENANT/DIGEST``. A blob is there whole or not at all, and stays
    after a loss of power. Every method raises :class:`StoreError` if the store cannot be reached,
    and those that write raise :class:`FullError` if it is full.
    """

    def incoming(self) -> AbstractContextManager[Path]:
        """The path of a new file to write to, for :meth:`move_in`. It goes at the end of the body,
        unless it was moved."""

    def move_in(self, name: str, file: Path) -> None:
        """Make a file from :meth:`incoming` the blob of a name."""

    def put(self, name: str, data: bytes) -> None:
        """Make bytes the blob of a name."""

    def read(self, name: str) -> bytes:
        """The bytes of a blob.

        Raises
        ------
        MissingBlobError
            If there is none.
        """

    def file(self, name: str) -> Path:
        """A file with the bytes of a blob that never changes. It is only for reading. The same name
        gives the same path, and the file stays while the blob does and the process uses no more
        than 30 others: a process that comes back to it later asks for it again.

        Raises
        ------
        MissingBlobError
            If there is none.
        """

    def delete(self, name: str) -> None:
        """Remove a blob, if it is there."""

    def names(self, prefix: str) -> Iterator[str]:
        """The names of blobs beneath a prefix, such as ``queries``."""

    def free(self) -> int | None:
        """Bytes that are left, if that is known."""

    def check(self) -> None:
        """Nothing, if the store can be reached."""
