"""Errors of this package. Each message names the thing, what was found and what was expected."""

from __future__ import annotations


class PalladionError(Exception):
    """Base class of every error of this package."""


class NetworkError(PalladionError):
    """A network is not what its format says, or does not fit what it is given."""


class DataError(PalladionError):
    """A file of images or labels is missing or is not what it should be."""


class FormatError(DataError):
    """A file of ours is damaged, of another kind or version, or made for another program."""


class ImageError(PalladionError):
    """A file is no image, or one that the network cannot take."""


class UsageError(PalladionError):
    """A command was given something that it cannot work with."""


class LevelError(UsageError):
    """A ciphertext has no level left: use fewer products or more levels, or bootstrap."""


class BudgetError(PalladionError):
    """A run would take more time or memory than it may."""


class SecurityError(PalladionError):
    """Parameters are below the security level that everything here has."""


class MissingKeyError(PalladionError):
    """The evaluation keys lack a key that the program uses."""


class NoiseError(PalladionError):
    """Noise has used up its margin, so that a result may be wrong."""


class StoppedError(PalladionError):
    """A callback asked to stop."""


class InternalError(PalladionError):
    """A fault in this package itself."""


class InputWarning(UserWarning):
    """Inputs were changed on their way in: numbers beyond the calibrated range are clipped."""
