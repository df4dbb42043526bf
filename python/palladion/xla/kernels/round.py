"""Rounding to another modulus."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from palladion.xla.kernels.modular import Bits
from palladion.xla.kernels.words import HIGH, OfResidues, Residues, column


@dataclass(frozen=True)
class Round(OfResidues):
    """``round(c t / q) mod t`` with halves rounded up. Each row has its own ``t``, below its ``q``.

    If the rounded quotient is ``t``, the result is 0.
    """

    bits: Bits

    @property
    def name(self) -> str:
        """Words of products."""
        return self.bits

    def apply(self, tables: Residues, prime: jax.Array, c: jax.Array, to: jax.Array) -> jax.Array:
        """The rounded rows."""
        high, t = HIGH[self.bits], to[:, None]
        half = column(tables.q, prime) >> np.uint32(1)
        low = c * t + half
        upper = high(c, t) + (low < half)
        quotient, _ = tables.division.rows(prime).divide(upper, low, high)
        return jnp.where(quotient == t, jnp.uint32(0), quotient)
