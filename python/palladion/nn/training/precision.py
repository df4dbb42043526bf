"""Single precision, whatever else this process does with JAX."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax


@contextmanager
def single_precision() -> Iterator[None]:
    """A context, and a decorator, in which JAX has no words of 64 bits.

    They are a setting of the whole process, which :func:`palladion.xla.enable` makes. With them
    plain numbers become doubles, and do not fit the single precision of a network in training.
    """
    # The name until JAX 0.8, and the one since.
    module: Any = jax if hasattr(jax, "enable_x64") else jax.experimental
    old = hasattr(module, "disable_x64")
    with module.disable_x64() if old else module.enable_x64(False):
        yield
