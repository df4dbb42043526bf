"""Pieces that units share, beside their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from palladion_hardware.circuit import Circuit
from palladion_hardware.circuit.model import Cycle, Model
from palladion_hardware.pieces.transpose import permute_bits


@pytest.mark.parametrize(
    "source",
    [
        (0, 1, 2, 3, 4),
        (3, 4, 0, 1, 2),
        (2, 3, 4, 0, 1),
        (1, 0, 3, 2, 4),  # bits of the time change places among themselves
        (1, 2, 0, 4, 3),
        (4, 0, 1, 3, 2),
    ],
)
def test_bits_of_places_move(source: tuple[int, ...]) -> None:
    """Eight vectors of four lanes, of words that are their places."""
    times, lanes, vectors = 3, 4, 8
    c = Circuit("permute")
    index, words = c.input("index", bits=times), c.input("words", bits=5, lanes=lanes)
    controls = [index.bit(bit) for bit in range(times)]
    moved = permute_bits(c, words, controls, source=source)
    c.output("moved", moved)
    cycles: list[Cycle] = [
        {
            "index": np.array([t % vectors], dtype=np.uint64),
            "words": np.arange(t % vectors, lanes * vectors, vectors, dtype=np.uint64),
        }
        for t in range(4 * vectors)
    ]
    outputs = Model(c).run(cycles)[c.latency() + vectors :][:vectors]
    places = np.arange(lanes * vectors)
    old = sum((places >> new & 1) << bit for new, bit in enumerate(source))
    found = np.stack([output["moved"] for output in outputs], axis=1).reshape(-1)
    assert np.array_equal(found, old)
