"""``palladion train``, as users start it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from palladion import IntNetwork, PalladionError
from palladion.cli import commands

from tests import naive
from tests.conftest import Command, refused
from tests.models import QONNX, floats, model, node

pytestmark = pytest.mark.long


@pytest.fixture
def given(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """A model of random weights, and inputs whose class is their largest feature."""
    tensors: dict[str, Any] = {"w": floats(rng, 6, 4), "v": floats(rng, 4, 6)}
    nodes = [
        node("Gemm", ["x", "w"], "a", transB=1),
        node("Relu", ["a"], "b"),
        node("Gemm", ["b", "v"], "y", transB=1),
    ]
    onnx.save(model(["N", 4], nodes, tensors), str(tmp_path / "model.onnx"))
    x = floats(rng, 640, 4)
    np.savez(tmp_path / "data.npz", x=x, y=x.argmax(axis=1))
    return tmp_path / "model.onnx", tmp_path / "data.npz"


def test_train(command: Command, given: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = given
    output = tmp_path / "net.json"
    line = ["train", path, "--data", data, "--output", output, "--weights", 6, "--rate", 0.02,
            "--epochs", 10, "--batch", 32, "--noise", 2, "--imitation", 0.1]  # fmt: skip
    result = command(*line, "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert (found["trained_on"], found["held_out"]) == (576, 64)
    assert found["trained"]["integer_correct"] > found["quantised"]["integer_correct"] + 10
    network = IntNetwork.load(output)
    arrays = np.load(data)
    logits = naive.logits(network, arrays["x"][-64:, :, None, None])
    right = np.count_nonzero(logits.argmax(axis=1) == arrays["y"][-64:])
    assert right == found["trained"]["integer_correct"]


def test_refusals(given: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = given
    output = tmp_path / "net.json"

    def fails(source: Path, words: str) -> None:
        line = ["train", str(path), "--data", str(source), "--output", str(output)]
        error = CliRunner().invoke(commands, line).exception
        assert isinstance(error, PalladionError), error
        assert words in str(error)

    arrays = dict(np.load(data))
    for name, wrong, words in (
        ("y", arrays["y"][:-1], "labels of shape 639, expected one for each of 640"),
        ("y", arrays["y"] + 1, "labels 1 to 4, the network has the classes 0 to 3"),
        ("x", arrays["x"][:, :3], "Nx4"),
    ):
        bad = tmp_path / "bad.npz"
        np.savez(bad, **{**arrays, name: wrong})
        fails(bad, words)
    np.savez(tmp_path / "bad.npz", x=arrays["x"])
    fails(tmp_path / "bad.npz", "holds x, expected inputs named x, and labels named y")
    tensors: dict[str, Any] = {"w": np.ones((4, 4), np.float32), "one": np.float32(1)}
    nodes = [node("MatMul", ["x", "w"], "a"), node("BipolarQuant", ["a", "one"], "s", domain=QONNX),
             node("MatMul", ["s", "w"], "y")]  # fmt: skip
    onnx.save(model(["N", 4], nodes, tensors), str(path))
    fails(data, "node s_node: gives only a sign")
    assert not output.exists()


def test_without_jax(given: tuple[Path, Path], tmp_path: Path) -> None:
    code = "import sys; sys.modules['jax'] = None; from palladion.cli import main; main()"
    line = ["train", given[0], "--data", given[1], "--output", tmp_path / "net.json"]
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, line)], capture_output=True, text=True, check=False
    )
    refused(result, "training needs jax: pip install 'palladion[train]'")
