"""``palladion import`` and ``palladion quantize``, as users start them."""

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
from tests.models import floats, model, node, reference


@pytest.fixture
def given(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Path]:
    """A model and inputs."""
    tensors: dict[str, Any] = {"w": floats(rng, 4, 2, 3, 3), "v": floats(rng, 3, 36)}
    nodes = [
        node("Conv", ["x", "w"], "a"),
        node("Relu", ["a"], "b"),
        node("Flatten", ["b"], "c"),
        node("Gemm", ["c", "v"], "d", transB=1),
        node("Softmax", ["d"], "y"),
    ]
    onnx.save(model(["N", 2, 5, 5], nodes, tensors), str(tmp_path / "model.onnx"))
    np.save(tmp_path / "x.npy", floats(rng, 64, 2, 5, 5))
    return tmp_path / "model.onnx", tmp_path / "x.npy"


def test_import(command: Command, given: tuple[Path, Path]) -> None:
    result = command("import", given[0])
    assert result.returncode == 0, result.stderr
    assert "Conv" in result.stdout
    assert "note: after d the client computes, once decrypted: Softmax" in result.stdout
    found = json.loads(command("import", given[0], "--json").stdout)
    assert [row["node"] for row in found["nodes"]] == ["Input", "Conv", "Activation", "Dense"]
    assert found["nodes"][3]["shape"] == [3, 1, 1]


def test_quantize(command: Command, given: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = given
    output = tmp_path / "net.json"
    line = ["quantize", path, "--data", data, "--output", output, "--weights", 6, "--per-tensor"]
    result = command(*line, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert [layer["shape"] for layer in found["layers"]] == [[4, 3, 3], [3, 1, 1]]
    assert found["answers"]["inputs"] == 64
    assert found["answers"]["agreement"] > 0.9
    x = np.load(data)
    logits = naive.logits(IntNetwork.load(output), x)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected = reference(onnx.load(str(path)), x)
    assert np.abs(powers / powers.sum(axis=1, keepdims=True) - expected).max() < 0.2
    assert "bound" in command(*line).stdout


def test_tables_have_at_most_the_asked_entries(
    command: Command, given: tuple[Path, Path], tmp_path: Path
) -> None:
    """The compiler, which chooses the room for noise, agrees with the quantiser's formula."""
    path, data = given
    output = tmp_path / "net.json"
    line = ["quantize", path, "--data", data, "--output", output]
    for entries in (8193, 1025):
        assert command(*line, "--table-entries", entries).returncode == 0
        layers = json.loads(command("inspect", output, "--json").stdout)["layers"]
        tables = [layer["table_entries"] for layer in layers if layer["table_entries"]]
        assert max(tables) <= entries
        assert IntNetwork.load(output).layers[0].bound <= (entries // 2) - 2 - 85
    refusal = command(*line, "--table-entries", 200)
    assert refusal.returncode == 2
    assert "200 is not in the range 257<=x<=65537" in refusal.stderr


def test_refusals(command: Command, given: tuple[Path, Path], tmp_path: Path) -> None:
    path, data = given
    output = tmp_path / "net.json"
    refused(command("import", tmp_path / "none.onnx"), "none.onnx", "missing")
    refused(command("import", data), "x.npy", "ONNX")
    refused(command("quantize", path, "--data", path, "--output", output), "np.savez")
    refused(
        command("quantize", path, "--data", tmp_path, "--output", output),
        "neither MNIST",
        "palladion download",
    )
    np.save(tmp_path / "bad.npy", np.zeros((3, 1, 5, 5)))
    bad = tmp_path / "bad.npy"
    refused(
        command("quantize", path, "--data", bad, "--output", output),
        "3x1x5x5",
        "Nx2x5x5",
    )
    refused(command("quantize", path, "--data", data, "--output", output, "--weights", 9), "9")
    assert not output.exists()
