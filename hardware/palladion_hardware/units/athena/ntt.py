"""Athena's transform: a row of fused butterflies of radix 8. A polynomial passes it log8(N) times.

Word k G + t of a polynomial is in lane k of vector t, for G = N / lanes vectors. A pass takes the 8
words that differ in the highest three bits of their place, which are lanes far apart, and its block
of the remainders' tree is in the lowest bits. Behind it the bits of the place rotate by three, so
each pass meets the next digit in the same lanes. Values leave without the last rotation, and the
inverse takes them so: it rotates the other way, and leaves the coefficients at their places.

A pass is a ring of registers. It is as long as a multiple of G, and as many polynomials go round at
once: each takes log8(N) rounds, and together they keep the butterflies busy in every cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.circuit.nodes import Words
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces import multipliers
from palladion_hardware.pieces.multipliers import Multiplier, Stages
from palladion_hardware.pieces.radix8 import PREPARE, PRODUCTS, butterfly
from palladion_hardware.pieces.roots import Roots, read_row
from palladion_hardware.pieces.stream import count_vectors
from palladion_hardware.pieces.transpose import permute_bits
from palladion_hardware.units.numbers import inverse_transform, log2, transform
from palladion_hardware.units.unit import EXTREMES, Machine, Shape, Unit, Work, extreme_words


class AthenaNtt(Unit):
    """Ports: ``valid``, ``first``, ``inverse``, ``words``.

    All vectors of a polynomial enter one after another, ``first`` with the first one. A polynomial
    enters when no other one comes round: see :attr:`ring`. Memories of roots hold those of the
    modulus of the shape.
    """

    name: ClassVar[str] = "athena-ntt"
    summary: ClassVar[str] = "transform by passes of radix 8, both directions, N a power of 8"
    source: ClassVar[str] = "Athena, MICRO 2025, section 4.2.1"
    machine: ClassVar[Machine | None] = ("athena", "ntt", 4.51)
    # Those that reduce sums of products.
    multipliers: ClassVar[tuple[str, ...]] = ("restricted", "montgomery")

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        lanes, self.bits = log2(shape.lanes, "lanes"), log2(shape.degree, "degree")
        if not 3 <= lanes <= self.bits or self.bits % 3:
            raise ParameterError(
                f"degree {shape.degree} on {shape.lanes} lanes: expected 8 lanes or more, and a "
                "power of 8 from the lanes on, such as 512, 4096 or 32768"
            )
        self.time_bits = self.bits - lanes
        self.vectors = 1 << self.time_bits
        self.passes = self.bits // 3
        self.q = self.modulus(order=2 * shape.degree)
        if not self.q.bit_length() <= min(shape.word, 42):
            raise ParameterError(
                f"modulus {self.q} is wider than {min(shape.word, 42)} bits, the word or what the "
                "judge multiplies in words of 64 bits: take a smaller one"
            )
        self.settings()
        radix = multipliers.radix_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )
        self.roots = Roots(self.q, 2 * shape.degree, radix)

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=2048, word=36, degree=32768, round_bits=12)

    @classmethod
    def small(cls) -> Shape:
        return Shape(lanes=8, word=14, degree=64, round_bits=7)

    def interval(self) -> str:
        return (
            f"{self.ring // self.vectors} polynomials of {self.vectors} vectors in "
            f"{self.passes * self.ring} cycles: {self.passes * self.vectors} cycles for each"
        )

    def settings(self) -> Mapping[str, int]:
        shape = self.shape
        return multipliers.settings_of(
            shape.multiplier, self.q, bits=shape.word, round_bits=shape.round_bits
        )

    def describe(self) -> Circuit:
        return self._description[0]

    @property
    def ring(self) -> int:
        """Cycles of a round. Vectors come round this often after they entered, but for the last
        time: then another polynomial may enter."""
        return self._description[1]

    @cached_property
    def _description(self) -> tuple[Circuit, int]:
        shape, c = self.shape, Circuit("athena_ntt")
        valid, first, inverse = (c.input(name, bits=1) for name in ("valid", "first", "inverse"))
        words = c.input("words", bits=shape.word, lanes=shape.lanes)
        m = multipliers.build(
            c,
            shape.multiplier,
            bits=shape.word,
            round_bits=shape.round_bits,
            stages=Stages(product=shape.product_cycles),
        )
        index = count_vectors(c, valid, first, bits=max(1, self.time_bits))
        # What goes round: whether there is a vector, its words, its place, direction and pass.
        pass_bits = max(1, (self.passes - 1).bit_length())
        zero, one = (c.constant(word, bits=pass_bits) for word in (0, 1))
        entering = c.concatenate(index, inverse, zero)
        going, going_tag = c.state(bits=1, time=0), c.state(bits=entering.bits, time=0)
        going_words = c.state(bits=shape.word, time=0, lanes=shape.lanes)
        tag = Tag.read(c.select(valid, entering, going_tag), index.bits)
        words = c.select(valid, words, going_words).delay()
        valid = valid | going
        last = tag.number.equals(c.constant(self.passes - 1, bits=pass_bits))
        with c.within("butterflies"):
            words = result = self._pass(c, m, words, tag)
        with c.within("rotation"):
            words = self._rotate(c, words, valid, tag)
        assert words.time is not None
        assert result.time is not None
        ring = -(-(words.time + 1) // self.vectors) * self.vectors
        again = valid & last.inverted()
        # The pass of a cycle without a vector is one that has roots.
        number = c.select(again, (tag.number + one).low(pass_bits), zero)
        for state, following in (
            (going, again),
            (going_tag, c.concatenate(tag.index, tag.inverse, number)),
            (going_words, words),
        ):
            c.follow(state, c.at(following, ring - 1).relabelled(0))
        leaves = (self.passes - 1) * ring + result.time
        c.output("result_valid", c.at(valid & last, result.time).relabelled(leaves))
        c.output("result", result.relabelled(leaves))
        return c, ring

    def _pass(self, c: Circuit, m: Multiplier, words: Node, tag: Tag) -> Node:
        """Word k of each butterfly is in the k-th eighth of the lanes."""
        assert words.time is not None
        cores = self.shape.lanes // 8
        address = c.concatenate(*([tag.index] if self.time_bits else []), tag.inverse, tag.number)
        rows = read_row(
            c, self._factors(), address, bits=self.shape.word, time=words.time + PREPARE
        )
        factors = {
            product: rows.take(range(place * cores, (place + 1) * cores))
            for place, product in enumerate(PRODUCTS)
        }
        eighths = [words.take(range(k * cores, (k + 1) * cores)) for k in range(8)]
        return c.join(*butterfly(m, eighths, factors, c.at(tag.inverse, words.time)))

    def _rotate(self, c: Circuit, words: Node, valid: Node, tag: Tag) -> Node:
        """Bits of the place, three up forward and three down inverse: two networks side by side."""
        controls = [valid & tag.index.bit(place) for place in range(self.time_bits)]
        up, down = (
            permute_bits(
                c, words, controls, source=[(p + step) % self.bits for p in range(self.bits)]
            )
            for step in (-3, 3)
        )
        up, down = c.aligned(up, down)
        assert up.time is not None
        return c.select(c.at(tag.inverse, up.time), down, up)

    def _factors(self) -> Words:
        """Rows by pass, direction and vector; shape (passes 2 G, products of all butterflies).

        A block of the tree has Y^8 = psi^e. Its digits, of which the first one is the lowest of
        the exponent, are the lowest bits of the place, with the first one on top.
        """
        cores, n = self.shape.lanes // 8, self.shape.degree
        eighth = pow(8, -1, self.q)
        rows = []
        for number in range(self.passes):
            for inverse in (0, 1):
                depth = self.passes - 1 - number if inverse else number
                sign, scale = (-1, eighth) if inverse else (1, 1)
                for t in range(self.vectors):
                    roots = [
                        (n >> 3 * (depth + 1))
                        * (1 + 2 * reversed_digits(core * self.vectors + t, depth))
                        for core in range(cores)
                    ]
                    rows.append(
                        [
                            self.roots.power(sign * j * (root + m * n // 4), scale=scale)
                            for j, m in PRODUCTS
                            for root in roots
                        ]
                    )
        return np.array(rows, dtype=np.uint64)

    def places(self) -> Words:
        """The index of the value that is at each place; shape (N)."""
        values = range(self.shape.degree)
        top = self.bits - 3
        return np.array(
            [(place >> top << top) + reversed_digits(place, self.passes - 1) for place in values]
        )

    def work(self, rng: np.random.Generator) -> Work:
        """As many polynomials as the ring holds, then the next ones, with pauses between them."""
        work, places = Work(), self.places()
        # A definition of 2^15 words takes half a minute: wide units have fewer cases.
        labels = ("all q - 1", "random") if self.shape.degree > 4096 else EXTREMES
        cases = [(label, inverse) for label in labels for inverse in (0, 1)]
        held = max(1, self.ring // self.vectors)
        for batch in range(0, len(cases), held):
            begin = len(work.cycles)
            for label, inverse in cases[batch : batch + held]:
                words = extreme_words(label, self.shape.degree, self.q, rng)
                if inverse:
                    result = inverse_transform(words, self.q, self.roots.psi)
                    words = words[places]
                else:
                    result = transform(words, self.q, self.roots.psi)[places]
                for t in range(self.vectors):
                    cycle = self.idle() | {"words": words[t :: self.vectors]}
                    bits = {"valid": 1, "first": int(t == 0), "inverse": inverse}
                    for port, bit in bits.items():
                        cycle[port] = np.array([bit], dtype=np.uint64)
                    work.expected[len(work.cycles)] = (
                        f"{label}, {'inverse' if inverse else 'forward'}, vector {t}",
                        result[t :: self.vectors],
                    )
                    work.cycles.append(cycle)
            end = begin + self.passes * self.ring + int(rng.integers(0, 4))
            work.cycles += [self.idle() for _ in range(end - len(work.cycles))]
        return work


@dataclass(frozen=True)
class Tag:
    """What goes round beside the words."""

    index: Node
    """The vector's place in its polynomial."""
    inverse: Node
    number: Node
    """Of the pass."""

    @classmethod
    def read(cls, word: Node, index_bits: int) -> Tag:
        return cls(word.low(index_bits), word.bit(index_bits), word.high_from(index_bits + 1))


def reversed_digits(word: int, count: int) -> int:
    """The lowest ``count`` digits of base 8, in reversed order."""
    result = 0
    for _ in range(count):
        result, word = 8 * result + word % 8, word // 8
    return result
