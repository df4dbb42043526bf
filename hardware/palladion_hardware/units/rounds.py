"""Transforms by one row of butterflies of 2^r words, which a polynomial passes log(N) / r times.

Word k G + t of a polynomial is in lane k of vector t, for G = N / lanes vectors. A pass takes the
words that differ in the highest r bits of their place, which are lanes far apart, and its block of
the remainders' tree is in the lowest bits. Behind it the bits of the place rotate by r, so each
pass meets the next digit in the same lanes. Values leave without the last rotation, and the inverse
takes them so: it rotates the other way, and leaves the coefficients at their places.

A pass is a ring of registers. It is as long as a multiple of G, and as many polynomials go round at
once: each takes a round for each pass, and together they keep the butterflies busy in every cycle.
"""

from __future__ import annotations

from abc import abstractmethod
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
from palladion_hardware.pieces.roots import Roots, read_row
from palladion_hardware.pieces.stream import count_vectors
from palladion_hardware.pieces.transpose import permute_bits
from palladion_hardware.units.numbers import inverse_transform, log2, transform
from palladion_hardware.units.unit import EXTREMES, Shape, Unit, Work, extreme_words


class RoundTransform(Unit):
    """Ports: ``valid``, ``first``, ``inverse``, ``words``.

    All vectors of a polynomial enter one after another, ``first`` with the first one. A polynomial
    enters when no other one comes round: see :attr:`ring`. Memories of roots hold those of the
    modulus of the shape.
    """

    digit_bits: ClassVar[int]
    """r."""
    products: ClassVar[tuple[tuple[int, int], ...]]
    """The products of a butterfly: (j, m) is by s^j z^(j m), for Y^(2^r) = s^(2^r) and a root z of
    order 2^r. Inverse it is by s^(-j) z^(-j m) / 2^r."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        lanes, self.bits = log2(shape.lanes, "lanes"), log2(shape.degree, "degree")
        if not self.digit_bits <= lanes <= self.bits or self.bits % self.digit_bits:
            points = 1 << self.digit_bits
            raise ParameterError(
                f"degree {shape.degree} on {shape.lanes} lanes: expected {points} lanes or more, "
                f"and as degree a power of {points} from the lanes on"
            )
        self.time_bits = self.bits - lanes
        self.vectors = 1 << self.time_bits
        self.passes = self.bits // self.digit_bits
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

    @abstractmethod
    def butterflies(
        self, m: Multiplier, words: list[Node], factors: dict[tuple[int, int], Node], inverse: Node
    ) -> list[Node]:
        """The row: a node of ``words`` has a word of each butterfly. Factors come a cycle later."""

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
        shape, c = self.shape, Circuit(self.name.replace("-", "_"))
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
        # The ring: whether it holds a vector, and the words, place, direction and pass of it.
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

    @property
    def _count(self) -> int:
        """Butterflies of the row."""
        return self.shape.lanes >> self.digit_bits

    def _pass(self, c: Circuit, m: Multiplier, words: Node, tag: Tag) -> Node:
        """Word k of each butterfly is in the k-th of as many equal parts of the lanes."""
        assert words.time is not None
        count = self._count
        address = c.concatenate(*([tag.index] if self.time_bits else []), tag.inverse, tag.number)
        rows = read_row(c, self._factors(), address, bits=self.shape.word, time=words.time + 1)
        factors = {
            product: rows.take(range(place * count, (place + 1) * count))
            for place, product in enumerate(self.products)
        }
        parts = [words.take(range(k, k + count)) for k in range(0, self.shape.lanes, count)]
        return c.join(*self.butterflies(m, parts, factors, c.at(tag.inverse, words.time)))

    def _rotate(self, c: Circuit, words: Node, valid: Node, tag: Tag) -> Node:
        """Bits of the place, up forward and down inverse: two networks side by side."""
        controls = [valid & tag.index.bit(place) for place in range(self.time_bits)]
        up, down = (
            permute_bits(
                c, words, controls, source=[(p + step) % self.bits for p in range(self.bits)]
            )
            for step in (-self.digit_bits, self.digit_bits)
        )
        up, down = c.aligned(up, down)
        assert up.time is not None
        return c.select(c.at(tag.inverse, up.time), down, up)

    def _factors(self) -> Words:
        """Rows by pass, direction and vector; shape (passes 2 G, products of all butterflies).

        A block of the tree has Y^(2^r) = psi^e. Its digits, of which the first one is the lowest of
        the exponent, are the lowest bits of the place, with the first one on top.
        """
        n, r = self.shape.degree, self.digit_bits
        share = pow(1 << r, -1, self.q)
        rows = []
        for number in range(self.passes):
            for inverse in (0, 1):
                depth = self.passes - 1 - number if inverse else number
                sign, scale = (-1, share) if inverse else (1, 1)
                for t in range(self.vectors):
                    places = range(t, self._count * self.vectors, self.vectors)
                    roots = [
                        (n >> r * (depth + 1)) * (1 + 2 * reversed_digits(place, depth, bits=r))
                        for place in places
                    ]
                    rows.append(
                        [
                            self.roots.power(sign * j * (root + (2 * n >> r) * m), scale=scale)
                            for j, m in self.products
                            for root in roots
                        ]
                    )
        return np.array(rows, dtype=np.uint64)

    def places(self) -> Words:
        """The index of the value that is at each place; shape (N)."""
        r, top = self.digit_bits, self.bits - self.digit_bits
        return np.array(
            [
                (place >> top << top) + reversed_digits(place, self.passes - 1, bits=r)
                for place in range(self.shape.degree)
            ]
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
    """Place, direction and pass of a vector, which go round beside its words."""

    index: Node
    """The vector's place in its polynomial."""
    inverse: Node
    number: Node
    """Of the pass."""

    @classmethod
    def read(cls, word: Node, index_bits: int) -> Tag:
        return cls(word.low(index_bits), word.bit(index_bits), word.high_from(index_bits + 1))


def reversed_digits(word: int, count: int, *, bits: int) -> int:
    """The lowest ``count`` digits of ``bits`` bits, in reversed order."""
    result = 0
    for _ in range(count):
        result, word = (result << bits) + word % (1 << bits), word >> bits
    return result
