"""The secret of a client, apart from any model."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

from palladion import _native
from palladion.errors import DataError, ExpiredError, UsageError
from palladion.support import files

Wrap = Callable[[bytes, bytes], bytes]
"""Encrypts a seed, or decrypts it. The second argument is the label, which may be authenticated."""

DAY = 86_400


class Secret:
    """A secret: from it come the keys of every model, and it alone decrypts.

    One secret serves many models. It has an identity, by which keys and ciphertexts that do not
    belong together are refused. In its file it may be sealed by a passphrase, or wrapped by a
    service that manages keys.
    """

    def __init__(self, native: _native.Secret) -> None:
        self.native = native

    def __reduce__(self) -> NoReturn:
        raise UsageError("a secret is not pickled: Secret.save(path) writes it, for its owner "
                         "alone, and Secret.load(path) reads it")  # fmt: skip

    @classmethod
    def generate(cls, *, days: float | None = None) -> Secret:
        """A fresh secret from the operating system's randomness, to be used for so many days.

        Raises
        ------
        UsageError
            If ``days`` are not positive.
        """
        now = int(time.time())
        if days is not None and not days > 0:
            raise UsageError(f"a life of {days} days, expected a positive number")
        expires = None if days is None else now + int(days * DAY)
        return cls(_native.Secret.generate(now, expires))

    @property
    def key_id(self) -> str:
        """Identity: 32 hexadecimal digits. Evaluation keys, queries and answers carry it."""
        return self.native.key

    @property
    def created(self) -> datetime | None:
        """When it was made. Secrets of older files do not say."""
        return moment(self.native.created)

    @property
    def expires(self) -> datetime | None:
        """From when on nothing is encrypted under it. Answers can still be decrypted."""
        return moment(self.native.expires)

    @property
    def seal(self) -> str | None:
        """``"passphrase"`` or ``"wrapped"``. None if whoever has the file has the secret."""
        return self.native.seal

    @property
    def wrapped_by(self) -> str | None:
        """Who wrapped it, in the words given to :meth:`save`."""
        return self.native.wrapped_by

    def check_life(self) -> None:
        """Refuse a secret whose life has ended, before work that only makes keys or queries of it.

        Raises
        ------
        ExpiredError
            With the end of its life.
        """
        if self.expires is not None and self.expires <= datetime.now(timezone.utc):
            raise ExpiredError(f"the secret of key {self.key_id[:12]} ended its life at "
                               f"{self.expires:%Y-%m-%d %H:%M} UTC: `palladion keys rotate` makes "
                               "a new one")  # fmt: skip

    def open(self, passphrase: str | None = None, unwrap: Wrap | None = None) -> Secret:
        """The secret without its seal.

        Raises
        ------
        SealError
            If the passphrase does not open it.
        UsageError
            If the seal needs something else.
        """
        if self.seal is None:
            return self
        if self.seal == "passphrase" and passphrase is not None:
            return Secret(self.native.unsealed(passphrase.encode()))
        if self.seal == "wrapped" and unwrap is not None:
            return Secret(self.native.unwrapped(unwrap))
        way = "a passphrase" if self.seal == "passphrase" else f"{self.wrapped_by}: give unwrap"
        raise UsageError(f"the secret of key {self.key_id[:12]} is sealed by {way}")

    def to_bytes(
        self, passphrase: str | None = None, wrap: Wrap | None = None, by: str = "a callback"
    ) -> bytes:
        """The bytes of its file: sealed by a passphrase, wrapped by a callback, or as it is."""
        if passphrase is not None and wrap is not None:
            raise UsageError("a passphrase and a callback: give one of them")
        if passphrase is not None:
            return self.native.sealed(passphrase.encode()).to_bytes()
        if wrap is not None:
            return self.native.wrapped(wrap, by).to_bytes()
        return self.native.to_bytes()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
        wrap: Wrap | None = None,
        by: str = "a callback",
    ) -> None:
        """Write the secret. Only its owner can read the file.

        Parameters
        ----------
        passphrase
            Seals the secret: Argon2id makes a key of the passphrase, and ChaCha20-Poly1305
            encrypts the seed under it.
        wrap, by
            ``wrap(seed, label)`` returns the bytes to keep, such as the seed encrypted by a service
            that manages keys. ``by`` names it in the file.
        """
        files.write(Path(path), self.to_bytes(passphrase, wrap, by), secret=True)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        passphrase: str | None = None,
        unwrap: Wrap | None = None,
    ) -> Secret:
        """Read a secret, and open its seal if ``passphrase`` or ``unwrap`` is given.

        ``-`` is standard input. A pipe is read too, such as ``/dev/fd/3``.

        Raises
        ------
        DataError
            If the file cannot be read, or others than its owner can read the secret in it.
        FormatError
            If it is no secret.
        """
        data = read(Path(path))
        found = cls(files.parsed(Path(path), _native.Secret.from_bytes, b"SKEY", data))
        if found.seal is None:
            check_mode(Path(path))
            return found
        if passphrase is None and unwrap is None:
            return found
        return found.open(passphrase, unwrap)


def read(path: Path) -> bytes:
    """The bytes of a secret's file, of standard input if the path is ``-``, or of a pipe."""
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read(MOST)
        if stat.S_ISFIFO(path.stat().st_mode):
            with path.open("rb") as pipe:
                return pipe.read(MOST)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    return files.read(path)


MOST = 1 << 20
"""The most bytes that are read of a secret from a pipe."""


def check_mode(path: Path) -> None:
    """Refuse a file from which others than its owner can read an open secret.

    Raises
    ------
    DataError
        The message has the remedy.
    """
    if os.name != "posix" or str(path) == "-":
        return
    found = path.stat()
    loose = stat.S_IMODE(found.st_mode) & 0o077
    if stat.S_ISREG(found.st_mode) and loose:
        raise DataError(f"{path} has mode {stat.S_IMODE(found.st_mode):03o}, so that others may "
                        f"read the secret: chmod 600 {path}, or seal it, palladion keys seal "
                        f"{path}")  # fmt: skip


def moment(seconds: int | None) -> datetime | None:
    """A time from seconds since 1970."""
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
