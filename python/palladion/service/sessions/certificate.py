"""The certificate of sessions, which clients trust by its hash."""

from __future__ import annotations

import os
from pathlib import Path

from palladion.hybrid import certificate_hash, make_identity
from palladion.support import files


class Certificate:
    """A certificate with its key in a file, which is made when it is used for the first time. All
    fronts of a service need the same file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash: str | None = None

    @property
    def path(self) -> Path:
        """The file, which is there.

        Raises
        ------
        DataError
            If it cannot be made.
        """
        if not self._path.exists():
            self._make()
        return self._path

    @property
    def hash(self) -> str:
        """The hash that clients trust.

        Raises
        ------
        DataError, UsageError
            If the file cannot be read or made, or has no certificate.
        """
        if self._hash is None:
            self._hash = certificate_hash(self.path)
        return self._hash

    def _make(self) -> None:
        """Make the file. Two processes that do it at once end with that of one of them."""
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        files.write(beside, make_identity().pem.encode(), secret=True)
        try:
            os.link(beside, self._path)
        except FileExistsError:
            pass
        finally:
            files.remove(beside)
