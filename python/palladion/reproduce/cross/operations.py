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
    pairs: tuple[tuple[int, int, int], ...] = ()
    """Numbers of pairs and the bits of their two primes, if these are not half the bits each. The
    last ones are the special moduli."""

    @property
    def bits(self) -> int:
        """Bits of the widest prime."""
        return max(bits for part in self.primes() for group in part for bits in group)

    def primes(self) -> tuple[list[list[int]], list[list[int]]]:
        """Bits of the primes of each limb, and of each special modulus."""
        count = self.limbs[0]
        if self.pairs:
            found = [[a, b] for times, a, b in self.pairs for _ in range(times)]
            return found[:count], found[count:]
        limb, special = (
            [-(-(bits - part) // self.parts) for part in range(self.parts)]
            for bits in (self.limbs[1], self.special[1])
        )
        return [limb] * count, [special] * self.special[0]

    def within(self, bits: int) -> Set | None:
        """The set with primes of at most ``bits`` bits: itself, or its set in `NARROW`."""
        if self.bits <= bits:
            return self
        narrow = NARROW.get(self.name)
        return narrow if narrow and narrow.bits <= bits else None

    def params(self) -> ckks.Params:
        """The parameters. Parameters below 128 bits are made too: their names say insecure."""
        levels, special = self.primes()
        return ckks.Params(
            self.log_n,
            levels,
            [bits for group in special for bits in group],
            2.0 ** min(self.limbs[1], WIDEST_SCALE),
            digit_limbs=self.digit_limbs * self.parts,
            insecure="insecure" in self.name,
        )


WIDEST_SCALE: Final = 60
"""log2 of the largest scale that is asked for."""

SETS: Final = {
    "cross-1": Set("cross-1", 17, (33, 59), (11, 59), 11),
    "cross-3": Set("cross-3", 17, (44, 52), (15, 60), 15),
    "cross-5": Set("cross-5-insecure", 16, (32, 52), (13, 52), 8),
    "cross-6": Set("cross-6-insecure", 16, (51, 28), (17, 29), 17),
    "secure": Set("secure", 16, (46, 28), (16, 29), 16),
}
"""Ours by the paper's name. The last one is as ``cross-6``, with so few limbs that it is secure."""

NARROW: Final = {
    "cross-1": replace(SETS["cross-1"], parts=2),
    "cross-3": Set("cross-3", 17, (36, 64), (12, 64), 12, parts=2),
    "cross-5-insecure": replace(
        SETS["cross-5"],
        parts=2,
        pairs=(
            *((9, 25, 27), (9, 25, 28), (5, 26, 26), (6, 26, 27), (3, 24, 28)),
            *((9, 24, 29), (4, 23, 30)),
        ),
    ),
}
"""Sets in words of 32 bits, with two primes for each wider one, by our name.

Primes must be 1 modulo 2 N. Modulo 2^17 there are 60 such primes of up to 26 bits. Each of the 45
primes of set 5 can therefore be two, of which one has up to 26 bits, with a product of 51 to 53
bits. Modulo 2^18 there are 28 such primes, and set 3 has 44 primes of 52 bits. Also, a chain has at
most 96 moduli, and the chain of set 3 would have 118. Set 3 therefore has another cut of the same N
and Q: 36 levels of 64 bits in 3 digits.
"""

WRITTEN: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "add": (2, lambda x, y: x + y),
    "product": (2, lambda x, y: x * y),
    "rescale": (1, lambda x: x * 0.5),
    "rotation": (1, lambda x: x.rotate(1)),
}
"""Number of operands, and the operation on values of a circuit or on ciphertexts.

A product is relinearised and rescaled. ``rescale`` rescales a product with a number."""


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
    work = Work.of(1 << of.log_n, of.bits, lowered.counts().to_json())
    if name == "rescale":
        limbs = of.limbs[0]
        work = work.minus({"ntt": limbs, "dot terms": 2 * limbs, "constants": limbs})
    return Operation(of, name, lowered.text, work, params.security.text)
