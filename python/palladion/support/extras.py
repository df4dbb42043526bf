"""Packages that only some uses need, and how to get them."""

from __future__ import annotations

from palladion.errors import UsageError


def missing(error: ImportError, use: str, extra: str) -> UsageError:
    """The error for a package that is not installed, with the extra that installs it."""
    return UsageError(f"{use} needs {error.name}, which is not installed: "
                      f"pip install 'palladion[{extra}]'")  # fmt: skip
