"""Training with squares: the graph that comes out computes what was trained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import onnx
import pytest
from palladion import IntNetwork
from palladion.errors import DataError, NetworkError
from palladion.nn.floats import graph as floats_graph
from palladion.nn.importer import from_model
from palladion.nn.quantisation import quantise
from palladion.nn.training import Settings, squares, with_squares
from palladion.nn.training.precision import single_precision

from tests import naive
from tests.conftest import Command
from tests.models import floats, model, node

SHAPE = (3, 9, 8)
IMAGE: list[int | str] = ["N", *SHAPE]


# The numbers are nearly the same with any optimisation.
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick_to_compile")]


@pytest.fixture(scope="module", autouse=True)
def words_of_32_bits() -> Iterator[None]:
    """As inside of training: other tests may have allowed words of 64 bits."""
    with single_precision():
        yield


def made(rng: np.random.Generator) -> Any:
    """Convolutions with groups, stride and dilation, a residual, both poolings, dense layers."""
    tensors: dict[str, Any] = {
        "w1": floats(rng, 4, 3, 3, 3) / 5, "b1": floats(rng, 4) / 5,
        "w2": floats(rng, 4, 2, 3, 3) / 5, "w3": floats(rng, 4, 4, 3, 3) / 6,
        "w4": floats(rng, 5, 48) / 6, "w5": floats(rng, 3, 5),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w1", "b1"], "c1", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], "r1"),
        node("Conv", ["r1", "w2"], "c2", group=2, dilations=[2, 1], pads=[2, 1, 2, 1]),
        node("Add", ["c2", "r1"], "s"),
        node("Relu", ["s"], "h"),
        node("MaxPool", ["h"], "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "w3"], "c3", pads=[1, 1, 1, 1]),
        node("Relu", ["c3"], "r3"),
        node("AveragePool", ["r3"], "p", kernel_shape=[1, 2], strides=[1, 1]),
        node("Flatten", ["p"], "f"),
        node("Gemm", ["f", "w4"], "g", transB=1),
        node("Relu", ["g"], "r4"),
        node("Gemm", ["r4", "w5"], "y", transB=1),
    ]
    return from_model(model(IMAGE, nodes, tensors))


def test_the_graph_is_what_was_trained(rng: np.random.Generator) -> None:
    """Folded by the moments of a batch, the graph gives the values of the forward pass on it."""
    graph = made(rng)
    params = squares.start(graph)
    for name, value in params.items():
        params[name] = value * (1 + 0.2 * floats(rng, *value.shape))
    x = floats(rng, 70, *SHAPE)
    trained = squares.forward(graph, params, x)
    folded = squares.folded(graph, params, trained.moments)
    got = folded.evaluate(x)
    np.testing.assert_allclose(got, np.asarray(trained.logits), rtol=2e-3, atol=2e-3)
    kinds = [n.function for n in folded.nodes if isinstance(n, floats_graph.Activation)]
    assert kinds == [squares.SQUARE] * 4


def images(rng: np.random.Generator) -> tuple[Any, Any]:
    """Random images with labels. The images of each class are brighter in one channel."""
    x, labels = floats(rng, 320, *SHAPE), np.arange(320) % 3
    x[np.arange(320), labels] += 1
    return x, labels


def test_training_learns(rng: np.random.Generator) -> None:
    graph = made(rng)
    x, labels = images(rng)
    losses: list[float] = []
    settings = Settings(epochs=12, batch=32, shift=1)
    found = with_squares(
        graph, x, labels, settings, progress=lambda done, total, loss: losses.append(loss)
    )
    right = np.mean(found.evaluate(x)[:, :, 0, 0].argmax(1) == labels)
    assert right > 0.8
    assert losses[-1] < losses[0]
    assert found.notes[-1] == "4 ReLUs replaced by squares, and trained"
    # In integers, each table of a square is a parabola: it falls and then rises.
    network = quantise(found, x).network
    tables = [layer.lut.values for layer in network.layers if layer.lut is not None]
    turning = [np.diff(v) for v in tables if v[0] > v.min() and v[-1] > v.min()]
    assert len(turning) >= 4
    assert all(np.all(np.diff(np.sign(steps)) >= 0) for steps in turning)


@pytest.fixture(scope="module")
def trained() -> Any:
    """After an epoch."""
    rng = np.random.default_rng(2024)
    return with_squares(made(rng), *images(rng), Settings(epochs=1))


@pytest.mark.parametrize("doubles", [False, True])
def test_training_is_repeatable_with_and_without_words_of_64_bits(
    doubles: bool, trained: Any, rng: np.random.Generator
) -> None:
    graph = made(rng)
    x, labels = images(rng)
    with jax.enable_x64(doubles):
        again = with_squares(graph, x, labels, Settings(epochs=1))
    np.testing.assert_array_equal(again.evaluate(x), trained.evaluate(x))


def test_refusals(rng: np.random.Generator) -> None:
    graph = made(rng)
    x, labels = floats(rng, 70, *SHAPE), np.zeros(70, np.int64)
    with pytest.raises(DataError, match="at least a batch of 64"):
        with_squares(graph, x[:63], labels[:63])
    with pytest.raises(DataError, match="classes"):
        with_squares(graph, x, labels + 3)

    def refused(nodes: list[Any], words: str) -> None:
        tensors = {"w": floats(rng, 4, 3, 9, 8), "v": floats(rng, 3, 4, 1, 1)}
        with pytest.raises(NetworkError, match=words):
            with_squares(from_model(model(IMAGE, nodes, tensors)), x, labels)

    conv, last = node("Conv", ["x", "w"], "c"), node("Conv", ["s", "v"], "y")
    refused([conv, node("Sigmoid", ["c"], "s"), last], "s_node.*sigmoid.*supported")
    refused([conv, node("Conv", ["c", "v"], "y")], "no ReLU")


def test_command(command: Command, rng: np.random.Generator, tmp_path: Path) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 6, 4), "v": floats(rng, 4, 6)}
    nodes = [
        node("Gemm", ["x", "w"], "a", transB=1),
        node("Relu", ["a"], "b"),
        node("Gemm", ["b", "v"], "y", transB=1),
    ]
    onnx.save(model(["N", 4], nodes, tensors), str(tmp_path / "model.onnx"))
    x = floats(rng, 640, 4)
    np.savez(tmp_path / "data.npz", x=x, y=x.argmax(axis=1))
    output = tmp_path / "net.json"
    result = command(
        "train", tmp_path / "model.onnx", "--data", tmp_path / "data.npz", "--output", output,
        "--activation", "square", "--float-epochs", 60, "--epochs", 1, "--batch", 32, "--json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["trained_on"] == 576
    assert found["notes"] == ["1 ReLU replaced by squares, and trained"]
    network = IntNetwork.load(output)
    logits = naive.logits(network, x[-64:, :, None, None])
    right = np.count_nonzero(logits.argmax(axis=1) == x[-64:].argmax(axis=1))
    assert right == found["trained"]["integer_correct"] > 40
