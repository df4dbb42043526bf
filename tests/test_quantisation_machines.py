"""Quantisation gives the same bytes under every BLAS kernel, thread count and processor."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy._core import _multiarray_umath as core  # type: ignore[attr-defined]

from tests.models import floats, model, node

MODELS = Path(__file__).parent.parent / "models"

SCRIPT = """
import hashlib, sys
import numpy as np
from pathlib import Path
from palladion.nn.importer import load
from palladion.nn.quantisation import quantise
for path in map(Path, sys.argv[1:]):
    network = quantise(load(path), np.load(path.with_suffix(".npy"))).network
    print(path.stem, hashlib.sha256(network.to_json().encode()).hexdigest())
"""

KERNELS = ["PRESCOTT", "NEHALEM", "SANDYBRIDGE", "HASWELL"]
"""Kernels of OpenBLAS with SSE3, SSE4.2, AVX and AVX2. Another BLAS ignores the names."""

FEATURES = [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]
"""The instruction sets beyond its least that numpy uses here."""

SETTINGS = [
    {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads, **disabled}
    for kernel, threads, disabled in [
        ("PRESCOTT", "1", {"NPY_DISABLE_CPU_FEATURES": " ".join(FEATURES)}),
        ("PRESCOTT", "2", {}),
        ("SANDYBRIDGE", "1", {}),
        ("SANDYBRIDGE", "2", {"NPY_DISABLE_CPU_FEATURES": " ".join(FEATURES)}),
        ("HASWELL", "1", {"NPY_DISABLE_CPU_FEATURES": " ".join(FEATURES)}),
        ("HASWELL", "2", {}),
    ]
]


def quantised(paths: list[Path], settings: dict[str, str]) -> str:
    """Hashes of the networks, made in a process with these settings of its environment."""
    command = [sys.executable, "-c", SCRIPT, *map(str, paths)]
    return subprocess.run(
        command, env={**os.environ, **settings}, check=True, capture_output=True, text=True
    ).stdout


def quantise_everywhere(paths: list[Path], every: list[dict[str, str]]) -> dict[str, str]:
    """Hashes by settings. As many processes run at once as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        hashes = pool.map(lambda settings: quantised(paths, settings), every)
        return dict(zip(map(str, every), hashes, strict=True))


def write_models(folder: Path, rng: np.random.Generator) -> list[Path]:
    """The MNIST network, a network of functions, and one with folded constants and a guard."""
    (folder / "mnist.onnx").write_bytes((MODELS / "mnist.onnx").read_bytes())
    np.save(folder / "mnist.npy", np.maximum(floats(rng, 64, 1, 28, 28), 0).clip(0, 1))
    tensors = {"a": floats(rng, 12, 6) * 0.3, "b": floats(rng, 6, 24), "w": floats(rng, 24, 5)}
    nodes = [
        node("MatMul", ["a", "b"], "ab"),
        node("Tanh", ["ab"], "c"),
        node("MatMul", ["x", "c"], "d"),
        node("Sigmoid", ["d"], "e"),
        node("Softmax", ["e"], "f", axis=1),
        node("MatMul", ["f", "w"], "g"),
        node("Exp", ["g"], "h"),
        node("ReduceSum", ["h", "axes"], "i"),
        node("Div", ["h", "i"], "y"),
    ]
    made = model(["N", 12], nodes, {**tensors, "axes": np.array([1])})
    (folder / "functions.onnx").write_bytes(made.SerializeToString())
    np.save(folder / "functions.npy", floats(rng, 100, 12))
    return [folder / "mnist.onnx", folder / "functions.onnx"]


def test_bytes_are_the_same_on_every_machine(tmp_path: Path, rng: np.random.Generator) -> None:
    paths = write_models(tmp_path, rng)
    found = quantise_everywhere(paths, SETTINGS)
    assert len(set(found.values())) == 1, found
    assert len(next(iter(found.values())).split()) == 2 * len(paths)


@pytest.mark.long
def test_bytes_of_lenet_are_the_same_on_every_machine(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = tmp_path / "lenet5.onnx"
    path.write_bytes((MODELS / "lenet5.onnx").read_bytes())
    np.save(path.with_suffix(".npy"), np.maximum(floats(rng, 256, 1, 28, 28), 0).clip(0, 1))
    kernels = [{"OPENBLAS_CORETYPE": kernel} for kernel in KERNELS]
    found = quantise_everywhere([path], [*SETTINGS, *kernels])
    assert len(set(found.values())) == 1, found
