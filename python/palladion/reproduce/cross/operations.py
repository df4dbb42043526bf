"""The paper's operations on our parameters: circuits, their traces, and their work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from palladion import ckks
from palladion.circuit import Circuit
from palladion.reproduce.cross.model import Work


@dataclass(frozen=True)
class Set:
    """Parameters in the place of a published set. ``special`` are special moduli."""

    name: str
    log_n: int
    limbs: tuple[int, int]
    """Their number, and the bits of each."""
    special: tuple[int, int]
    digit_limbs: int
    parts: int = 1
    """Primes that stand in the place of each of these: two for a machine of narrow words."""

    @property
    def bits(self) -> int:
        """Bits of the widest prime."""
        return -(-max(self.limbs[1], self.special[1]) // self.parts)

    def within(self, bits: int) -> Set | None:
        """The set with primes of at most so many bits: itself, or with two primes for one.

        ``None`` if there are too few primes of half the bits that are 1 modulo 2 N.
        """
        if self.bits <= bits:
            return self
        return replace(self, parts=2) if self.name in HALVED else None

    def params(self) -> ckks.Params:
        """The parameters. Those below 128 bits are made too: their names say insecure."""
        limb, special = (
            [-(-(bits - part) // self.parts) for part in range(self.parts)]
            for bits in (self.limbs[1], self.special[1])
        )
        return ckks.Params(
            self.log_n,
            [limb] * self.limbs[0],
            special * self.special[0],
            2.0 ** self.limbs[1],
            digit_limbs=self.digit_limbs * self.parts,
            insecure="insecure" in self.name,
        )


HALVED: Final = ("cross-1",)
"""Sets with two primes for one. Those of 52 bits would need 118 primes of 26 bits that are 1 modulo
2^18, or 90 that are 1 modulo 2^17, and there are fewer."""

SETS: Final = {
    "cross-1": Set("cross-1", 17, (33, 59), (11, 59), 11),
    "cross-3": Set("cross-3", 17, (44, 52), (15, 60), 15),
    "cross-5": Set("cross-5-insecure", 16, (32, 52), (13, 52), 8),
    "cross-6": Set("cross-6-insecure", 16, (51, 28), (17, 29), 17),
    "secure": Set("secure", 16, (46, 28), (16, 29), 16),
}
"""Ours by the paper's name. The last one is as ``cross-6``, with so few limbs that it is secure."""


WRITTEN: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "add": (2, lambda x, y: x + y),
    "product": (2, lambda x, y: x * y),
    "rescale": (1, lambda x: x * 0.5),
    "rotation": (1, lambda x: x.rotate(1)),
}
"""Number of operands, and the operation on values of a circuit or on ciphertexts.

A product is relinearised and rescaled. What is rescaled alone is a product with a number."""


@dataclass(frozen=True)
class Operation:
    """An operation with its trace."""

    set: Set
    name: str
    text: str
    work: Work
    security: str


def operation(of: Set, params: ckks.Params, name: str) -> Operation:
    """An operation at the highest level of a set.

    The rescale follows a product with a constant, whose passes are not counted.
    """
    circuit = Circuit(params, name=name)
    operands, write = WRITTEN[name]
    circuit.output("z", write(*(circuit.input(f"x{index}") for index in range(operands))))
    lowered = circuit.lower()
    work = Work.of(1 << of.log_n, of.bits, lowered.counts())
    if name == "rescale":
        limbs = of.limbs[0]
        work = work.minus({"ntt": limbs, "dot terms": 2 * limbs, "constants": limbs})
    return Operation(of, name, lowered.trace, work, params.security.text)
