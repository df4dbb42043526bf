"""Executes traces through XLA, on any device of JAX: CPU, GPU or TPU.

Needs JAX: ``pip install 'palladion[xla]'``. By default JAX refuses words of 64 bits. They are a
setting of the whole process, which :func:`enable` changes.
"""

from __future__ import annotations

from typing import Any

from palladion.errors import UsageError


def enable() -> None:
    """Allow words of 64 bits in JAX, in this process.

    Raises
    ------
    UsageError
        If JAX is not installed.
    """
    try:
        import jax
    except ModuleNotFoundError as error:
        raise UsageError(
            "XLA needs the package `jax`, which was not found: pip install 'palladion[xla]'"
        ) from error
    config: Any = jax.config
    config.update("jax_enable_x64", True)
