"""The statements of a file of evaluation keys, and which keys stay valid for another program."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from palladion import _native
from palladion.errors import FormatError, KeyMismatch
from palladion.secret import Secret, moment
from palladion.support import files
from palladion.support.text import size

Head = tuple[str, str, int | None, int | None]
"""Profile, identity, and the beginning and the end of a life, in seconds since 1970."""

NO_KEY = "0" * 32
"""The identity in files that do not state one."""


@dataclass(frozen=True)
class KeyFile:
    """A file of keys: whose they are, what they are for, and their life."""

    key_id: str
    """Identity of the secret: 32 hexadecimal digits."""
    profile: str
    """Parameters and list of the keys, as JSON."""
    created: datetime | None
    """When the secret was made."""
    expires: datetime | None
    """From when on the keys are not to be used."""
    bytes: int
    """Length of the file."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> KeyFile:
        """Read what a file of evaluation keys states.

        Raises
        ------
        DataError
            If the file cannot be read.
        FormatError
            If it has no evaluation keys, or is of a version before 3, which states nothing.
        """
        file = Path(path)
        # The file is large, so its first bytes alone are read for the words of an error.
        first = files.read(file, files.START)
        head = files.parsed(file, lambda _: _native.EvaluationKeys.head(file), b"EKEY", first)
        return cls._of(head, file.stat().st_size)

    @classmethod
    def read_public(cls, path: str | os.PathLike[str]) -> KeyFile:
        """Read what the file of a public key states.

        Raises
        ------
        DataError
            If the file cannot be read.
        FormatError
            If it has no public key.
        """
        file = Path(path)
        data = files.read(file)
        head = files.parsed(file, _native.PublicKey.head, b"PKEY", data)
        return cls._of(head, len(data))

    @classmethod
    def _of(cls, head: Head, length: int) -> KeyFile:
        profile, key, created, expires = head
        return cls(key, profile, moment(created), moment(expires), length)

    @property
    def profile_id(self) -> str:
        """Identity of the profile: 64 hexadecimal digits."""
        return hashlib.sha256(self.profile.encode()).hexdigest()

    def missing(self, terms: _native.Terms) -> tuple[int, int]:
        """The number of further keys that a program needs, and their bytes.

        Raises
        ------
        FormatError
            If the program has other parameters, so that no key serves.
        """
        return terms.missing_keys(self.profile)

    def check_secret(self, secret: Secret) -> None:
        """Refuse keys of another secret.

        Raises
        ------
        KeyMismatch
            With both identities.
        """
        if self.key_id not in (NO_KEY, secret.key_id):
            raise KeyMismatch(f"the evaluation keys belong to key {self.key_id[:12]}, and the "
                              f"secret is key {secret.key_id[:12]}")  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """The keys and queries that clients need for a program, beyond those that they have."""

    parameters: bool
    """Whether the parameters are the same. If not, no key serves."""
    missing_keys: int
    """The number of keys to make."""
    missing_bytes: int
    """Their bytes in a file."""
    queries: bool | None
    """Whether queries stay valid. None if that is not known."""
    reason: str | None = None
    """The parameter that differs."""

    def rows(self) -> dict[str, object]:
        """The rows of a table."""
        if not self.parameters:
            keys = f"all new, {size(self.missing_bytes)}: {self.reason}"
        elif self.missing_keys:
            keys = f"{self.missing_keys} more, {size(self.missing_bytes)}: keygen --have"
        else:
            keys = "0 bytes: those that clients have serve it"
        taken = {None: {}, True: {"queries": "stay valid"},
                 False: {"queries": "new ones: the input layout is another"}}  # fmt: skip
        return {"new keys": keys, **taken[self.queries]}


@dataclass(frozen=True)
class Earlier:
    """The keys and the input layout of an earlier program."""

    profile: str
    """The profile of the keys, as JSON."""
    layout: str | None
    """Identity of the input layout, if it is known."""

    @classmethod
    def read(cls, path: Path | None) -> Earlier | None:
        """Read a client's file or evaluation keys; None for no path.

        Raises
        ------
        DataError
            If the file cannot be read.
        FormatError
            If it is of another kind.
        """
        if path is None:
            return None
        data = files.read(path)
        if files.kind(data) == files.OURS[b"CLNT"][0]:
            terms = files.parsed(path, _native.Terms.from_bytes, b"CLNT", data)
            return cls(terms.profile(), terms.layout_id)
        return cls(KeyFile.read(path).profile, None)

    def compare(self, terms: _native.Terms) -> Kept:
        """The keys and queries that stay valid for a program with these terms."""
        queries = None if self.layout is None else self.layout == terms.layout_id
        try:
            count, length = terms.missing_keys(self.profile)
        except FormatError as error:
            reason = str(error).partition("; ")[0].rpartition(": ")[2]
            length = int(terms.facts()["predicted_evaluation_key_bytes"])
            return Kept(False, number_of_keys(terms.profile()), length, queries, reason)
        return Kept(True, count, length, queries)


def number_of_keys(profile: str) -> int:
    """The number of keys of a profile, given as JSON."""
    data = json.loads(profile)
    single = [data["relinearization"] is not None, data["dimension"], data["public"] is not None]
    listed: int = len(data["galois"]) + len(data["packing"])
    return listed + sum(map(int, single))
