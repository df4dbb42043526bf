"""F1's transform: E lanes, N = E G for any G up to E, both directions, a vector a cycle.

Word ``k G + t`` of a polynomial is in lane k of vector t, before and after, in both directions. So
the words of a vector are one decimated polynomial, and the two parts of the transform are those of
the paper's figure 4(c): E points within each vector, twiddles, a transposition, G points.

Forward, psi^((2 j + 1) i) with i = k G + t and j = j0 + E j1 is

    psi^(G k (2 j0 + 1)) psi^(t (2 j0 + 1)) psi^(2 E t j1),

which is a negacyclic transform over k, a twiddle, and a cyclic transform over t. Inverse, it is
cyclic over k, and over t negacyclic with the factor psi^(-(2 t + 1) E j1) behind it. Trees of
remainders (Cooley and Tukey's butterflies) do both of the first part, and their inverses (Gentleman
and Sande's) both of the second one; only roots differ, and for shorter polynomials the second part
leaves its first layers out. So both directions and all N use E log2(E) + E multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.circuit.nodes import Words
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces import multipliers
from palladion_hardware.pieces.arithmetic import cooley_tukey, gentleman_sande
from palladion_hardware.pieces.multipliers import Multiplier, Stages
from palladion_hardware.pieces.roots import Roots, read_row
from palladion_hardware.pieces.stream import Stream, read_stream
from palladion_hardware.pieces.transpose import transpose
from palladion_hardware.units.numbers import (
    inverse_transform,
    reversed_bits,
    transform,
)
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class F1Ntt(Unit):
    """Ports: ``valid``, ``first``, ``length_bits`` (log2 G), ``inverse``, ``words``.

    Memories of roots hold those of the modulus of the shape.
    """

    name: ClassVar[str] = "f1-ntt"
    summary: ClassVar[str] = "four-step transform, both directions, N = E to E x E"
    source: ClassVar[str] = "F1, IEEE Micro, section Four-Step NTT Unit"
    machine: ClassVar[Machine | None] = ("f1", "ntt", 2.27)

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.layers, self.degree_bits = shape.square()
        if shape.word > 32:
            raise ParameterError(
                f"words of {shape.word} bits: expected at most 32, since the judge multiplies in "
                "words of 64 bits"
            )
        self.q = self.modulus(order=2 * shape.degree)
        if not self.shape.word >= self.q.bit_length():
            raise ParameterError(f"modulus {self.q} is wider than {shape.word} bits")
        self.settings()
        radix = multipliers.radix_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )
        self.roots = Roots(self.q, 2 * shape.degree, radix)

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=128, word=32, degree=16384)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=4, word=14, degree=16, round_bits=7)

    def interval(self) -> str:
        return "a vector a cycle: N / lanes cycles for a polynomial"

    def settings(self) -> Mapping[str, int]:
        shape = self.shape
        return multipliers.settings_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("f1_ntt")
        stream = read_stream(c, bits=self.degree_bits - self.layers)
        inverse = c.input("inverse", bits=1)
        words = c.input("words", bits=shape.word, lanes=shape.lanes)
        m = multipliers.build(
            c,
            shape.multiplier,
            bits=shape.word,
            round_bits=shape.round_bits,
            stages=Stages(product=shape.product_cycles),
        )
        words = words.delay()
        for layer in range(self.layers):
            with c.within(f"first_{layer}"):
                words = self._first_layer(c, m, words, inverse, layer)
        with c.within("twiddle"):
            address = self._twiddle_address(c, stream, inverse)
            words = m.multiply(words, self._row(c, self._twiddles(), address, words))
        with c.within("transpose"):
            bits = [self.layers - 1 - place for place in range(stream.bits)]
            words = transpose(c, words, stream.swaps(), lane_bits=bits)
        for layer in range(self.layers):
            with c.within(f"second_{layer}"):
                words = self._second_layer(c, m, words, stream, inverse, layer)
        with c.within("order"):
            words = self._order(c, words, stream).delay()
        assert words.time is not None
        c.output("result_valid", c.at(stream.valid, words.time))
        c.output("result", words)
        return c

    def _row(self, c: Circuit, rows: Words, address: Node, words: Node) -> Node:
        """A row of a memory of roots, there when ``words`` are."""
        assert words.time is not None
        return read_row(c, rows, address, bits=self.shape.word, time=words.time)

    def _first_layer(
        self, c: Circuit, m: Multiplier, words: Node, inverse: Node, layer: int
    ) -> Node:
        """Remainders modulo X^half - r and X^half + r, in blocks of 2 half lanes."""
        half = self.shape.lanes >> (layer + 1)
        low = [lane for lane in range(self.shape.lanes) if not lane & half]
        rows = self._roots(layer, signs=(1, -1), negacyclic=(True, False))
        root = self._row(c, rows, inverse, words).take([lane // (2 * half) for lane in low])
        pair = cooley_tukey(m, words.take(low), words.take([lane | half for lane in low]), root)
        return merge(c, pair, low, half)

    def _second_layer(
        self,
        c: Circuit,
        m: Multiplier,
        words: Node,
        stream: Stream,
        inverse: Node,
        layer: int,
    ) -> Node:
        """The inverse of a layer of remainders. Polynomials of too few vectors pass by."""
        half = 1 << layer
        low = [lane for lane in range(self.shape.lanes) if not lane & half]
        bypass = c.constant(0, bits=1)
        for length, is_length in enumerate(stream.is_length):
            if layer < self.layers - length:
                bypass = bypass | is_length
        rows = self._roots(self.layers - 1 - layer, signs=(1, -1), negacyclic=(False, True))
        ones = np.full((2, rows.shape[1]), self.roots.power(0), dtype=np.uint64)
        address = c.concatenate(inverse, bypass)
        assert words.time is not None
        root = self._row(c, np.concatenate([rows, ones]), address, words.delay())
        root = root.take([lane // (2 * half) for lane in low])
        pair = gentleman_sande(
            m, words.take(low), words.take([lane | half for lane in low]), root,
            c.at(bypass, words.time),
        )  # fmt: skip
        return merge(c, pair, low, half)

    def _order(self, c: Circuit, words: Node, stream: Stream) -> Node:
        """The lanes below the second transform's are in the order of reversed bits."""
        assert words.time is not None
        ordered = words
        for length, is_length in enumerate(stream.is_length):
            bits = self.layers - length
            order = [
                (lane >> bits << bits) | reversed_bits(lane & ((1 << bits) - 1), bits)
                for lane in range(self.shape.lanes)
            ]
            if order != sorted(order):
                ordered = c.select(c.at(is_length, words.time), words.take(order), ordered)
        return ordered

    def _roots(self, depth: int, *, signs: tuple[int, int], negacyclic: tuple[bool, bool]) -> Words:
        """r of the blocks of a layer of remainders, forward and inverse; shape (2, 2^depth).

        Block b of X^E - 1 splits modulo X^(2 half) - r^2. As powers of a root of order 2 E the
        exponents of r are those of the leaves of a tree of this depth, times the width of a block.
        """
        lanes, base = self.shape.lanes, self.shape.degree // self.shape.lanes
        rows = []
        for sign, twisted in zip(signs, negacyclic, strict=True):
            top = [lanes if twisted else 0]
            for _ in range(depth):
                top = [power for block in top for power in (block // 2, block // 2 + lanes)]
            rows.append([self.roots.power(sign * p // 2 * base) for p in top])
        return np.array(rows, dtype=np.uint64)

    @cached_property
    def _longest(self) -> int:
        return self.degree_bits - self.layers

    def _twiddle_address(self, c: Circuit, stream: Stream, inverse: Node) -> Node:
        """Forward t N_max / N; inverse, behind those rows, G + t: rows of its own for each G."""
        bits = self._longest + 2
        zero = c.constant(0, bits=bits)
        forward = backward = zero
        for length, is_length in enumerate(stream.is_length):
            scaled = stream.index.shifted_left(self._longest - length)
            forward = c.select(is_length, scaled, forward)
            offset = c.constant((1 << self._longest) + (1 << length), bits=bits)
            backward = c.select(is_length, offset, backward)
        backward = backward + stream.index
        return c.select(inverse, backward.low(bits), forward.low(bits))

    def _twiddles(self) -> Words:
        """Rows of :meth:`_twiddle_address`; shape (3 G_max, lanes)."""
        lanes, longest = self.shape.lanes, 1 << self._longest
        order = [reversed_bits(lane, self.layers) for lane in range(lanes)]
        rows = [[self.roots.power(t * (2 * j + 1)) for j in order] for t in range(longest)]
        rows.append([0] * lanes)
        for length in range(self._longest + 1):
            vectors = 1 << length
            step, scale = longest >> length, pow(vectors * lanes, -1, self.q)
            for t in range(vectors):
                powers = (-step * (2 * t + 1) * i for i in order)
                rows.append([self.roots.power(power, scale=scale) for power in powers])
        return np.array(rows, dtype=np.uint64)

    def work(self, rng: np.random.Generator) -> Work:
        """Polynomials of all lengths one after another, and some with pauses between them."""
        work, lanes = Work(), self.shape.lanes
        lengths = range(self._longest + 1)
        # A definition of 2^14 words takes seconds: wide units have fewer cases.
        short = self.shape.degree > 4096
        for label in EXTREMES:
            for length in reversed(lengths):
                for inverse in (0, 1):
                    if short and length < self._longest and label != "random":
                        continue
                    self._add(work, label, length, inverse, rng)
            for _ in range(int(rng.integers(0, 3))):
                work.cycles.append(self.idle())
        assert len(work.cycles) >= lanes >> 1
        return work

    def _add(
        self, work: Work, label: str, length: int, inverse: int, rng: np.random.Generator
    ) -> None:
        vectors = 1 << length
        n = vectors * self.shape.lanes
        polynomial = extreme_words(label, n, self.q, rng)
        psi = pow(self.roots.psi, self.shape.degree // n, self.q)
        result = (inverse_transform if inverse else transform)(polynomial, self.q, psi)
        direction = "inverse" if inverse else "forward"
        for t in range(vectors):
            cycle = self.idle()
            cycle["valid"] = np.ones(1, dtype=np.uint64)
            cycle["first"] = np.array([int(t == 0)], dtype=np.uint64)
            cycle["length_bits"] = np.array([length], dtype=np.uint64)
            cycle["inverse"] = np.array([inverse], dtype=np.uint64)
            cycle["words"] = polynomial[t::vectors]
            work.expected[len(work.cycles)] = (
                f"{label}, N = {n}, {direction}, vector {t}",
                result[t::vectors],
            )
            work.cycles.append(cycle)


def merge(c: Circuit, pair: tuple[Node, Node], low: list[int], half: int) -> Node:
    """Both halves of a layer of butterflies, each in its lanes."""
    place = {lane: index for index, lane in enumerate(low)}
    order = [place[lane & ~half] + (len(low) if lane & half else 0) for lane in range(2 * len(low))]
    return c.join(*pair).take(order)
