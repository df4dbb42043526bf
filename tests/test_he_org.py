"""Our submission to the FHE Benchmarking Suite, driven through files as its harness does it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import palladion
import pytest
from palladion.levelled import LevelledModel

OURS = Path(__file__).parent.parent / "bench" / "he-org"

pytestmark = pytest.mark.long

STAGES = (
    "client_key_generation", "server_preprocess_model", "client_preprocess_input",
    "client_encode_encrypt_input", "server_encrypted_compute", "client_decrypt_decode",
    "client_postprocess",
)  # fmt: skip

HARNESS = """
import pathlib, subprocess, sys
subprocess.run([pathlib.Path("scripts/get_openfhe.sh").resolve()], check=True)
subprocess.run([pathlib.Path("scripts/build_task.sh").resolve(), "./submission"], check=True)
built = sorted(path.name for path in pathlib.Path("submission/build").iterdir())
pathlib.Path("seen.txt").write_text(" ".join([*sys.argv[1:], *built]))
"""


def stage(root: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One stage in the root of a checkout, as the harness calls it."""
    line = [str(root / "submission" / "stages" / name), *arguments]
    env = os.environ | {"PALLADION_PYTHON": sys.executable, "PALLADION_DATASET": "mnist"}
    return subprocess.run(
        line, cwd=root, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def write(root: Path, text: str, size: str = "single") -> None:
    folder = root / "datasets" / size / "intermediate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_pixels.txt").write_text(text, encoding="ascii")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with our submission in it."""
    made = tmp_path_factory.mktemp("workload")
    ignored = shutil.ignore_patterns("programs", "work", "__pycache__")
    shutil.copytree(OURS, made / "submission", ignore=ignored)
    (made / "submission" / "models").mkdir()
    for name in ("mnist_w6a7.json", "mnist_squares.onnx"):
        shutil.copy(OURS.parents[1] / "models" / name, made / "submission" / "models")
    return made


def test_a_digit_goes_through_all_stages(root: Path) -> None:
    sample = palladion.mnist_sample()
    write(root, " ".join(f"{pixel / 255:.6f}" for pixel in sample.images[0].ravel()) + "\n")
    io, away = root / "io" / "single", root / "away"

    def run(name: str, *arguments: str) -> None:
        found = stage(root, name, *arguments)
        assert found.returncode == 0, f"{name}: {found.stderr}"

    def on_the_server(name: str, *arguments: str) -> None:
        """With all that is the client's alone out of reach."""
        away.mkdir()
        held = [path for path in (io / "secret", io / "intermediate") if path.exists()]
        for path in held:
            path.rename(away / path.name)
        run(name, *arguments)
        for path in held:
            assert not path.exists()
            (away / path.name).rename(path)
        away.rmdir()

    run("client_key_generation", "0")
    assert (io / "secret" / "secret.key").stat().st_mode & 0o077 == 0
    on_the_server("server_preprocess_model")
    run("client_preprocess_input", "0")
    pixels = np.load(io / "intermediate" / "pixels.npy")
    assert (pixels == sample.images[:1, None]).all()
    run("client_encode_encrypt_input", "0")
    on_the_server("server_encrypted_compute", "0")
    run("client_decrypt_decode", "0")
    run("client_postprocess", "0")

    written = (io / "encrypted_model_predictions.txt").read_text(encoding="ascii")
    assert written == f"{sample.labels[0]}\n"
    secret = (io / "secret" / "secret.key").read_bytes()
    for folder in ("public_keys", "ciphertexts_upload", "ciphertexts_download"):
        for path in (io / folder).iterdir():
            assert secret[-4096:] not in path.read_bytes()

    # An answer to another query is an error, and no class.
    run("client_encode_encrypt_input", "0")
    old = stage(root, "client_decrypt_decode", "0")
    assert old.returncode == 1
    assert "query" in old.stderr


def test_a_batch_goes_through_all_stages_on_levels(root: Path) -> None:
    images = palladion.mnist_sample().images[:15]
    lines = (" ".join(f"{pixel / 255:.6f}" for pixel in image.ravel()) for image in images)
    write(root, "\n".join(lines) + "\n", "small")
    for name in STAGES:
        found = stage(root, name, *["1"] * (name != "server_preprocess_model"))
        assert found.returncode == 0, f"{name}: {found.stderr}"
    written = (root / "io" / "small" / "encrypted_model_predictions.txt").read_text()
    model = LevelledModel.from_onnx(OURS.parents[1] / "models" / "mnist_squares.onnx")
    expected = model.predict(images[:, None]).classes
    assert expected is not None
    assert [int(line) for line in written.split()] == expected.tolist()
    keys = root / "io" / "small" / "public_keys" / "evaluation.keys"
    assert keys.stat().st_size < 2_000_000
    assert (root / "io" / "small" / "secret" / "secret.key").stat().st_mode & 0o077 == 0
    # An answer to another query is an error, and no class.
    assert stage(root, "client_encode_encrypt_input", "1").returncode == 0
    old = stage(root, "client_decrypt_decode", "1")
    assert old.returncode == 1
    assert "query" in old.stderr


IMAGE = " ".join(["0"] * 784)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no image"),
        ("0.5 0.5\n", "2 values, expected 784"),
        (f"{IMAGE}\n{IMAGE}\n", "2 images, expected 1"),
        (f"-0.4242{IMAGE[1:]}\n", "from -0.4242 to 0, expected 0 to 1"),
        (f"256{IMAGE[1:]}\n", "from 0 to 256"),
        (f"seven{IMAGE[1:]}\n", "expected numbers"),
    ],
    ids=["empty", "cut", "two", "normalised", "too large", "a word"],
)
def test_wrong_input_is_refused(tmp_path: Path, root: Path, text: str, words: str) -> None:
    (tmp_path / "submission").symlink_to(root / "submission")
    write(tmp_path, text)
    found = stage(tmp_path, "client_preprocess_input", "0")
    assert found.returncode == 1
    assert words in found.stderr
    assert "Traceback" not in found.stderr


def test_pixels_of_0_to_255_are_read(tmp_path: Path, root: Path) -> None:
    (tmp_path / "submission").symlink_to(root / "submission")
    sample = palladion.mnist_sample()
    write(tmp_path, " ".join(map(str, sample.images[1].ravel())))
    assert stage(tmp_path, "client_preprocess_input", "0").returncode == 0
    pixels = np.load(tmp_path / "io" / "single" / "intermediate" / "pixels.npy")
    assert (pixels == sample.images[1][None, None]).all()


@pytest.mark.parametrize("size", ["4", "single", ""])
def test_an_unknown_size_is_refused(tmp_path: Path, root: Path, size: str) -> None:
    (tmp_path / "submission").symlink_to(root / "submission")
    found = stage(tmp_path, "client_key_generation", size)
    assert found.returncode == 1
    assert "expected 0 to 3" in found.stderr


def test_a_harness_runs_unchanged(tmp_path: Path, root: Path) -> None:
    given = tmp_path / "checkout"
    for name in ("harness", "scripts", "submission"):
        (given / name).mkdir(parents=True)
    (given / "harness" / "run_submission.py").write_text(HARNESS, encoding="ascii")
    (given / "harness" / "utils.py").write_text("", encoding="ascii")
    (given / "submission" / "theirs").write_text("", encoding="ascii")
    line = [
        sys.executable, str(root / "submission" / "run"), "--harness", str(given),
        "--work", str(tmp_path / "work"), "--runs", "2",
    ]  # fmt: skip
    found = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode == 0, found.stderr
    stages = sorted(path.name for path in (OURS / "stages").iterdir())
    seen = (tmp_path / "work" / "seen.txt").read_text(encoding="ascii")
    assert seen.split() == ["0", "--num_runs", "2", *stages]
    assert (tmp_path / "work/harness/run_submission.py").read_text(encoding="ascii") == HARNESS
    assert not (tmp_path / "work" / "submission" / "theirs").exists()
    assert (given / "submission" / "theirs").exists()
