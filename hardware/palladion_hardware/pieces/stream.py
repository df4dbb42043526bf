"""The control of a polynomial that enters as consecutive vectors."""

from __future__ import annotations

from dataclasses import dataclass

from palladion_hardware.circuit import Circuit, Node


@dataclass(frozen=True)
class Stream:
    """Which vector of which polynomial is there, all at the time of the input."""

    valid: Node
    index: Node
    """Its place in the polynomial."""
    length_bits: Node
    """log2 of the polynomial's vectors."""
    is_length: tuple[Node, ...]
    """``is_length[g]``: whether the polynomial has 2^g vectors."""
    bits: int

    def swaps(self) -> list[Node]:
        """For each bit of the time, whether a transposition swaps: see :mod:`.transpose`."""
        controls = []
        for place in range(self.bits):
            active = self.is_length[place + 1]
            for longer in self.is_length[place + 2 :]:
                active = active | longer
            controls.append(self.valid & self.index.bit(place) & active)
        return controls


def read_stream(c: Circuit, *, bits: int) -> Stream:
    """Ports ``valid``, ``first`` and ``length_bits``, and a counter of at most 2^bits vectors.

    All vectors of a polynomial enter one after another. ``first`` marks the first one, which may
    come in any cycle after the last one of the polynomial before it.
    """
    valid, first = c.input("valid", bits=1), c.input("first", bits=1)
    length = c.input("length_bits", bits=max(1, bits.bit_length()))
    index = count_vectors(c, valid, first, bits=max(1, bits))
    is_length = tuple(length.equals(c.constant(g, bits=length.bits)) for g in range(bits + 1))
    return Stream(valid, index, length, is_length, bits)


def count_vectors(c: Circuit, valid: Node, first: Node, *, bits: int) -> Node:
    """The place of each vector behind the last ``first`` one, modulo 2^bits."""
    counted = c.state(bits=bits, time=0)
    index = c.select(first, c.constant(0, bits=bits), counted)
    following = (index + c.constant(1, bits=bits)).low(bits)
    c.follow(counted, c.select(valid, following, counted))
    return index
