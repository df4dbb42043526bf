"""What ``pip install palladion`` gives without an extra: both halves, and no ONNX.

Commands run here in processes in which nothing but the package's own requirements can be imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import palladion
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.test_manifest import dense

EXTRAS = [
    *("cryptography", "fastapi", "httpx", "jax", "matplotlib", "onnx", "optax", "pydantic"),
    *("scipy", "skl2onnx", "sklearn", "sqlalchemy", "torch"),
]
"""Packages that only extras install."""

MOST_BYTES = 150_000_000
"""Memory of a client of a small program."""

WITHOUT = f"""
import pathlib, sys
for name in {EXTRAS}:
    sys.modules[name] = None  # an import of it fails
sys.argv[0] = "palladion"
from palladion.cli import main
try:
    main()
finally:
    status = pathlib.Path("/proc/self/status")  # getrusage counts the parent's memory too
    lines = status.read_text().splitlines() if status.exists() else ["VmHWM: 0 kB"]
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    print("peak", 1024 * int(peak), file=sys.stderr)
"""


def without_extras(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command where no extra is installed."""
    line = [sys.executable, "-c", WITHOUT, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)


def peak_of(done: subprocess.CompletedProcess[str]) -> int:
    """The most memory that a command had, in bytes, if it ended well. 0 where Linux is not."""
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of a linear model of four features, with its client's file."""
    folder = tmp_path_factory.mktemp("program")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4)).astype(np.float32)
    model = palladion.Model.from_onnx(dense(1), calibrate=x)
    model.save(folder / "network.json")
    model.compile(batch=1).save(folder / "program")
    np.save(folder / "x.npy", x[:1])
    return folder / "program"


def test_a_small_client_needs_no_extra_and_little_memory(program: Path) -> None:
    folder = program.parent
    assert program.stat().st_size < 6_000
    client = folder / "program.client"
    keys, query, answer = folder / "keys", folder / "query", folder / "answer"
    secret = ["--client", client, "--secret", keys / "secret.key"]
    peaks = {
        "keygen": peak_of(without_extras("keygen", "--client", client, "--output", keys)),
        "encrypt": peak_of(without_extras("encrypt", *secret, "--output", query, folder / "x.npy")),
        "run": peak_of(without_extras("run", "--program", program, "--keys",
                                      keys / "evaluation.key", "--output", answer, query)),
        "decrypt": peak_of(without_extras("decrypt", *secret, "--query", query, answer, "--json")),
    }  # fmt: skip
    assert max(peaks.values()) < MOST_BYTES, peaks


@pytest.mark.parametrize("kind", ["classifier", "tree"])
def test_labels_probabilities_and_trees_need_no_extra(kind: str, tmp_path: Path) -> None:
    """The client computes functions of ONNX models at both ends."""
    x, y = load_breast_cancer(return_X_y=True)
    x = x.astype(np.float32)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    estimator = linear if kind == "classifier" else DecisionTreeClassifier(max_depth=3)
    model = palladion.Model.from_sklearn(estimator.fit(x, y), calibrate=x)
    np.save(tmp_path / "x.npy", x[:3])
    compiled = model.compile(batch=3)
    compiled.save(tmp_path / "program")
    keys, query, answer = tmp_path / "keys", tmp_path / "query", tmp_path / "answer"
    client = ["--client", tmp_path / "program.client"]
    secret = [*client, "--secret", keys / "secret.key"]
    peak_of(without_extras("keygen", *client, "--output", keys))
    peak_of(without_extras("encrypt", *secret, "--output", query, tmp_path / "x.npy"))
    peak_of(without_extras("run", "--program", tmp_path / "program", "--keys",
                           keys / "evaluation.key", "--output", answer, query))  # fmt: skip
    done = without_extras("decrypt", *secret, "--query", query, answer, "--json")
    peak_of(done)
    found = json.loads(done.stdout)["outputs"]
    expected = model.predict(x[:3]).outputs
    assert {*found} == {*expected}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6)


def test_an_integer_network_is_compiled_and_inspected_without_extras(
    program: Path, tmp_path: Path
) -> None:
    network, output = program.parent / "network.json", tmp_path / "program"
    peak_of(without_extras("compile", network, "--output", output))
    assert output.read_bytes() == program.read_bytes()
    assert "onnx" in json.loads(Path(f"{output}.manifest").read_text())["versions"]  # installed
    peak_of(without_extras("inspect", output))


@pytest.mark.parametrize("command", ["quantize", "compile", "import"])
def test_a_model_without_onnx_is_refused_with_the_way_out(command: str, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(dense(1))
    output = [] if command == "import" else ["--output", tmp_path / "output"]
    done = without_extras(command, model, *output)
    assert done.returncode == 2, done.stderr
    assert "needs onnx, which is not installed: pip install 'palladion[onnx]'" in done.stderr
