"""Encrypted search gives the exact integer scores of every vector."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import palladion
import pytest
from click.testing import CliRunner
from palladion.cli import commands
from palladion.nn.ends.prediction import Prediction
from palladion.search import (
    LARGEST_SCORE,
    Records,
    SearchIndex,
    places_of,
    records_of,
    top,
)

from tests.simulations import run as run_simulation

Floats = np.ndarray[Any, np.dtype[np.float64]]


def unit_vectors(count: int, dimension: int, seed: int = 0) -> Floats:
    """Random vectors of length 1."""
    vectors = np.random.default_rng(seed).normal(size=(count, dimension))
    lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths)


def near(vectors: Floats, rows: list[int], seed: int = 1) -> Floats:
    """A unit vector near each of some rows: a cosine of about 0.95."""
    noise = np.random.default_rng(seed).normal(size=(len(rows), vectors.shape[1]))
    near = vectors[rows] + 0.3 * noise / np.sqrt(vectors.shape[1])
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True))


def integers_of(index: SearchIndex, queries: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Integers of queries by the definition, with its clipping."""
    rounded = np.rint(queries / index.query_scale).astype(np.int64)
    return np.clip(rounded, -index.levels, index.levels)


def searched(program: palladion.CompiledModel, queries: Floats) -> Prediction:
    """The answer of an encrypted run."""
    client = program.client()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", palladion.InputWarning)  # clipping is part of the test
        query = client.encrypt(queries)
    return client.decrypt(program.run(client.keys(), query), query)


def check(count: int, dimension: int, batch: int = 1) -> palladion.CompiledModel:
    """Compare every score with the inner product of the integers."""
    vectors = unit_vectors(count, dimension)
    index = SearchIndex.of_vectors(vectors)
    program = index.compile(batch)
    queries = near(vectors, [count // 2] * batch)
    prediction = searched(program, queries)
    expected = integers_of(index, queries) @ index.vectors.T
    assert prediction.integers is not None
    assert np.array_equal(prediction.integers, expected)
    cosines = queries @ vectors.T
    # Each coordinate is rounded by at most half of its unit.
    most = 0.5 * np.sqrt(dimension) * (index.scale + index.query_scale) + 0.25 * dimension * (
        index.scale * index.query_scale
    )
    clipped = np.abs(queries).max() > index.levels * index.query_scale
    assert clipped or np.abs(prediction.values - cosines).max() <= most
    return program


@pytest.mark.parametrize("dimension", [128, 100, 7])
@pytest.mark.parametrize("count", [1, 300, 5000])
def test_scores_are_exact(count: int, dimension: int) -> None:
    check(count, dimension)


def test_several_queries_at_once() -> None:
    check(600, 32, batch=3)


@pytest.mark.long
def test_the_small_size_of_the_public_suite() -> None:
    program = check(50_000, 128)
    assert len(program.terms.outputs()) == 2
    answer = program.client()
    query = answer.encrypt(unit_vectors(1, 128))
    assert len(program.run(answer.keys(), query).to_bytes()) < 1.1e6


def test_best_vectors_are_in_order_and_above_the_threshold() -> None:
    integers = np.array([[3, 9, -2, 9, 5]])
    prediction = Prediction({"scores": integers * 0.1}, None, integers=integers)
    [matches] = top(prediction, 3)
    assert matches.indices.tolist() == [1, 3, 4]
    assert np.allclose(matches.scores, [0.9, 0.9, 0.5])
    [matches] = top(prediction, 3, threshold=0.6)
    assert matches.indices.tolist() == [1, 3]
    assert len(top(prediction, 9)[0]) == 5
    with pytest.raises(palladion.UsageError, match="the best 0 vectors, expected at least 1"):
        top(prediction, 0)
    with pytest.raises(palladion.NetworkError, match="has no exact scores"):
        top(Prediction({"scores": integers * 0.1}, None), 1)


def test_the_integers_are_as_fine_as_scores_allow() -> None:
    vectors = unit_vectors(50, 64)
    index = SearchIndex.of_vectors(vectors)
    assert np.abs(index.vectors).max() == index.levels
    assert index.bound == index.levels * np.abs(index.vectors).sum(axis=1).max() <= LARGEST_SCORE
    assert np.array_equal(index.vectors, np.rint(vectors / index.scale))
    bits = int(np.log2(index.levels + 1)) + 1
    with pytest.raises(
        palladion.UsageError,
        match=rf"scores can reach \d+ with integers of {bits + 1} bits, expected at most 32767",
    ):
        SearchIndex.of_vectors(vectors, bits=bits + 1)
    coarse = SearchIndex.of_vectors(vectors, bits=3, limit=1.0)
    assert (coarse.levels, coarse.query_scale) == (3, 1 / 3)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([1.0, 2.0], "expected numbers of shape"),
        (np.zeros((0, 4)), "expected numbers of shape"),
        ([["a"]], "expected numbers of shape"),
        ([[1.0, np.nan]], "vectors with NaN or infinite numbers, the first in row 0"),
        ([[0.0, 0.0]], "vectors that are all 0"),
    ],
)
def test_vectors_that_cannot_be_indexed(vectors: Any, words: str) -> None:
    with pytest.raises(palladion.DataError, match=words):
        SearchIndex.of_vectors(vectors)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bits": 1}, "integers of 1 bits, expected 2 to 12"),
        ({"limit": 0.0}, "a limit of 0.0"),
        ({"limit": float("nan")}, "a limit of nan"),
    ],
)
def test_options_out_of_range(options: Any, words: str) -> None:
    with pytest.raises(palladion.UsageError, match=words):
        SearchIndex.of_vectors([[1.0, 2.0]], **options)


def test_queries_beyond_the_range_are_clipped_with_a_warning() -> None:
    program = SearchIndex.of_vectors([[1.0, 0.0], [0.0, 1.0]]).compile()
    with pytest.warns(palladion.InputWarning, match="1 of 2 input values"):
        program.client().encrypt([[5.0, 0.5]])


def test_the_command(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.npy"
    np.save(vectors, unit_vectors(300, 16))
    output = tmp_path / "faces.program"
    done = CliRunner().invoke(commands, ["index", str(vectors), "--output", str(output), "--json"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["vectors"], shown["dimension"]) == (300, 16)
    assert palladion.CompiledModel.load(output).terms.facts()["network"] == "faces"
    assert Path(shown["client"]).is_file()
    assert Path(shown["client"]).parent == tmp_path
    done = CliRunner().invoke(
        commands, ["index", str(vectors), "--output", str(output), "--bits", "12"]
    )
    assert isinstance(done.exception, palladion.UsageError)
    assert "expected at most 32767" in str(done.exception)


@pytest.mark.parametrize("count", [3, 40_000])
def test_records_come_back_byte_for_byte(count: int) -> None:
    records = [b"%d:" % place + bytes([place % 256]) * (place % 20) for place in range(count)]
    held = Records.of_bytes(records)
    places = held.words.shape[0]
    program = held.compile()
    client = program.client()
    keys = client.keys()
    for place in (0, count - 1):
        query = client.encrypt(places_of(place, places))
        prediction = client.decrypt(program.run(keys, query), query)
        assert records_of(prediction) == [records[place]]


def test_records_that_cannot_be() -> None:
    with pytest.raises(palladion.DataError, match="no records"):
        Records.of_bytes([])
    with pytest.raises(palladion.UsageError, match="records 3 to 3, expected 0 to 2"):
        places_of(3, 3)
    two = Records.of_bytes([b"a", b"bcd"]).words.sum(axis=0)[None]  # not at a single place
    with pytest.raises(palladion.DataError, match="the query was no single place"):
        records_of(Prediction({"words": two}, None, integers=two))


def test_xla_and_a_simulated_machine_take_a_merge(tmp_path: Path) -> None:
    """A whole run through XLA gives the words of the CPU's run, and its trace has a schedule."""
    pytest.importorskip("jax")
    vectors = unit_vectors(6000, 25)
    program = SearchIndex.of_vectors(vectors).compile(words=32)
    assert "scores: merge" in {step["name"] for step in program.native.facts()["steps"]}
    client = program.client()
    keys, query = client.keys(), client.encrypt(0.5 * near(vectors, [3]))
    on_cpu = program.run(keys, query)
    on_xla = program.run(keys, query, target="xla")
    assert on_cpu.report.raw_digest == on_xla.report.raw_digest
    path = tmp_path / "narrow.program"
    program.save(path)
    shown = run_simulation(str(path), "--machine", "tiny")
    _, counts = program.native.lower()
    assert shown["instructions"]["ntt"] == counts["passes"]["ntt"]
