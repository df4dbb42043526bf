"""Estimated security: what parameters carry and reports print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from palladion._native import security_of

TARGET_BITS: int = security_of(0)[0]
"""Bits that parameters must have unless they are called insecure."""

PROGRAM_LOG_N = 15
"""log2 of the ring degree of compiled networks."""


@dataclass(frozen=True)
class Security:
    """Estimated classical security of a set of parameters."""

    bits: float | None
    """Bits at least, by the cost model; ``None`` where no estimate covers the set."""
    model: str
    """How the cost of an attack is counted."""
    adps16: float | None
    """Bits by core-SVP, which leaves out polynomial factors; ``None`` where not estimated."""
    basis: str
    """What the estimate is of, and how it was made."""
    enough: bool
    """Whether the bits are as many as every checked set has."""
    text: str
    """All in one line; it begins with INSECURE where the bits are not enough."""

    @classmethod
    def uniform(cls, log_n: int, log_qp: float) -> Security:
        """Of a uniform ternary secret under moduli of so many bits."""
        return cls._of(security_of(log_n, log_qp)[2])

    @classmethod
    def sparse(cls, log_n: int, log_qp: float, weight: int) -> Security:
        """Of a ternary secret with so many nonzero coefficients."""
        return cls._of(security_of(log_n, log_qp, weight)[2])

    @classmethod
    def of_programs(cls) -> Security:
        """The least that a compiled program has: with moduli as large as its degree allows."""
        limit = largest_log_qp(PROGRAM_LOG_N)
        assert limit is not None, "the table has the degree"
        return cls.uniform(PROGRAM_LOG_N, limit)

    @classmethod
    def _of(cls, found: dict[str, Any] | None) -> Security:
        return cls(**(found or {}))

    def __str__(self) -> str:
        return self.text


def largest_log_qp(log_n: int) -> int | None:
    """Largest log2(QP) for a uniform ternary secret; ``None`` outside the table."""
    return security_of(log_n)[1]


class Estimated:
    """Parameters of any scheme, which say how secure they are estimated to be."""

    _found: dict[str, Any]

    @property
    def security(self) -> Security:
        """Estimated security: bits, the cost model they are of, and what they rest on."""
        return Security(**self._found["security"])

    @property
    def security_bits(self) -> float | None:
        """Bits of :attr:`security`; ``None`` where no estimate covers the set."""
        bits: float | None = self._found["security_bits"]
        return bits
