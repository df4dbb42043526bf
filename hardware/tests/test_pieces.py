"""Pieces that units share, beside their definitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from palladion_hardware.circuit import Circuit
from palladion_hardware.circuit.model import Cycle, Model
from palladion_hardware.errors import ParameterError
from palladion_hardware.pieces.benes import layers_of, permute_freely, route
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
    moved = np.stack([output["moved"] for output in outputs], axis=1).reshape(-1)
    assert np.array_equal(moved, old)


def permuted(targets: list[list[int]]) -> list[list[int]]:
    """Words 0, 1, .. behind a Benes network for each of the permutations."""
    lanes = len(targets[0])
    c = Circuit("benes")
    words = c.input("words", bits=8, lanes=lanes)
    switches = c.input("switches", bits=1, lanes=layers_of(lanes) * lanes // 2)
    c.output("permuted", permute_freely(c, words, switches))
    model, ordered = Model(c), np.arange(lanes, dtype=np.uint64)
    cycles = (
        {"words": ordered, "switches": np.array(route(each), dtype=np.uint64)} for each in targets
    )
    return [model.step(cycle)["permuted"].tolist() for cycle in cycles]


def test_a_benes_network_has_every_permutation() -> None:
    for lanes in (2, 4):
        targets = [list(each) for each in permutations(range(lanes))]
        for each, words in zip(targets, permuted(targets), strict=True):
            assert [words[target] for target in each] == list(range(lanes))


def test_wide_benes_networks_have_random_permutations() -> None:
    rng = np.random.default_rng(4)
    for lanes in (8, 32, 128):
        targets = [rng.permutation(lanes).tolist() for _ in range(40)]
        for each, words in zip(targets, permuted(targets), strict=True):
            assert [words[target] for target in each] == list(range(lanes))


@pytest.mark.parametrize("targets", [[0], [0, 1, 2], [0, 0, 1, 2], [1, 2, 3, 4]])
def test_what_is_no_permutation_has_no_switches(targets: list[int]) -> None:
    with pytest.raises(ParameterError, match="expected each lane once"):
        route(targets)
