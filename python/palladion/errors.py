"""Errors of this package. Each message names the thing, its state and the expected one."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import ClassVar, Final


@dataclass(frozen=True)
class Kind:
    """A kind of failure, by which a program decides what to do next."""

    name: str
    """The word in logs and in the JSON of errors."""
    status: int
    """Exit status of the command ``palladion``."""
    retry: bool
    """Whether the same call may succeed later, or with more memory or time."""


INTERNAL: Final = Kind("internal", 1, retry=False)
USAGE: Final = Kind("usage", 2, retry=False)
DATA: Final = Kind("data", 3, retry=False)
MISMATCH: Final = Kind("mismatch", 4, retry=False)
RESOURCES: Final = Kind("resources", 5, retry=True)
IO: Final = Kind("io", 6, retry=True)
NOISE: Final = Kind("noise", 7, retry=False)
SECURITY: Final = Kind("security", 8, retry=False)
INTERRUPTED: Final = Kind("interrupted", 130, retry=True)  # 128 + SIGINT, as in shells
TERMINATED: Final = Kind("terminated", 143, retry=True)  # 128 + SIGTERM

KINDS: Final = (
    *(INTERNAL, USAGE, DATA, MISMATCH, RESOURCES, IO, NOISE, SECURITY, INTERRUPTED, TERMINATED),
)
"""Every kind: docs/cli.md has the table."""

LASTING: Final = frozenset({
    *(errno.EACCES, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR),
    *(errno.EPERM, errno.EROFS),
})  # fmt: skip
"""Numbers of errors of the operating system that stay until someone changes the files."""


class PalladionError(Exception):
    """Base class of every error of this package."""

    kind: Kind = INTERNAL
    """Its kind. :func:`kind_of` also looks at the cause."""


class NetworkError(PalladionError):
    """A network breaks its format, or its inputs do not fit it."""

    kind = DATA


class DataError(PalladionError):
    """A file of images or labels is missing or has wrong content."""

    kind = DATA


class FormatError(DataError):
    """A Palladion file is damaged, of another kind or version, or made for another program."""


class MismatchError(FormatError):
    """A Palladion file is sound, and belongs to another program, query or key profile."""

    kind = MISMATCH


class SealError(DataError):
    """A passphrase does not open the secret in a file."""


class ExpiredError(PalladionError):
    """The life of keys has ended: make new ones."""

    kind = MISMATCH


class ImageError(PalladionError):
    """A file is not an image, or is one that the network cannot take."""

    kind = DATA


class UsageError(PalladionError):
    """An argument or option is invalid."""

    kind = USAGE


class LevelError(UsageError):
    """A ciphertext has no level left: use fewer products or more levels, or bootstrap."""


class KeyMismatch(UsageError):  # noqa: N818  the name of the fault in Rust, too
    """Keys or ciphertexts of different secret keys meet in a computation."""

    kind = MISMATCH


class LinkError(UsageError):
    """The other party cannot be reached, or the connection to it broke."""

    kind = IO


class BudgetError(PalladionError):
    """A run would exceed its budget of time or memory."""

    kind = RESOURCES


class SecurityError(PalladionError):
    """Parameters are below the security level that every checked set has."""

    kind = SECURITY


class MissingKeyError(PalladionError):
    """The evaluation keys lack a key that the program uses."""

    kind = MISMATCH


class NoiseError(PalladionError):
    """Noise has used up its margin, so a result may be wrong."""

    kind = NOISE


class StoppedError(PalladionError):
    """A callback asked to stop."""

    kind = INTERRUPTED


class InternalError(PalladionError):
    """A fault in this package."""


class Stop(BaseException):
    """The end of a command from outside. It is no ``Exception``, so nothing goes on after it."""

    kind: ClassVar[Kind] = INTERNAL


class Termination(Stop):
    """The process was asked to end, by SIGTERM."""

    kind = TERMINATED


class TimeLimit(Stop):
    """The time limit of a command has passed."""

    kind = RESOURCES


def system_error(error: BaseException) -> OSError | None:
    """The operating system's error that is, or caused, an error of a command or a call."""
    cause: BaseException | None = error
    while cause is not None:
        # Other libraries raise an OSError without a number for a file of another format.
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause
        cause = cause.__cause__
    return None


def kind_of(error: BaseException) -> Kind:
    """The kind of an error. An error of this package with a cause in the operating system is
    ``io``.
    """
    if isinstance(error, MemoryError):
        return RESOURCES
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, OSError):
        return IO
    if not isinstance(error, (PalladionError, Stop)):
        return INTERNAL
    return error.kind if system_error(error) is None else IO


def can_retry(error: BaseException) -> bool:
    """Whether the same call may succeed later, or with more memory or time."""
    system = system_error(error)
    return kind_of(error).retry and (system is None or system.errno not in LASTING)


class InputWarning(UserWarning):
    """Inputs were changed before encryption: numbers beyond the calibrated range are clipped."""


class OverflowWarning(UserWarning):
    """A decrypted CKKS message may not have fitted its modulus, and be another one."""
