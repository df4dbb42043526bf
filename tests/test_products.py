"""Products of two values and softmax: from ONNX to integers, and once under encryption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from palladion import IntNetwork, NetworkError, _native
from palladion.nn.floats.graph import Softmax
from palladion.nn.importer import from_model
from palladion.nn.integers.export import to_onnx
from palladion.nn.quantisation import Quantised, Settings, quantise

from tests import naive
from tests.conftest import Command
from tests.models import Array, floats, model, node, reference
from tests.test_quantisation import IMAGE, SHAPE, check

GATES: dict[str, list[onnx.NodeProto]] = {
    "squeeze and excitation": [
        node("GlobalAveragePool", ["r"], "g"),
        node("Conv", ["g", "u"], "e"),
        node("Sigmoid", ["e"], "s"),
        node("Mul", ["r", "s"], "m"),
    ],
    "the gate first": [
        node("GlobalAveragePool", ["r"], "g"),
        node("Conv", ["g", "u"], "e"),
        node("HardSigmoid", ["e"], "s"),
        node("Mul", ["s", "r"], "m"),
    ],
    "one gate for all channels": [
        node("Conv", ["r", "o"], "e"),
        node("Sigmoid", ["e"], "s"),
        node("Mul", ["r", "s"], "m"),
    ],
    "gated linear unit": [
        node("Conv", ["x", "w"], "e"),
        node("Sigmoid", ["e"], "s"),
        node("Mul", ["c", "s"], "m"),
    ],
    "a function of a product": [
        node("Conv", ["r", "u"], "e"),
        node("Mul", ["r", "e"], "n"),
        node("Tanh", ["n"], "m"),
    ],
    "a product of a product": [
        node("Conv", ["r", "u"], "e"),
        node("Mul", ["r", "e"], "n"),
        node("Mul", ["n", "e"], "p"),
        node("Add", ["p", "r"], "m"),
    ],
}


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_products_are_near_the_float_network(rng: np.random.Generator, gate: str) -> None:
    tensors: dict[str, Any] = {
        "w": floats(rng, 4, 3, 3, 3) / 5, "u": floats(rng, 4, 4, 1, 1), "v": floats(rng, 5, 4),
        "o": floats(rng, 1, 4, 1, 1),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w"], "c"),
        node("Relu", ["c"], "r"),
        *GATES[gate],
        node("GlobalAveragePool", ["m"], "a"),
        node("Flatten", ["a"], "f"),
        node("Gemm", ["f", "v"], "y", transB=1),
    ]
    made, data = model(IMAGE, nodes, tensors), floats(rng, 64, *SHAPE)
    found = quantise(from_model(made), data)
    check(found, data)
    wanted = reference(made, data).reshape(len(data), -1)
    logits = naive.logits(found.network, data)
    assert np.mean((logits - wanted) ** 2) < 5e-3 * np.mean(wanted**2)
    assert IntNetwork.from_json(found.network.to_json()).to_json() == found.network.to_json()


def test_the_input_as_a_factor(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 3, 3, 1, 1)}
    nodes = [node("Conv", ["x", "w"], "c"), node("Mul", ["x", "c"], "y")]
    made, data = model(IMAGE, nodes, tensors), floats(rng, 32, *SHAPE)
    found = quantise(from_model(made), data)
    check(found, data)
    wanted = reference(made, data).reshape(len(data), -1)
    error = np.mean((naive.logits(found.network, data) - wanted) ** 2)
    assert error < 2e-3 * np.mean(wanted**2)
    exported = ReferenceEvaluator(to_onnx(found.network))
    given = naive.encode(found.network, data)
    (again,) = exported.run(None, {"input": given.reshape(-1, *SHAPE).astype(np.int32)})
    assert np.array_equal(again, found.network.evaluate(given).logits)


def softmaxes(rng: np.random.Generator, gain: float) -> tuple[onnx.ModelProto, Array]:
    """A softmax over 6 classes in the middle and one over 4 at the end, and inputs."""
    tensors: dict[str, Any] = {"w": gain * floats(rng, 16, 6) / 4, "v": floats(rng, 6, 4)}
    nodes = [
        node("MatMul", ["x", "w"], "a"),
        node("Softmax", ["a"], "p"),
        node("MatMul", ["p", "v"], "b"),
        node("Softmax", ["b"], "y"),
    ]
    return model(["N", 16], nodes, tensors), floats(rng, 300, 16)


def deviation(found: Quantised, made: onnx.ModelProto, data: Array) -> tuple[float, float]:
    """Largest and root mean square difference of the probabilities, with the noise of a run."""
    wanted = reference(made, data.reshape(len(data), -1))
    run = found.network.evaluate(naive.encode(found.network, data), sigma=10.7, seed=1)
    assert sum(layer.beyond_bound for layer in run.layers) == 0
    apart = run.logits * found.network.layers[-1].scale - wanted
    return float(np.abs(apart).max()), float(np.sqrt(np.mean(apart**2)))


@pytest.mark.parametrize(("gain", "layers"), [(0.5, 6), (5, 13)], ids=["alike", "far apart"])
def test_softmax(rng: np.random.Generator, gain: float, layers: int) -> None:
    """Where inputs differ, 4 layers more for 6 classes and 3 for 4: the values, and each round."""
    made, data = softmaxes(rng, gain)
    found = quantise(from_model(made, keep_softmax=True), data)
    check(found, data)
    assert len(found.network.layers) == layers
    largest, rms = deviation(found, made, data)
    print(f"gain {gain}: largest {largest:.4f}, root mean square {rms:.4f}")
    assert largest < 0.12
    assert rms < 0.02


def test_softmax_over_the_channels_of_an_image(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 5, 3, 3, 3) / 3}
    nodes = [node("Conv", ["x", "w"], "c"), node("Softmax", ["c"], "y", axis=1)]
    made, data = model(IMAGE, nodes, tensors), floats(rng, 32, *SHAPE)
    found = quantise(from_model(made, keep_softmax=True), data)
    check(found, data)
    wanted = reference(made, data).reshape(len(data), -1)
    assert np.abs(naive.logits(found.network, data) - wanted).max() < 0.1


def test_softmax_at_the_end_is_kept_on_request_only(rng: np.random.Generator) -> None:
    made, _ = softmaxes(rng, 1)
    assert not isinstance(from_model(made).nodes[-1], Softmax)
    kept = from_model(made, keep_softmax=True)
    assert isinstance(kept.nodes[-1], Softmax)
    assert kept.notes == ()
    nodes = [node("Conv", ["x", "v"], "y")]
    plain = model(IMAGE, nodes, {"v": floats(np.random.default_rng(0), 3, 3, 1, 1)})
    (note,) = from_model(plain, keep_softmax=True).notes
    assert note == "the model has no softmax, so keeping it changes nothing"


def test_what_cannot_be_multiplied(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 3, 3, 2, 1), "v": floats(rng, 3, 3, 1, 1)}
    nodes = [node("Conv", ["x", "w"], "c"), node("Mul", ["x", "c"], "y")]
    with pytest.raises(NetworkError, match=r"y_node \(Mul\): its inputs have shapes"):
        from_model(model(IMAGE, nodes, tensors))
    nodes = [node("Conv", ["x", "v"], "c"), node("LogSoftmax", ["c"], "l", axis=1),
             node("Conv", ["l", "v"], "y")]  # fmt: skip
    with pytest.raises(NetworkError, match=r"l_node \(LogSoftmax\)"):
        quantise(from_model(model(IMAGE, nodes, tensors)), floats(rng, 2, *SHAPE))
    nodes = [node("Conv", ["x", "v"], "c"), node("Mul", ["x", "c"], "y")]
    with pytest.raises(NetworkError, match=r"y_node: its products reach .*, the limit is 100"):
        quantise(
            from_model(model(IMAGE, nodes, tensors)), floats(rng, 2, *SHAPE), Settings(limit=100)
        )


def test_encrypted_probabilities(
    command: Command, rng: np.random.Generator, tmp_path: Path
) -> None:
    """From an ONNX model to a run; small limits, for short tables."""
    made, data = softmaxes(rng, 0.5)
    onnx.save(made, str(tmp_path / "model.onnx"))
    np.save(tmp_path / "x.npy", data)
    output = tmp_path / "net.json"
    line = ["quantize", tmp_path / "model.onnx", "--data", tmp_path / "x.npy", "--output", output]
    result = command(*line, "--keep-softmax", "--limit", 1500, "--json")
    assert result.returncode == 0, result.stderr
    # The error that counts is that of the probabilities, and the warning says what helps.
    warned = json.loads(result.stdout)["warnings"]
    assert not any("inverse: its error" in text for text in warned)
    assert all("leave out --keep-softmax" in text for text in warned if "softmax" in text)
    assert [layer["name"].split(".")[-1] for layer in json.loads(result.stdout)["layers"]] == [
        "exp", "inverse", "p_node", "exp", "inverse", "y_node"
    ]  # fmt: skip
    network = IntNetwork.load(output)
    images = 4
    program = _native.compile(network.to_json(), images)
    assert "product %" in program.to_text()
    secret, keys = _native.keygen(program)
    inspector = _native.Inspector(secret, program, network.to_json())
    inputs = naive.encode(network, data[:images])
    logits, margin, _ = inspector.run(keys, inputs.tolist())
    assert margin > 6
    for layer in inspector.layers():
        assert layer["wrong_slots"] == layer["beyond_bound"] == 0, layer
    apart = np.array(logits) * network.layers[-1].scale - reference(made, data[:images])
    print(f"encrypted against float: largest {np.abs(apart).max():.4f}")
    assert np.abs(apart).max() < 0.15
