"""Encrypted search through a service: the client gets exact scores and sorts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from palladion.search import Records, SearchIndex, fetch, top

from tests.service.conftest import Running

COUNT, DIMENSION = 3000, 32


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    """Unit vectors."""
    vectors = np.random.default_rng(5).normal(size=(COUNT, DIMENSION))
    return SearchIndex.of_vectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def searching(index: SearchIndex, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of one collection."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "models").mkdir()
    index.compile().save(folder / "models" / "faces.program")
    records = Records.of_bytes([b"face %d" % place for place in range(COUNT)])
    records.compile().save(folder / "models" / "faces-records.program")
    running = Running(folder / "data", folder / "models", {"part_bytes": 1_000_000})
    running.start()
    yield running
    assert running.stop() == 0


def test_scores_of_all_vectors_are_exact(
    searching: Running, index: SearchIndex, tmp_path: Path
) -> None:
    queries = index.vectors[[17, 2048]] * index.query_scale
    with searching.connect(tmp_path) as client:
        prediction = client.predict(queries, "faces")
    assert prediction.integers is not None
    assert np.array_equal(prediction.integers, index.vectors[[17, 2048]] @ index.vectors.T)
    assert [matches.indices[0] for matches in top(prediction, 3)] == [17, 2048]


def test_records_are_fetched_in_two_rounds(
    searching: Running, index: SearchIndex, tmp_path: Path
) -> None:
    with searching.connect(tmp_path) as client:
        models = client.model("faces"), client.model("faces-records")
        matches, records = fetch(*models, index.vectors[99] * index.query_scale, k=2)
        assert records == [b"face %d" % place for place in matches.indices]
        assert matches.indices[0] == 99
        assert fetch(*models, index.vectors[99] * 0.0, threshold=0.5)[1] == []


def test_the_command_shows_the_best_vectors(
    searching: Running, index: SearchIndex, tmp_path: Path
) -> None:
    queries = tmp_path / "queries.npy"
    np.save(queries, index.vectors[7] * index.query_scale)
    line = [sys.executable, "-m", "palladion.cli", "remote", "search", "--model", "faces",
            str(queries)]  # fmt: skip
    environment = {**os.environ, "PALLADION_URL": searching.url,
                   "PALLADION_TOKEN": searching.token, "PALLADION_HOME": str(tmp_path)}  # fmt: skip
    done = subprocess.run(
        [*line, "--threshold", "0.8", "--records", "faces-records", "--json"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    [matches] = shown["matches"]
    scores = (index.vectors[7] @ index.vectors.T) * index.scale * index.query_scale
    expected = np.flatnonzero(scores >= 0.8)
    assert sorted(matches["indices"]) == expected.tolist()
    assert matches["indices"][0] == 7
    assert matches["records"] == [f"face {place}" for place in matches["indices"]]
    assert (shown["model"], shown["warnings"]) == ("faces", [])
    done = subprocess.run(
        [*line, "--threshold", "1000"], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "no score is at least 1000.0\n"
    wrong = tmp_path / "wrong.npy"
    np.save(wrong, np.zeros((1, DIMENSION + 1)))
    done = subprocess.run([*line[:-1], str(wrong)], env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"inputs of shape 1x33, expected Nx{DIMENSION}" in done.stderr
