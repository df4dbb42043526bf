"""Our submission to fetch-by-similarity of the FHE Benchmarking Suite, driven through files as its
harness does it, for the count of matches."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import palladion
import pytest
from palladion import ckks

OURS = Path(__file__).parent.parent / "bench" / "he-org"
DIMENSION, TOY, SMALL = 128, 1_000, 50_000
SLOTS = 8192

Floats = npt.NDArray[np.float64]

pytestmark = pytest.mark.long

HARNESS = """
import pathlib, subprocess, sys
subprocess.run([pathlib.Path("scripts/get_openfhe.sh").resolve()], check=True)
subprocess.run([pathlib.Path("scripts/build_task.sh").resolve(), "./submission"], check=True)
built = sorted(path.name for path in pathlib.Path("submission/build").iterdir())
pathlib.Path("seen.txt").write_text(" ".join([*sys.argv[1:], *built]))
"""

CLIENT = ("client_key_generation", "client_encode_encrypt_db", "client_encode_encrypt_query")
ANSWERED = ("server_encrypted_compute", "client_decrypt_decode", "client_postprocess")


def imported(path: Path) -> ModuleType:
    """A module of the submission."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look there for the types of fields
    spec.loader.exec_module(module)
    return module


counting = imported(OURS / "similarity" / "counting.py")


def unit(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / lengths


def random(count: int, seed: int) -> Floats:
    """Random vectors of length 1."""
    return unit(np.random.default_rng(seed).normal(size=(count, DIMENSION)))


def near(center: Floats, count: int, seed: int) -> Floats:
    """Vectors near a center, as the harness makes them."""
    return unit(center + 0.3 * random(count, seed))


def at_similarity(query: Floats, score: float, count: int) -> Floats:
    """Vectors of length 1 with a similarity to a query."""
    other = random(count, seed=7)
    other = unit(other - np.outer(other @ query, query))
    vectors: Floats = score * query + np.sqrt(1 - score**2) * other
    return vectors


def write(root: Path, name: str, vectors: Floats) -> None:
    folder = root / "datasets" / "toy"
    folder.mkdir(parents=True, exist_ok=True)
    vectors.astype(np.float32).tofile(folder / name)


def stage(root: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A stage in the root of a checkout, as the harness calls it."""
    line = [str(root / "submission" / "stages" / name), *arguments]
    env = os.environ | {"PALLADION_PYTHON": sys.executable}
    return subprocess.run(
        line, cwd=root, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def run(root: Path, *names: str) -> None:
    """Stages that end well."""
    for name in names:
        found = stage(root, name, "0", "--count_only", "--seed", "12")
        assert found.returncode == 0, f"{name}: {found.stderr}"


def refused(root: Path, name: str, words: str) -> None:
    """A stage that ends with an error of one line."""
    found = stage(root, name, "0", "--count_only")
    assert found.returncode == 1
    assert words in found.stderr
    assert found.stderr.count("\n") == 1


def on_the_server(root: Path) -> None:
    """The server's stage, with all that is the client's alone out of reach."""
    away, held = root / "away", [root / "io" / "toy" / "secret", root / "datasets"]
    away.mkdir()
    for path in held:
        path.rename(away / path.name)
    run(root, "server_encrypted_compute")
    for path in held:
        assert not path.exists()
        (away / path.name).rename(path)
    away.rmdir()


def counted(root: Path) -> int:
    """The count in the file that the harness reads."""
    [count] = np.fromfile(root / "io" / "toy" / "results.bin", dtype=np.int_)
    return int(count)


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our submission as `run` puts it into a checkout."""
    folder = tmp_path_factory.mktemp("installed") / "submission"
    shutil.copytree(OURS / "similarity", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(OURS / "stage_files.py", folder)
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, submission: Path) -> Path:
    """A checkout with our submission, in which the client's stages have run."""
    made = tmp_path_factory.mktemp("workload")
    (made / "submission").symlink_to(submission)
    center = random(1, seed=1)[0]
    records = np.concatenate([near(center, 23, seed=2), random(TOY - 23, seed=3)])
    write(made, "db.bin", records)
    write(made, "query.bin", near(center, 1, seed=4))
    run(made, *CLIENT)
    return made


def test_the_count_is_that_of_the_clear(root: Path) -> None:
    io, data = root / "io" / "toy", root / "datasets" / "toy"
    assert (io / "secret" / "secret.key").stat().st_mode & 0o077 == 0
    records = np.fromfile(data / "db.bin", dtype=np.float32).reshape(-1, DIMENSION)
    for query, expected in ((near(random(1, seed=1)[0], 1, seed=5), 23), (random(1, seed=6), 0)):
        write(root, "query.bin", query)
        run(root, "client_encode_encrypt_query")
        on_the_server(root)
        run(root, "client_decrypt_decode", "client_postprocess")
        assert expected == (records @ query[0] > 0.8).sum()
        assert counted(root) == expected
    steps = json.loads((io / "server_reported_steps.json").read_text())
    assert all(seconds >= 0 for seconds in steps.values())

    secret = (io / "secret" / "secret.key").read_bytes()
    for folder in ("keys", "ciphertexts_upload", "ciphertexts_download"):
        for path in (io / folder).iterdir():
            assert secret[-2048:] not in path.read_bytes()


def test_an_answer_to_another_query_is_refused(root: Path) -> None:
    run(root, *ANSWERED)
    run(root, "client_encode_encrypt_query")
    refused(root, "client_decrypt_decode", "answers another query")
    assert not (root / "io" / "toy" / "results.bin").exists()


def test_a_query_of_another_key_is_refused(tmp_path: Path, root: Path) -> None:
    shutil.copytree(root, tmp_path / "other", symlinks=True)
    other = tmp_path / "other"
    secret = other / "io" / "toy" / "secret" / "secret.key"
    before = secret.read_bytes()
    run(other, "client_key_generation")
    run(other, "client_encode_encrypt_query")
    refused(other, "server_encrypted_compute", "under one secret key")
    # With the first key again, the keys of the second one do not fit.
    secret.write_bytes(before)
    run(other, "client_encode_encrypt_query")
    refused(other, "server_encrypted_compute", "under one secret key")


def test_a_similarity_in_the_gap_is_refused(tmp_path: Path, submission: Path) -> None:
    (tmp_path / "submission").symlink_to(submission)
    query = random(1, seed=1)[0]
    records = [at_similarity(query, 0.75, 1), near(query, 9, seed=2), random(TOY - 10, seed=3)]
    write(tmp_path, "db.bin", np.concatenate(records))
    write(tmp_path, "query.bin", query)
    run(tmp_path, *CLIENT, "server_encrypted_compute", "client_decrypt_decode")
    refused(tmp_path, "client_postprocess", "between 0.7 and 0.8 cannot be counted")
    assert not (tmp_path / "io" / "toy" / "results.bin").exists()


@pytest.mark.parametrize(
    ("name", "kept"), [("query.bin", 0), ("query.bin", 5000), ("block-000.npy", 0),
                       ("block-000.npy", 60_000)],
)  # fmt: skip
def test_damaged_ciphertexts_are_refused(tmp_path: Path, root: Path, name: str, kept: int) -> None:
    shutil.copytree(root, tmp_path / "other", symlinks=True)
    path = tmp_path / "other" / "io" / "toy" / "ciphertexts_upload" / name
    path.write_bytes(path.read_bytes()[:kept])
    refused(tmp_path / "other", "server_encrypted_compute", name)


def test_damaged_keys_are_refused(tmp_path: Path, root: Path) -> None:
    shutil.copytree(root, tmp_path / "other", symlinks=True)
    io = tmp_path / "other" / "io" / "toy"
    (io / "keys" / "matches.keys").write_bytes(b"")
    refused(tmp_path / "other", "server_encrypted_compute", "matches.keys")
    (io / "secret" / "secret.key").write_bytes(b"")
    refused(tmp_path / "other", "client_encode_encrypt_query", "secret.key")


@pytest.mark.parametrize(
    ("name", "vectors", "words"),
    [
        ("db.bin", np.zeros(0), "0 bytes, expected 512000"),
        ("db.bin", random(TOY - 1, seed=1), "511488 bytes, expected 512000"),
        ("db.bin", 2 * random(TOY, seed=1), "length 2, expected 1"),
        ("db.bin", np.full((TOY, DIMENSION), np.nan), "length nan, expected 1"),
        ("query.bin", np.zeros(0), "0 bytes, expected 512"),
        ("query.bin", 1.1 * random(1, seed=1), "length 1.1, expected 1"),
    ],
)
def test_wrong_vectors_are_refused(
    tmp_path: Path, root: Path, name: str, vectors: Floats, words: str
) -> None:
    (tmp_path / "submission").symlink_to(root / "submission")
    shutil.copytree(root / "io" / "toy" / "secret", tmp_path / "io" / "toy" / "secret")
    write(tmp_path, name, vectors)
    stage_of = {"db.bin": "client_encode_encrypt_db", "query.bin": "client_encode_encrypt_query"}
    refused(tmp_path, stage_of[name], words)


@pytest.mark.parametrize("name", [*CLIENT[1:], *ANSWERED])
def test_a_stage_without_its_files_is_refused(tmp_path: Path, submission: Path, name: str) -> None:
    (tmp_path / "submission").symlink_to(submission)
    refused(tmp_path, name, "cannot read")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no size, expected 0 (toy), 1 (small), 2 (medium)"),
        (["toy", "--count_only"], "size 'toy'"),
        (["3", "--count_only"], "size '3'"),
        (["0"], "payloads are not fetched"),
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, submission: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "submission").symlink_to(submission)
    found = stage(tmp_path, "client_key_generation", *arguments)
    assert found.returncode == 1
    assert words in found.stderr


def test_a_harness_runs_unchanged(tmp_path: Path) -> None:
    given = tmp_path / "checkout"
    for name in ("harness", "scripts", "submission"):
        (given / name).mkdir(parents=True)
    (given / "harness" / "run_submission.py").write_text(HARNESS, encoding="ascii")
    (given / "harness" / "generate_query.py").write_text("", encoding="ascii")
    (given / "submission" / "theirs").write_text("", encoding="ascii")
    line = [sys.executable, str(OURS / "run"), "--harness", str(given), "--work",
            str(tmp_path / "work"), "--runs", "2"]  # fmt: skip
    found = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode == 0, found.stderr
    stages = sorted(path.name for path in (OURS / "similarity" / "stages").iterdir())
    seen = (tmp_path / "work" / "seen.txt").read_text(encoding="ascii")
    assert seen.split() == ["0", "--num_runs", "2", "--count_only", *stages]
    assert (tmp_path / "work/harness/run_submission.py").read_text(encoding="ascii") == HARNESS
    assert not (tmp_path / "work" / "submission" / "theirs").exists()
    large = subprocess.run([*line, "--size", "3"], capture_output=True, text=True, check=False)
    assert "expected 0 to 2" in large.stderr


def test_the_indicator_is_as_exact_as_it_says() -> None:
    for indicator in counting.indicators():
        below, above = np.linspace(-1.02, indicator.low, 70_001), np.linspace(0.8, 1.02, 30_001)
        errors = [np.abs(indicator(below)).max(), np.abs(indicator(above) - 1).max()]
        assert 0.9 * indicator.error < max(errors) <= indicator.error
    for records, low in ((TOY, 0.7), (SMALL, 0.7), (1_000_000, 0.65)):
        layout = counting.Layout(records, DIMENSION, SLOTS)
        assert layout.indicator().low == low
        assert layout.error(layout.indicator()) < counting.MAX_ERROR
    with pytest.raises(palladion.UsageError, match="count cannot be told"):
        counting.Layout(20_000_000, DIMENSION, SLOTS).indicator()


def test_the_circuit_counts_the_worst_collection_of_50000() -> None:
    """In the clear, with all scores where the indicator's errors are largest."""
    layout = counting.Layout(SMALL, DIMENSION, SLOTS)
    indicator = layout.indicator()
    whole = counting.Counter(counting.params(), layout, indicator).whole()
    query, grid = random(1, seed=1)[0], np.linspace(-1, 1, 100_001)
    wrong = indicator(grid) - (grid > 0.75)
    wrong[(grid > 0.7) & (grid < 0.8)] = 0
    for score in (grid[wrong.argmin()], grid[wrong.argmax()]):
        vectors = at_similarity(query, score, SMALL)
        [found, *_] = whole.run_clear(clear_inputs(layout, query, vectors))["count"].real
        expected = SMALL if score > 0.75 else 0
        assert 0.05 < abs(found - expected) < layout.error(indicator)


def test_noise_is_as_large_as_the_layout_says_at_every_score() -> None:
    params = counting.params()
    layout = counting.Layout(SLOTS, DIMENSION, SLOTS)
    counter = counting.Counter(params, layout, layout.indicator())
    query = random(1, seed=1)[0]
    rotations, matches, sums = counter.rotations(), counter.matches(), counter.sums()
    secret = ckks.keygen(params)
    keys = [c.keys(secret) for c in (rotations, matches, sums)]
    for score in (-1, 0, 0.7, 0.8, 1):
        inputs = clear_inputs(layout, query, at_similarity(query, score, SLOTS))
        inputs = {name.replace("d0.", "d"): slots for name, slots in inputs.items()}
        sent = {"query": inputs.pop("query")}
        rotated = rotations.run(rotations.encrypt(secret, sent), keys[0])
        block = rotated | matches.encrypt(secret, inputs)
        result = matches.run(block, keys[1])["matches"]
        errors = secret.decrypt_real(result.bounded(1)) + 0.5 - counter.indicator(np.array(score))
        # The last rescale alone leaves sqrt(N (1 + 2 N / 3) / 24) over the scale. Less noise would
        # mean that something is not encrypted.
        least = np.sqrt(2 * SLOTS * (1 + 4 * SLOTS / 3) / 24) / counting.SCALE
        assert least < errors.std() < counting.SLOT_ERROR
        count = secret.decrypt_real(sums.run({"matches": result}, keys[2])["count"].bounded(SLOTS))
        assert abs(count.mean() - SLOTS * (score > 0.75)) < layout.error(counter.indicator)


def clear_inputs(layout: Any, query: Floats, vectors: Floats) -> dict[str, Any]:
    """The inputs of the whole circuit."""
    inputs = {"query": layout.query(query) * (layout.indicator().scale / 2)}
    for block in range(layout.blocks):
        rows = enumerate(layout.database(vectors, block))
        inputs |= {f"d{block}.{k}": row for k, row in rows}
    return inputs
