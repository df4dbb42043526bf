"""``palladion train``, as users start it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from palladion import IntNetwork

from tests import naive
from tests.conftest import Command, refused
from tests.models import QONNX, floats, model, node


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
            "--epochs", 10, "--batch", 32, "--noise", 2]  # fmt: skip
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


def test_refusals(command: Command, given: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = given
    output = tmp_path / "net.json"
    arrays = dict(np.load(data))
    for name, wrong, words in (
        ("y", arrays["y"][:-1], "classes y of shape (639,)"),
        ("y", arrays["y"] + 1, "labels 1 to 4, the network has the classes 0 to 3"),
        ("x", arrays["x"][:, :3], "Nx4x1x1"),
    ):
        bad = tmp_path / "bad.npz"
        np.savez(bad, **{**arrays, name: wrong})
        refused(command("train", path, "--data", bad, "--output", output), words)
    np.savez(tmp_path / "bad.npz", x=arrays["x"])
    line = ["train", path, "--data", tmp_path / "bad.npz", "--output", output]
    refused(command(*line), "y is not a file")
    tensors: dict[str, Any] = {"w": np.ones((4, 4), np.float32), "one": np.float32(1)}
    nodes = [node("MatMul", ["x", "w"], "a"), node("BipolarQuant", ["a", "one"], "s", domain=QONNX),
             node("MatMul", ["s", "w"], "y")]  # fmt: skip
    onnx.save(model(["N", 4], nodes, tensors), str(path))
    refused(command("train", path, "--data", data, "--output", output), "s_node", "only a sign")
    assert not output.exists()
