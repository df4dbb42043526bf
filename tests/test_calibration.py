"""Calibration data of another range than the model takes, and layers that fit nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from palladion.errors import NetworkError
from palladion.nn.floats.graph import Graph
from palladion.nn.importer import from_model
from palladion.nn.quantisation import Settings, quantise

from tests.conftest import Command
from tests.models import Array, floats, model, node
from tests.test_importer import qdq

SHAPE = (3, 6, 5)
IMAGE: list[int | str] = ["N", *SHAPE]


def graph(*before: onnx.NodeProto, source: str = "x") -> Graph:
    tensors: dict[str, Any] = {
        "w": np.linspace(-1, 1, 54, dtype=np.float32).reshape(2, 27), "s": np.float32(0.01),
        "z": np.int8(0), "mean": np.float32(128), "std": np.float32(60),
    }  # fmt: skip
    tensors["w"] = tensors["w"].reshape(2, 3, 3, 3)
    return from_model(model(IMAGE, [*before, node("Conv", [source, "w"], "y")], tensors))


def noted(given: Graph, data: Array, *words: str) -> None:
    notes = quantise(given, data).notes
    assert len(notes) == bool(words)
    for word in words:
        assert word in notes[0]


def test_pixels_where_numbers_after_mean_and_std_were_expected(rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, (8, *SHAPE)).astype(np.float32)
    pixels[0, 0, 0, :2] = 0, 255
    noted(graph(), pixels, "from 0 to 255", "whole numbers", "(pixel / 255 - mean) / std")
    noted(graph(), pixels / 255)
    noted(graph(), floats(rng, 8, *SHAPE) * 100)
    noted(graph(), np.rint(pixels / 255))  # black and white
    own = [node("Sub", ["x", "mean"], "a"), node("Div", ["a", "std"], "b")]
    noted(graph(*own, source="b"), pixels)


def test_inputs_that_the_models_own_grid_cuts_off(rng: np.random.Generator) -> None:
    given = graph(*qdq("q", "x", "s", "z"), source="q")
    assert given.input.grid is not None
    inside = rng.uniform(-1.28, 1.27, (8, *SHAPE)).astype(np.float32)
    noted(given, inside)
    noted(given, 2 * inside, "cut off", "from -1.28 to 1.27", "normalised")


def test_inputs_that_are_all_the_same() -> None:
    noted(graph(), np.full((8, *SHAPE), 3.0), "from 3 to 3", "all the same")


def test_notes_of_commands(command: Command, tmp_path: Path, rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 4, 6)}
    path, data, output = (tmp_path / name for name in ("m.onnx", "x.npy", "net.json"))
    onnx.save(model(["N", 4], [node("MatMul", ["x", "w"], "y")], tensors), str(path))
    np.save(data, rng.integers(0, 256, (32, 4)))
    line = ["quantize", path, "--data", data, "--output", output]
    assert "note: the inputs lie from" in command(*line).stdout
    (note,) = json.loads(command(*line, "--json").stdout)["notes"]
    assert "whole numbers" in note


def test_accumulators_that_do_not_fit_name_layer_bound_and_ways_out(
    rng: np.random.Generator,
) -> None:
    settings = Settings(weights=8, activations=8, limit=300, strict=True)
    with pytest.raises(NetworkError) as error:
        quantise(graph(), floats(rng, 8, *SHAPE), settings)
    for word in ("layer y_node", "8 bits", "limit is 300", "--weights", "--activations",
                 "--per-channel", "train", "split"):  # fmt: skip
        assert word in str(error.value)


@pytest.mark.parametrize("batch", ["N", "", 1, 7], ids=str)
def test_batch_axis_of_any_size(batch: int | str, rng: np.random.Generator) -> None:
    nodes = [node("Relu", ["x"], "r"), node("Flatten", ["r"], "f"), node("MatMul", ["f", "w"], "y")]
    found = from_model(model([batch, *SHAPE], nodes, {"w": floats(rng, 90, 2)}))
    assert found.input.shape == SHAPE
    assert found.evaluate(floats(rng, 3, *SHAPE)).shape == (3, 2, 1, 1)
