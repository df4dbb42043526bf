"""F1's automorphism unit: a permutation of lanes, a transposition, another of each, in a stream.

Word k G + t of a polynomial is in lane k of vector t, as for the transform. The index i goes to
f i + d, for i = l G + t to G (f l + u) + t' with f t + d = G u + t': lane l goes to f l + u, which
depends on the vector alone, and vector t goes to place t'. After a transposition the second is a
permutation of lanes too. Both are of :mod:`palladion_hardware.pieces.affine`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces.affine import permute
from palladion_hardware.pieces.arithmetic import negate_where
from palladion_hardware.pieces.stream import Stream, read_stream
from palladion_hardware.pieces.transpose import transpose
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class F1Automorphism(Unit):
    """Ports: ``valid``, ``first``, ``length_bits`` (log2 G), ``factor``, ``slots``, ``words``.

    With ``slots`` 0 the words are coefficients, and a(X) becomes a(X^f). With 1 they are values,
    and X_(j') goes to j with 2 j + 1 = f (2 j' + 1), so f is the inverse of the exponent.
    """

    name: ClassVar[str] = "f1-automorphism"
    summary: ClassVar[str] = "all automorphisms, of coefficients and of values, N = E to E x E"
    source: ClassVar[str] = "F1, IEEE Micro, section Automorphism Unit"
    machine: ClassVar[Machine | None] = ("f1", "automorphism", 0.58)

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.lane_bits, self.degree_bits = shape.square()
        self.q = self.modulus(order=2)
        if self.q >> shape.word:
            raise ParameterError(f"modulus {self.q} is wider than {shape.word} bits")

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=128, word=32, degree=16384)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=4, word=14, degree=16, round_bits=7)

    def interval(self) -> str:
        return "a vector a cycle: N / lanes cycles for a polynomial"

    def settings(self) -> Mapping[str, int]:
        return {"modulus": self.q}

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("f1_automorphism")
        stream = read_stream(c, bits=self.degree_bits - self.lane_bits)
        factor = c.input("factor", bits=self.degree_bits + 1)
        slots = c.input("slots", bits=1)
        words = c.input("words", bits=shape.word, lanes=shape.lanes)
        q = c.setting("modulus", bits=shape.word)
        with c.within("places"):
            shift = c.select(slots, factor.part_of_bits(1, factor.bits + 1), c.constant(0, bits=1))
            place = self._place(c, stream, factor, shift)
        with c.within("signs"):
            lanes = c.constant(list(range(shape.lanes)), bits=self.lane_bits)
            target = (lanes * factor.low(self.lane_bits + 1) + place).bit(self.lane_bits)
            words = negate_where(c, target & slots.inverted(), words, q).delay()
        always = [c.constant(1, bits=1)] * self.lane_bits
        with c.within("columns"):
            moved = c.at(place.low(self.lane_bits), 1)
            words = permute(c, words, c.at(factor.low(self.lane_bits), 1), moved, always).delay()
        order = list(range(stream.bits))
        with c.within("transpose"):
            words = transpose(c, words, stream.swaps(), lane_bits=order)
        with c.within("rows"):
            words = self._permute_rows(c, words, stream, factor, shift).delay()
        with c.within("transpose_back"):
            words = transpose(c, words, stream.swaps(), lane_bits=order)
        assert words.time is not None
        c.output("result_valid", c.at(stream.valid, words.time))
        c.output("result", words)
        return c

    def _place(self, c: Circuit, stream: Stream, factor: Node, shift: Node) -> Node:
        """u of each vector, modulo twice the lanes: a sum that grows by the factor."""
        bits = factor.bits
        total = c.state(bits=bits, time=0)
        shift = (shift + c.constant(0, bits=bits)).low(bits)
        here = c.select(stream.index.is_not_zero(), total, shift)
        c.follow(total, c.select(stream.valid, (here + factor).low(bits), total))
        place = here.low(self.lane_bits + 1)
        for length, is_length in enumerate(stream.is_length):
            own = here.part_of_bits(length, length + self.lane_bits + 1)
            place = c.select(is_length, own, place)
        return place

    def _permute_rows(
        self, c: Circuit, words: Node, stream: Stream, factor: Node, shift: Node
    ) -> Node:
        """t to f t + d modulo G, in each block of G lanes."""
        assert words.time is not None
        active = []
        for bit in range(self.lane_bits):
            longer = c.constant(0, bits=1)
            for is_length in stream.is_length[bit + 1 :]:
                longer = longer | is_length
            active.append(c.at(longer, words.time))
        k, u = (c.at(node.low(self.lane_bits), words.time) for node in (factor, shift))
        return permute(c, words, k, u, active)

    def work(self, rng: np.random.Generator) -> Work:
        """All lengths, random factors and the largest one, on coefficients and on values."""
        work = Work()
        for label in EXTREMES:
            for length in reversed(range(self.degree_bits - self.lane_bits + 1)):
                n = self.shape.lanes << length
                for slots in (0, 1):
                    for factor in (2 * n - 1, 2 * int(rng.integers(n)) + 1):
                        self._add(work, label, n, factor, slots, rng)
            for _ in range(int(rng.integers(0, 3))):
                work.cycles.append(self.idle())
        return work

    def _add(
        self, work: Work, label: str, n: int, factor: int, slots: int, rng: np.random.Generator
    ) -> None:
        words = extreme_words(label, n, self.q, rng)
        result = np.zeros_like(words)
        for i, word in enumerate(words.tolist()):
            if slots:
                result[(factor * (2 * i + 1) % (2 * n)) // 2] = word
            else:
                power = i * factor % (2 * n)
                result[power % n] = word if power < n else -word % self.q
        vectors = n // self.shape.lanes
        for t in range(vectors):
            cycle = self.idle()
            small = {"valid": 1, "first": int(t == 0), "length_bits": vectors.bit_length() - 1}
            for port, value in {**small, "factor": factor, "slots": slots}.items():
                cycle[port] = np.array([value], dtype=np.uint64)
            cycle["words"] = words[t::vectors]
            work.expected[len(work.cycles)] = (
                f"{label}, N = {n}, factor {factor}, slots {slots}, vector {t}",
                result[t::vectors],
            )
            work.cycles.append(cycle)
