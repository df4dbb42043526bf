"""Keeps JAX's compilations for later runs, and counts them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

import jax

MISSED: Final = "/jax/compilation_cache/cache_misses"
"""JAX's event for an executable that it compiled and kept."""

_events: list[str] = []
"""The events of this process since the first call of :func:`keep`."""
_listens: list[bool] = []


def keep() -> None:
    """Keep compilations in the user's cache directory, unless JAX has a directory of its own."""
    config: Any = jax.config
    if config.jax_compilation_cache_dir is None:
        config.update("jax_compilation_cache_dir", str(private(folder() / "compiled")))
        config.update("jax_persistent_cache_min_compile_time_secs", 0)
    if not _listens:
        jax.monitoring.register_event_listener(_hear)
        _listens.append(True)


def count() -> int:
    """How many executables this process compiled and kept, as the cache did not have them."""
    return len(_events)


def folder() -> Path:
    """The folder of this package in the user's cache. Its files can be made again at any time."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "palladion" / "xla"


def private(path: Path) -> Path:
    """Make a folder for this user alone, as JAX executes its files. Returns the folder."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32":
        path.chmod(0o700)
    return path


def _hear(event: str, **_: object) -> None:
    if event == MISSED:
        _events.append(event)
