"""Estimated security, which parameters carry and reports print."""

from __future__ import annotations

from dataclasses import dataclass

from palladion._native import security_of
from palladion.support.records import Json

TARGET_BITS: int = security_of(0)[0]
"""Security, in bits, of parameters that are not called insecure."""

PROGRAM_LOG_N = 15
"""log2 of the ring degree of compiled networks."""


@dataclass(frozen=True)
class Security:
    """Estimated classical security of a set of parameters."""

    bits: float | None
    """Least number of bits by the cost model. ``None`` if no estimate covers the set."""
    model: str
    """The cost model of an attack."""
    adps16: float | None
    """Bits by core-SVP, which leaves out polynomial factors. ``None`` if not estimated."""
    basis: str
    """The subject and the method of the estimate."""
    enough: bool
    """True if the security has at least as many bits as every checked set."""
    text: str
    """Everything in one line. It begins with INSECURE if the bits are not enough."""

    @classmethod
    def uniform(cls, log_n: int, log_qp: float) -> Security:
        """The security of a uniform ternary secret with moduli of ``log_qp`` bits in total."""
        return cls._of(security_of(log_n, log_qp)[2])

    @classmethod
    def sparse(cls, log_n: int, log_qp: float, weight: int) -> Security:
        """The security of a ternary secret with ``weight`` nonzero coefficients."""
        return cls._of(security_of(log_n, log_qp, weight)[2])

    @classmethod
    def of_programs(cls) -> Security:
        """The least security of a compiled program: with moduli as large as its degree allows."""
        limit = largest_log_qp(PROGRAM_LOG_N)
        assert limit is not None, "the table has the degree"
        return cls.uniform(PROGRAM_LOG_N, limit)

    @classmethod
    def _of(cls, found: Json | None) -> Security:
        return cls(**(found or {}))

    def __str__(self) -> str:
        return self.text


def largest_log_qp(log_n: int) -> int | None:
    """Largest log2(QP) for a uniform ternary secret. ``None`` for a degree outside the table."""
    return security_of(log_n)[1]


class Estimated:
    """Parameters of any scheme, with their estimated security."""

    _found: Json

    @property
    def security(self) -> Security:
        """Estimated security: bits, their cost model, and the source of the estimate."""
        return Security(**self._found["security"])

    @property
    def security_bits(self) -> float | None:
        """Bits of :attr:`security`. ``None`` if no estimate covers the set."""
        bits: float | None = self._found["security_bits"]
        return bits
