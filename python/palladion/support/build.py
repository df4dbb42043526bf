"""The build of the compiled module."""

from __future__ import annotations

from typing import Final

from palladion import _native

COMMIT: Final[str] = getattr(_native, "__commit__", "unknown")
"""The commit, with ``+changes`` if files differed from it. ``unknown`` if the build could not tell:
a module that was compiled before it was asked for says nothing."""
