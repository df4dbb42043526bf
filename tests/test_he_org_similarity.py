"""Our submission to fetch-by-similarity of the FHE Benchmarking Suite, driven through files as its
harness does it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
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
MATCHES = 23

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


indicator = imported(OURS / "similarity" / "indicator.py")
circuits = imported(OURS / "similarity" / "circuits.py")


@dataclass(frozen=True)
class Checkout:
    """A checkout of the workload with our submission."""

    root: Path
    count_only: bool = True

    @property
    def io(self) -> Path:
        return self.root / "io" / "toy"

    @property
    def data(self) -> Path:
        return self.root / "datasets" / "toy"

    def write(self, name: str, numbers: npt.NDArray[Any]) -> None:
        """A file of the harness."""
        self.data.mkdir(parents=True, exist_ok=True)
        kind = np.int16 if name == "payloads.bin" else np.float32
        numbers.astype(kind).tofile(self.data / name)

    def stage(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A stage in the root, as the harness calls it."""
        return subprocess.run(
            [str(self.root / "submission" / "stages" / name), *arguments],
            cwd=self.root,
            env=os.environ | {"PALLADION_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def mode(self) -> list[str]:
        return ["--count_only"] * self.count_only

    def run(self, *names: str) -> None:
        """Stages that end well."""
        for name in names:
            process = self.stage(name, "0", *self.mode(), "--seed", "12")
            assert process.returncode == 0, f"{name}: {process.stderr}"

    def refused(self, name: str, words: str) -> None:
        """A stage that ends with an error of one line."""
        process = self.stage(name, "0", *self.mode())
        assert process.returncode == 1
        assert words in process.stderr
        assert process.stderr.count("\n") == 1

    def serve(self) -> None:
        """The server's stage, with all that is the client's alone out of reach."""
        away, held = self.root / "away", [self.io / "secret", self.root / "datasets"]
        away.mkdir()
        for path in held:
            path.rename(away / path.name)
        self.run("server_encrypted_compute")
        for path in held:
            assert not path.exists()
            (away / path.name).rename(path)
        away.rmdir()

    def copy(self, folder: Path) -> Checkout:
        shutil.copytree(self.root, folder / "copy", symlinks=True)
        return Checkout(folder / "copy", self.count_only)


def unit(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / lengths


def random(count: int, seed: int) -> Floats:
    """Random vectors of length 1."""
    return unit(np.random.default_rng(seed).normal(size=(count, DIMENSION)))


CENTER = random(1, seed=1)[0]


def near(center: Floats, count: int, seed: int) -> Floats:
    """Vectors near a center, as the harness makes them."""
    return unit(center + 0.3 * random(count, seed))


def at_similarity(query: Floats, score: float, count: int) -> Floats:
    """Vectors of length 1 with a similarity to a query."""
    other = random(count, seed=7)
    other = unit(other - np.outer(other @ query, query))
    vectors: Floats = score * query + np.sqrt(1 - score**2) * other
    return vectors


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our submission as `run` puts it into a checkout."""
    folder = tmp_path_factory.mktemp("installed") / "submission"
    shutil.copytree(OURS / "similarity", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(OURS / "stage_files.py", folder)
    return folder


def checkout(root: Path, submission: Path, *, count_only: bool) -> Checkout:
    """A checkout in which the client's stages have run."""
    checkout = Checkout(root, count_only)
    (root / "submission").symlink_to(submission)
    records = np.concatenate([near(CENTER, MATCHES, seed=2), random(TOY - MATCHES, seed=3)])
    checkout.write("db.bin", np.roll(records, 500, axis=0))
    checkout.write("query.bin", near(CENTER, 1, seed=4))
    checkout.write("payloads.bin", np.random.default_rng(8).integers(0, 4096, (TOY, 7)))
    checkout.run(*CLIENT)
    return checkout


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory, submission: Path) -> Checkout:
    return checkout(tmp_path_factory.mktemp("counting"), submission, count_only=True)


@pytest.fixture(scope="module")
def fetching(tmp_path_factory: pytest.TempPathFactory, submission: Path) -> Checkout:
    return checkout(tmp_path_factory.mktemp("fetching"), submission, count_only=False)


@pytest.mark.parametrize("mode", ["counting", "fetching"])
def test_results_are_those_of_the_clear(mode: str, request: pytest.FixtureRequest) -> None:
    checkout: Checkout = request.getfixturevalue(mode)
    assert (checkout.io / "secret" / "secret.key").stat().st_mode & 0o077 == 0
    records = np.fromfile(checkout.data / "db.bin", dtype=np.float32).reshape(-1, DIMENSION)
    payloads = np.fromfile(checkout.data / "payloads.bin", dtype=np.int16).reshape(-1, 7)
    for query, expected in ((near(CENTER, 1, seed=5), MATCHES), (random(1, seed=6), 0)):
        checkout.write("query.bin", query)
        checkout.run("client_encode_encrypt_query")
        checkout.serve()
        checkout.run("client_decrypt_decode", "client_postprocess")
        result = (checkout.io / "results.bin").read_bytes()
        matches = records @ query[0] > 0.8
        assert matches.sum() == expected
        if checkout.count_only:
            assert np.frombuffer(result, np.int_).tolist() == [expected]
        else:
            rows = np.frombuffer(result, np.int16).reshape(-1, 7).tolist()
            assert rows == sorted(payloads[matches].tolist())
    steps = json.loads((checkout.io / "server_reported_steps.json").read_text())
    assert all(seconds >= 0 for seconds in steps.values())

    secret = (checkout.io / "secret" / "secret.key").read_bytes()
    for folder in ("keys", "ciphertexts_upload", "ciphertexts_download"):
        for path in (checkout.io / folder).iterdir():
            assert secret[-2048:] not in path.read_bytes()


def test_an_answer_to_another_query_is_refused(counting: Checkout) -> None:
    counting.run(*ANSWERED)
    counting.run("client_encode_encrypt_query")
    counting.refused("client_decrypt_decode", "answers another query")
    assert not (counting.io / "results.bin").exists()


def test_a_query_of_another_key_is_refused(tmp_path: Path, counting: Checkout) -> None:
    other = counting.copy(tmp_path)
    secret = other.io / "secret" / "secret.key"
    before = secret.read_bytes()
    other.run("client_key_generation", "client_encode_encrypt_query")
    other.refused("server_encrypted_compute", "under one secret key")
    # With the first key again, the keys of the second one do not fit.
    secret.write_bytes(before)
    other.run("client_encode_encrypt_query")
    other.refused("server_encrypted_compute", "under one secret key")


@pytest.mark.parametrize(("count_only", "score"), [(True, 0.75), (False, 0.71), (False, 0.79)])
def test_a_similarity_in_the_gap_is_refused(
    tmp_path: Path, submission: Path, count_only: bool, score: float
) -> None:
    checkout = Checkout(tmp_path, count_only)
    (tmp_path / "submission").symlink_to(submission)
    records = [at_similarity(CENTER, score, 1), near(CENTER, 9, seed=2), random(TOY - 10, seed=3)]
    checkout.write("db.bin", np.concatenate(records))
    checkout.write("payloads.bin", np.zeros((TOY, 7)))
    checkout.write("query.bin", CENTER)
    checkout.run(*CLIENT, "server_encrypted_compute", "client_decrypt_decode")
    checkout.refused("client_postprocess", "between 0.7 and 0.8 cannot be told from matches")
    assert not (checkout.io / "results.bin").exists()


def test_files_of_a_count_are_no_files_of_a_fetch(tmp_path: Path, counting: Checkout) -> None:
    other = Checkout(counting.copy(tmp_path).root, count_only=False)
    other.refused("client_encode_encrypt_query", "secret.key")


@pytest.mark.parametrize(
    ("name", "kept"),
    [("query.bin", 0), ("query.bin", 5000), ("vectors-000.npy", 0), ("vectors-000.npy", 60_000)],
)
def test_damaged_ciphertexts_are_refused(
    tmp_path: Path, counting: Checkout, name: str, kept: int
) -> None:
    other = counting.copy(tmp_path)
    path = other.io / "ciphertexts_upload" / name
    path.write_bytes(path.read_bytes()[:kept])
    other.refused("server_encrypted_compute", name)


@pytest.mark.parametrize("kept", [40, 63])
def test_a_block_that_lacks_ciphertexts_is_refused(
    tmp_path: Path, counting: Checkout, kept: int
) -> None:
    other = counting.copy(tmp_path)
    path = other.io / "ciphertexts_upload" / "vectors-000.npy"
    np.save(path, np.load(path)[:kept])
    other.refused("server_encrypted_compute", f"vectors-000.npy: {kept} ciphertexts, expected 64")


def test_damaged_keys_are_refused(tmp_path: Path, counting: Checkout) -> None:
    other = counting.copy(tmp_path)
    (other.io / "keys" / "matches.keys").write_bytes(b"")
    other.refused("server_encrypted_compute", "matches.keys")
    (other.io / "secret" / "secret.key").write_bytes(b"")
    other.refused("client_encode_encrypt_query", "secret.key")


@pytest.mark.parametrize(
    ("name", "numbers", "words"),
    [
        ("db.bin", np.zeros(0), "0 bytes, expected 512000"),
        ("db.bin", random(TOY - 1, seed=1), "511488 bytes, expected 512000"),
        ("db.bin", 2 * random(TOY, seed=1), "length 2, expected 1"),
        ("db.bin", np.full((TOY, DIMENSION), np.nan), "length nan, expected 1"),
        ("query.bin", np.zeros(0), "0 bytes, expected 512"),
        ("query.bin", 1.1 * random(1, seed=1), "length 1.1, expected 1"),
        ("payloads.bin", np.zeros(0), "0 bytes, expected 14000"),
        ("payloads.bin", np.full((TOY, 7), 4096), "from 4096 to 4096, expected 0 to 4095"),
        ("payloads.bin", np.full((TOY, 7), -1), "from -1 to -1, expected 0 to 4095"),
    ],
)
def test_wrong_data_are_refused(
    tmp_path: Path, fetching: Checkout, name: str, numbers: npt.NDArray[Any], words: str
) -> None:
    checkout = Checkout(tmp_path, fetching.count_only)
    (tmp_path / "submission").symlink_to(fetching.root / "submission")
    shutil.copytree(fetching.io / "secret", checkout.io / "secret")
    shutil.copytree(fetching.data, checkout.data)
    checkout.write(name, numbers)
    checkout.refused(f"client_encode_encrypt_{'query' if name == 'query.bin' else 'db'}", words)


@pytest.mark.parametrize("name", [*CLIENT[1:], *ANSWERED])
def test_a_stage_without_its_files_is_refused(tmp_path: Path, submission: Path, name: str) -> None:
    (tmp_path / "submission").symlink_to(submission)
    Checkout(tmp_path).refused(name, "cannot read")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no size, expected 0 (toy), 1 (small), 2 (medium)"),
        (["toy", "--count_only"], "size 'toy'"),
        (["3", "--count_only"], "size '3'"),
    ],
)
def test_wrong_sizes_are_refused(
    tmp_path: Path, submission: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "submission").symlink_to(submission)
    process = Checkout(tmp_path).stage("client_key_generation", *arguments)
    assert process.returncode == 1
    assert words in process.stderr


def test_a_harness_runs_unchanged(tmp_path: Path) -> None:
    given = tmp_path / "checkout"
    for name in ("harness", "scripts", "submission"):
        (given / name).mkdir(parents=True)
    (given / "harness" / "run_submission.py").write_text(HARNESS, encoding="ascii")
    (given / "harness" / "generate_query.py").write_text("", encoding="ascii")
    (given / "submission" / "theirs").write_text("", encoding="ascii")
    line = [
        *(sys.executable, str(OURS / "run"), "--harness", str(given)),
        *("--work", str(tmp_path / "work"), "--runs", "2", "--count_only"),
    ]
    process = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    assert process.returncode == 0, process.stderr
    stages = sorted(path.name for path in (OURS / "similarity" / "stages").iterdir())
    seen = (tmp_path / "work" / "seen.txt").read_text(encoding="ascii")
    assert seen.split() == ["0", "--num_runs", "2", "--count_only", *stages]
    assert (tmp_path / "work/harness/run_submission.py").read_text(encoding="ascii") == HARNESS
    assert not (tmp_path / "work" / "submission" / "theirs").exists()
    for more, words in (
        (["--size", "3"], "expected 0 to 2"),
        (["--dataset", "mnist"], "no --dataset"),
    ):
        wrong = subprocess.run([*line, *more], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2
        assert words in wrong.stderr


def test_the_indicator_is_as_exact_as_it_says() -> None:
    for fitted in indicator.indicators():
        below, above = np.linspace(-1.02, fitted.low, 70_001), np.linspace(0.8, 1.02, 30_001)
        errors = [np.abs(fitted(below)).max(), np.abs(fitted(above) - 1).max()]
        assert 0.9 * fitted.error < max(errors) <= fitted.error
    for records, low in ((TOY, 0.7), (SMALL, 0.7), (1_000_000, 0.65)):
        layout = circuits.Layout(records, DIMENSION, SLOTS)
        assert layout.indicator().low == low
        error = layout.error(layout.indicator(), circuits.COUNT.slot_error)
        assert error < circuits.MAX_ERROR
    with pytest.raises(palladion.UsageError, match="count cannot be told"):
        circuits.Layout(20_000_000, DIMENSION, SLOTS).indicator()


@pytest.mark.parametrize("dimension", [128, 256])
def test_the_circuits_compute_the_indicator_of_every_score(dimension: int) -> None:
    """In the clear, in both blocks of a collection."""
    layout = circuits.Layout(SLOTS + 10, dimension, SLOTS)
    search = circuits.Search(circuits.FETCH.params(), layout, layout.indicator())
    rng = np.random.default_rng(9)
    query, *others = unit(rng.normal(size=(SLOTS + 11, dimension)))
    vectors = unit(others + rng.uniform(0, 2, (SLOTS + 10, 1)) * query)
    payloads = rng.integers(0, 4096, (SLOTS + 10, 7))
    rotated = search.rotations().run_clear({"query": search.query(query)})
    for block, records in enumerate((slice(0, SLOTS), slice(SLOTS, None))):
        inputs = rotated | {f"d{k}": row for k, row in enumerate(layout.vectors(vectors, block))}
        inputs |= {f"p{k}": row for k, row in enumerate(layout.payloads(payloads, block))}
        results = search.payloads().run_clear(inputs)
        marks = search.indicator(vectors[records] @ query)
        for k in range(7):
            pair = results[f"p{k // 2}"][: len(marks)]
            numbers = pair.imag if k % 2 else pair.real
            assert np.abs(numbers - marks * payloads[records, k]).max() < 1e-6
        assert np.abs(results["p3"].imag[: len(marks)] - marks * circuits.MARK).max() < 1e-6


def test_the_circuit_counts_the_worst_collection_of_50000() -> None:
    """In the clear, with all scores where the indicator's errors are largest."""
    layout = circuits.Layout(SMALL, DIMENSION, SLOTS)
    search = circuits.Search(circuits.COUNT.params(), layout, layout.indicator())
    grid = np.linspace(-1, 1, 100_001)
    wrong = search.indicator(grid) - (grid > 0.75)
    wrong[(grid > 0.7) & (grid < 0.8)] = 0
    for score in (grid[wrong.argmin()], grid[wrong.argmax()]):
        vectors = at_similarity(CENTER, score, SMALL)
        matches = [search.matches().run_clear(clear_inputs(search, vectors, block))["matches"]
                   for block in range(layout.blocks)]  # fmt: skip
        [count, *_] = search.sums().run_clear({"matches": np.sum(matches, axis=0)})["count"].real
        expected = SMALL if score > 0.75 else 0
        assert 0.05 < abs(count - expected) < layout.error(search.indicator, slot_error=0)


@pytest.mark.parametrize("chain", [circuits.COUNT, circuits.FETCH], ids=["count", "fetch"])
def test_noise_is_as_small_as_the_chain_says_at_every_score(chain: Any) -> None:
    params = chain.params()
    assert params.security.enough
    layout = circuits.Layout(SLOTS, DIMENSION, SLOTS)
    search = circuits.Search(params, layout, layout.indicator())
    fetch = chain is circuits.FETCH
    last = search.payloads() if fetch else search.matches()
    secret = ckks.keygen(params)
    rotations = search.rotations()
    keys = [c.keys(secret) for c in (rotations, last, search.sums())]
    payloads = last.encrypt(secret, {f"p{k}": np.ones(SLOTS) for k in range(4 * fetch)})
    for score in (-1, 0, 0.7, 0.8, 1):
        inputs = clear_inputs(search, at_similarity(CENTER, score, SLOTS), 0)
        query = {"query": search.query(CENTER)}
        rotated = rotations.run(rotations.encrypt(secret, query), keys[0])
        vectors = {name: slots for name, slots in inputs.items() if name.startswith("d")}
        result = last.run(rotated | last.encrypt(secret, vectors) | payloads, keys[1])
        slots = secret.decrypt_real(result["p0" if fetch else "matches"].bounded(1))
        errors = slots - (search.indicator(np.array(score)) - (not fetch) / 2)
        # The last rescale alone leaves sqrt(N (1 + 2 N / 3) / 24) over the scale. Less noise would
        # mean that something is not encrypted.
        least = np.sqrt(2 * SLOTS * (1 + 4 * SLOTS / 3) / 24) / chain.scale
        assert least < errors.std() < chain.slot_error
        if not fetch:
            count = search.sums().run(result, keys[2])["count"].bounded(SLOTS)
            error = secret.decrypt_real(count).mean() - SLOTS * (score > 0.75)
            assert abs(error) < layout.error(search.indicator, chain.slot_error)


def clear_inputs(search: Any, vectors: Floats, block: int) -> dict[str, Any]:
    """The inputs of a block with the query :data:`CENTER`."""
    rows = search.layout.vectors(vectors, block)
    query = search.query(CENTER)
    rotated = {f"q{k}": np.roll(query, -k) for k in range(len(rows))}
    return rotated | {f"d{k}": row for k, row in enumerate(rows)}
