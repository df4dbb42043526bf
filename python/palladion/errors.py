"""Errors of this package. Each message names the thing, its state and the expected one."""

from __future__ import annotations


class PalladionError(Exception):
    """Base class of every error of this package."""


class NetworkError(PalladionError):
    """A network breaks its format, or its inputs do not fit it."""


class DataError(PalladionError):
    """A file of images or labels is missing or has wrong content."""


class FormatError(DataError):
    """A Palladion file is damaged, of another kind or version, or made for another program."""


class SealError(DataError):
    """A passphrase does not open the secret in a file."""


class ExpiredError(PalladionError):
    """The life of keys has ended: make new ones."""


class ImageError(PalladionError):
    """A file is not an image, or is one that the network cannot take."""


class UsageError(PalladionError):
    """An argument or option is invalid."""


class LevelError(UsageError):
    """A ciphertext has no level left: use fewer products or more levels, or bootstrap."""


class KeyMismatch(UsageError):  # noqa: N818  the name of the fault in Rust, too
    """Keys or ciphertexts of different secret keys meet in a computation."""


class BudgetError(PalladionError):
    """A run would exceed its budget of time or memory."""


class SecurityError(PalladionError):
    """Parameters are below the security level that every checked set has."""


class MissingKeyError(PalladionError):
    """The evaluation keys lack a key that the program uses."""


class NoiseError(PalladionError):
    """Noise has used up its margin, so a result may be wrong."""


class StoppedError(PalladionError):
    """A callback asked to stop."""


class InternalError(PalladionError):
    """A fault in this package."""


class InputWarning(UserWarning):
    """Inputs were changed before encryption: numbers beyond the calibrated range are clipped."""


class OverflowWarning(UserWarning):
    """A decrypted CKKS message may not have fitted its modulus, and be another one."""
