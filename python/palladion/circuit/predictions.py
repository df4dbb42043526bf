"""Facts about a circuit before it runs, and the floors below it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log2

import numpy as np
from numpy.typing import NDArray

from palladion import _native
from palladion.schemes.arrays import Complex
from palladion.traces import Trace

MAX_FAILURE = -40.0
"""log2 of the largest probability of a wrong run with which circuits are accepted."""


@dataclass(frozen=True)
class KeysNeeded:
    """The keys that a circuit needs, each with the highest level at which it is used."""

    relinearization: int | None
    """Level of the key for products, if there is one."""
    rotations: dict[int, int]
    """For each number of slots to the left, the level of the key."""
    conjugation: int | None
    """Level of the key for conjugation (CKKS) or the swap of rows (BGV, BFV), if there is one."""
    bootstrapping: bool = False
    """True if keys of bootstrapping are needed: to a sparse secret and back, or TFHE's keys."""


@dataclass(frozen=True)
class Noise:
    """Predicted noise of a result of BGV or BFV."""

    bits: float
    """log2 of the root mean square of a coefficient."""
    margin_bits: float
    """Bits between six root mean squares of the noise and the largest noise that decrypts
    correctly."""
    log2_failure: float
    """log2 of a bound on the probability that a run gives a wrong result."""


@dataclass(frozen=True)
class Precision:
    """Predicted precision of a result of CKKS."""

    values: Complex
    """The slots, as in the clear."""
    errors: NDArray[np.float64]
    """For each slot, the root mean square of its error."""
    log2_failure: float
    """log2 of a bound on the probability that a run with such values gives a wrong result."""

    @property
    def bits(self) -> float:
        """Correct bits after the binary point: -log2 of the root mean square over the slots.

        Infinity for a result without error, such as ``x - x``.
        """
        square = float(np.mean(self.errors**2))
        return inf if square == 0 else -log2(square) / 2


class Lowered(Trace):
    """A circuit on the floors below: a trace, and the operations that it was made of; see
    ``docs/programs.md``."""

    def __init__(self, recording: str, native: _native.CircuitTrace) -> None:
        super().__init__(native.text, counts=native.counts())
        self.recording = recording
        """Operations on ciphertexts, one per line. For TFHE, operations on samples."""
        self.circuit = native
        """The trace of the core, for replays and plans."""
