"""Blocks of ChaCha20 (Bernstein, "ChaCha, a variant of Salsa20", 2008): a round a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palladion_hardware.circuit import Circuit, Node

CONSTANTS: Final = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
DOUBLE_ROUND: Final = (
    ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
"""The words of each quarter round: columns, then diagonals."""
TURNS: Final = ((0, 1, 3, 16), (2, 3, 1, 12), (0, 1, 3, 8), (2, 3, 1, 7))
"""Steps of a quarter round: a += b, then d is turned by so many bits after d ^= a."""


def blocks(c: Circuit, key: Node, stream: Node, counter: Node) -> list[Node]:
    """The 16 words of a block for each lane of ``counter``, in 21 cycles.

    ``key`` has eight words of 32 bits and ``stream`` two, the lower one first, as the seed's bytes
    have. Counters are below 2^32.
    """
    start = [
        *(c.constant(word, bits=32) for word in CONSTANTS),
        *(key.lane(place) for place in range(8)),
        counter,
        c.constant(0, bits=32),
        *(stream.lane(place) for place in range(2)),
    ]
    x = list(start)
    for number in range(20):
        for places in DOUBLE_ROUND[number % 2]:
            quarter_round(c, x, places)
        x = [word.delay() for word in c.aligned(*x)]
    return [(word + first).low(32).delay() for word, first in zip(x, start, strict=True)]


def quarter_round(c: Circuit, x: list[Node], places: Sequence[int]) -> None:
    for a, b, d, turn in TURNS:
        x[places[a]] = (x[places[a]] + x[places[b]]).low(32)
        mixed = x[places[d]] ^ x[places[a]]
        x[places[d]] = c.concatenate(mixed.high_from(32 - turn), mixed.low(32 - turn))
