"""Single precision, whatever else this process does with JAX."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import jax


def single_precision() -> AbstractContextManager[None]:
    """A context in which JAX has no words of 64 bits.

    They are a setting of the whole process, which :func:`palladion.xla.enable` makes. With them
    plain numbers become doubles, and do not fit the single precision of a network in training.
    """
    # The name until JAX 0.8, and the one since.
    module: Any = jax if hasattr(jax, "enable_x64") else jax.experimental
    if hasattr(module, "disable_x64"):
        old: AbstractContextManager[None] = module.disable_x64()
        return old
    new: AbstractContextManager[None] = module.enable_x64(False)
    return new
