"""Athena's pseudo-random generator: masks of keys from a seed (section 4.1).

The paper does not name a generator. This one makes the words of ``uniform_from_seed`` in
crates/ring/src/sample.rs, so seeds of this project's keys are its seeds: ChaCha20, a draw of 32
bits for words of up to 32 bits and of 64 bits for wider ones, its low bits, and another draw for
each word that is not below q. Draws are made for all lanes at once. Accepted words are gathered
without gaps, so the number of cycles of a polynomial depends on the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from palladion_hardware.circuit import Circuit
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces.chacha import CONSTANTS, DOUBLE_ROUND, TURNS, blocks
from palladion_hardware.pieces.concentrate import gather
from palladion_hardware.pieces.stream import count_vectors
from palladion_hardware.units.numbers import log2
from palladion_hardware.units.unit import Machine, Shape, Unit, Work


class AthenaGenerator(Unit):
    """Ports: ``valid``, ``first``, ``key``, ``stream``.

    A vector of draws begins in each cycle with ``valid``. ``first`` begins a stream, and drops the
    words of the stream before it. ``key`` and ``stream`` are there in all cycles of a stream. A
    stream has at most 2^32 blocks.
    """

    name: ClassVar[str] = "athena-generator"
    summary: ClassVar[str] = "uniform words modulo q from a seed: ChaCha20 and rejection"
    source: ClassVar[str] = "Athena, MICRO 2025, section 4.1; crates/ring/src/sample.rs"
    machine: ClassVar[Machine | None] = ("athena", "prng", 1.2)

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.wide = shape.word > 32
        self.per_block = 8 if self.wide else 16
        self.block_bits = log2(shape.lanes, "lanes") - log2(self.per_block, "words")
        if self.block_bits < 0:
            raise ParameterError(
                f"lanes {shape.lanes}: expected {self.per_block} or more, the draws of a block"
            )
        self.q = self.modulus(order=2)
        if self.q >> shape.word or (self.q >> 32 != 0) != self.wide:
            raise ParameterError(
                f"modulus {self.q}: expected at most {shape.word} bits"
                f"{' and more than 32, since narrower ones have other draws' if self.wide else ''}"
            )

    @classmethod
    def full(cls) -> Shape:
        return Shape(lanes=2048, word=36, degree=32768, round_bits=12)

    @classmethod
    def small(cls) -> Shape:
        """A modulus that rejects nearly half of the draws."""
        return Shape(lanes=16, word=20, degree=128, modulus=(1 << 19) + 21)

    def interval(self) -> str:
        share = (self._mask + 1) / self.q
        return f"a vector in {share:.3g} cycles in the mean"

    @property
    def _mask(self) -> int:
        return (1 << self.q.bit_length()) - 1

    def settings(self) -> Mapping[str, int]:
        return {"modulus": self.q, "mask": self._mask}

    def describe(self) -> Circuit:
        shape, c = self.shape, Circuit("athena_generator")
        valid, first = c.input("valid", bits=1), c.input("first", bits=1)
        key, stream = c.input("key", bits=32, lanes=8), c.input("stream", bits=32, lanes=2)
        q, mask = c.setting("modulus", bits=shape.word), c.setting("mask", bits=shape.word)
        number = count_vectors(c, valid, first, bits=32 - self.block_bits)
        count = 1 << self.block_bits
        if self.block_bits:
            number = c.concatenate(c.constant(list(range(count)), bits=self.block_bits), number)
        with c.within("blocks"):
            words = blocks(c, key, stream, number)
            if self.wide:
                words = [c.concatenate(*words[k : k + 2]) for k in range(0, 16, 2)]
            order = [lane % self.per_block * count + lane // self.per_block
                     for lane in range(shape.lanes)]  # fmt: skip
            draws = (c.join(*words).low(shape.word).take(order) & mask).delay()
        with c.within("gather"):
            less = draws - q
            accept = less.bit(less.bits - 1)
            full, vector = gather(c, draws, accept, valid, first)
        c.output("result_valid", full)
        c.output("result", vector)
        return c

    def work(self, rng: np.random.Generator) -> Work:
        """Streams of extreme and random keys, one after another, with pauses in them."""
        work, ones = Work(), (1 << 32) - 1
        keys = ([0] * 8, [ones] * 8, *rng.integers(0, 1 << 32, (3, 8)).tolist())
        streams = ([0, 0], [ones] * 2, *rng.integers(0, 1 << 32, (3, 2)).tolist())
        for key, stream in zip(keys, streams, strict=True):
            waiting: list[int] = []
            vectors = number = 0
            while vectors < self.shape.degree // self.shape.lanes:
                cycle = self.idle() | {"valid": np.ones(1, dtype=np.uint64)}
                cycle["first"] = np.array([int(number == 0)], dtype=np.uint64)
                cycle["key"] = np.array(key, dtype=np.uint64)
                cycle["stream"] = np.array(stream, dtype=np.uint64)
                waiting += [word for word in self._draws(key, stream, number) if word < self.q]
                if len(waiting) >= self.shape.lanes:
                    vector, waiting = waiting[: self.shape.lanes], waiting[self.shape.lanes :]
                    work.expected[len(work.cycles)] = (
                        f"key {key[0]:x}.., stream {stream[0]:x}.., vector {vectors}",
                        np.array(vector, dtype=np.uint64),
                    )
                    vectors += 1
                work.cycles.append(cycle)
                number += 1
                if rng.integers(8) == 0:
                    work.cycles.append(self.idle())
        return work

    def _draws(self, key: list[int], stream: list[int], number: int) -> list[int]:
        """The draws of a cycle by definition, before rejection."""
        count = 1 << self.block_bits
        words = [w for b in range(count) for w in chacha20(key, stream, number * count + b)]
        if self.wide:
            words = [a | b << 32 for a, b in zip(words[::2], words[1::2], strict=True)]
        return [word & self._mask for word in words]


def chacha20(key: list[int], stream: list[int], counter: int) -> list[int]:
    """A block by its definition, in Python's integers."""
    ones = (1 << 32) - 1
    start = [*CONSTANTS, *key, counter & ones, counter >> 32, *stream]
    x = list(start)
    for number in range(20):
        for places in DOUBLE_ROUND[number % 2]:
            for a, b, d, turn in TURNS:
                i, j, k = places[a], places[b], places[d]
                x[i] = (x[i] + x[j]) & ones
                mixed = x[k] ^ x[i]
                x[k] = (mixed << turn | mixed >> (32 - turn)) & ones
    return [(word + first) & ones for word, first in zip(x, start, strict=True)]
