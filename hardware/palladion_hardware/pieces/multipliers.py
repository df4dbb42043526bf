"""Multipliers modulo q, for factors in [0, q) of ``bits`` bits.

- ``barrett``: any q with its highest bit set; three wide products.
- ``montgomery``: any odd q; three wide products, one of them for its low half alone. The result is
  divided by R = 2^bits.
- ``restricted``: q = 1 modulo 2^round_bits; F1's is restricted to moduli that occur.
  Montgomery's quotient digit is then the negated low part of the word, without a product, and
  the multiple of q is a product of ``round_bits`` by ``bits - round_bits`` bits. The result is
  divided by R = 2^(round_bits rounds).
- ``hardcoded``: q = 2^n + 2^7 + 1 or 2^n - 2^7 + 1 (CROSS, section 6.4), reduced by shifts and
  sums.

A cycle behind each stage is a register. Those behind a product are to be moved into it by the
retiming of a synthesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.errors import ParameterError

KINDS: Final = ("restricted", "montgomery", "barrett", "hardcoded")


@dataclass(frozen=True)
class Stages:
    """Cycles of the parts of a multiplier."""

    product: int = 2
    """Of a product of two words."""
    round: int = 1
    """Of a round of the restricted reduction: a narrow product and two sums."""
    correction: int = 1
    """Of the last subtraction."""


@dataclass(frozen=True)
class Multiplier:
    """A kind of multiplier in a circuit, with the settings that it reads."""

    kind: str
    q: Node
    factor: Node | None
    """Barrett's floor(2^(2 bits) / q), or Montgomery's -1/q modulo 2^bits."""
    round_bits: int
    stages: Stages

    @property
    def rounds(self) -> int:
        return -(-self.q.bits // self.round_bits)

    def multiply(self, a: Node, b: Node) -> Node:
        """a b, divided by R modulo q where the kind has one."""
        return self.reduce((a * b).delay(self.stages.product))

    def reduce(self, word: Node, multiple: int = 1) -> Node:
        """A product of words below q, divided by R modulo q where the kind has one.

        Where it has one, ``word`` may be any below multiple R q.
        """
        c = word.circuit
        if self.kind == "barrett":
            return self._reduce_barrett(c, word)
        if self.kind == "hardcoded":
            return self._reduce_hardcoded(c, word)
        reduce = {"restricted": self._reduce_restricted, "montgomery": self._reduce_montgomery}
        return reduce[self.kind](c, word, multiple)

    @property
    def radix_bits(self) -> int:
        """log2 of R."""
        return self.rounds * self.round_bits if self.kind == "restricted" else self.q.bits

    def correct(self, word: Node, excess: int) -> Node:
        """A word in [0, (excess + 1) q) to [0, q): two subtractions in a cycle."""
        c = word.circuit
        word = word.low(self.q.bits + excess.bit_length())
        for step in reversed(range(excess.bit_length())):
            less = word - self.q.shifted_left(step)
            word = c.select(less.bit(less.bits - 1), word, less).low(self.q.bits + step)
            word = word.delay(0 if step % 2 else self.stages.correction)
        return word

    def _reduce_restricted(self, c: Circuit, word: Node, multiple: int) -> Node:
        v, w = self.round_bits, self.q.bits
        bound = 1 << word.bits
        high = self.q.high_from(v)
        zero = c.constant(0, bits=v)
        for _ in range(self.rounds):
            low = word.low(v)
            digit = (zero - low).low(v)  # -1/q is -1 modulo 2^v
            carry = low.is_not_zero()
            bound = bound // (1 << v) + (1 << w) + 1
            word = (word.high_from(v) + (digit * high) + carry).low(bound.bit_length())
            word = word.delay(self.stages.round)
        return self.correct(word, multiple)

    def _reduce_montgomery(self, c: Circuit, word: Node, multiple: int) -> Node:
        assert self.factor is not None
        w = self.q.bits
        low = word.low(w)
        digit = (low * self.factor).low(w).delay(self.stages.product)
        added = (digit * self.q).high_from(w).delay(self.stages.product)
        total = word.high_from(w) + added + low.is_not_zero()
        return self.correct(total, multiple)

    def _reduce_barrett(self, c: Circuit, word: Node) -> Node:
        assert self.factor is not None
        w = self.q.bits
        quotient = (word.high_from(w - 1) * self.factor).high_from(w + 1)
        multiple = (quotient.delay(self.stages.product) * self.q).low(w + 2)
        rest = (word.low(w + 2) - multiple.delay(self.stages.product)).low(w + 2)
        return self.correct(rest, 2)

    def _reduce_hardcoded(self, c: Circuit, word: Node) -> Node:
        """2^n = -(2^7 + 1) or 2^7 - 1: the high part is folded onto the low one twice."""
        assert self.q.words is not None
        q = int(self.q.words[0])
        n = q.bit_length() - 1 if is_plus(q) else q.bit_length()
        low, folded = word.low(n), times_difference(c, word.high_from(n), plus=is_plus(q))
        again = times_difference(c, folded.high_from(n), plus=is_plus(q))
        rest = folded.low(n)
        total = low + again + self.q - rest if is_plus(q) else low + rest + again
        total = total.low(n + 2).delay(self.stages.round)
        return self.correct(total, 2)


def is_plus(q: int) -> bool:
    return q & 0xFF == 0x81 and bin(q).count("1") == 3


def times_difference(c: Circuit, word: Node, *, plus: bool) -> Node:
    """129 times the word, or 127 times: the distance of 2^n from 0 modulo q."""
    shifted = word.shifted_left(7)
    return shifted + word if plus else (shifted - word).low(shifted.bits)


def build(
    c: Circuit, kind: str, *, bits: int, round_bits: int = 16, stages: Stages | None = None
) -> Multiplier:
    """The settings of a multiplier in a circuit: ``modulus``, and ``factor`` where it needs one."""
    factor = None
    q = c.setting("modulus", bits=bits)
    if kind == "montgomery":
        factor = c.setting("factor", bits=bits)
    if kind == "barrett":
        factor = c.setting("factor", bits=bits + 1)
    return Multiplier(kind, q, factor, round_bits, stages or Stages())


def build_hardcoded(c: Circuit, q: int, *, stages: Stages | None = None) -> Multiplier:
    return Multiplier("hardcoded", c.constant(q, bits=q.bit_length()), None, 0, stages or Stages())


def settings_of(kind: str, q: int, *, bits: int, round_bits: int = 16) -> dict[str, int]:
    """The words of a multiplier's settings for a modulus, checked.

    Raises
    ------
    ParameterError
        If the modulus does not suit the kind.
    """
    if kind == "hardcoded":
        return {}
    if not 2 < q < 1 << bits:
        raise ParameterError(
            f"modulus {q}: expected 3 to 2^{bits} - 1; wider moduli need wider words"
        )
    if kind == "barrett":
        if not q >> (bits - 1):
            raise ParameterError(
                f"modulus {q} has {q.bit_length()} bits: Barrett's quotient is exact enough for "
                f"moduli of all {bits} bits; take words of {q.bit_length()} bits"
            )
        return {"modulus": q, "factor": (1 << (2 * bits)) // q}
    if q % 2 == 0:
        raise ParameterError(f"modulus {q} is even: Montgomery's reduction needs an odd one")
    if kind == "montgomery":
        return {"modulus": q, "factor": -pow(q, -1, 1 << bits) % (1 << bits)}
    if q % (1 << round_bits) != 1:
        raise ParameterError(
            f"modulus {q} is {q % (1 << round_bits)} modulo 2^{round_bits}, expected 1: "
            "take another modulus, shorter rounds, or the kind montgomery"
        )
    return {"modulus": q}


def radix_of(kind: str, q: int, *, bits: int, round_bits: int = 16) -> int:
    """R modulo q: products are divided by it. 1 where the kind has none."""
    if kind == "montgomery":
        return (1 << bits) % q
    if kind == "restricted":
        return (1 << (round_bits * -(-bits // round_bits))) % q
    return 1
