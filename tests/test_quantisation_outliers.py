"""Channels that never fire, channels of very different size, and what is said of errors."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from palladion.errors import NetworkError
from palladion.nn.importer import from_model
from palladion.nn.quantisation import Settings, quantise

from tests.models import Array, floats, model, node, reference


def mlp(tensors: dict[str, Array], function: str = "Relu") -> ModelProto:
    nodes = [
        node("Gemm", ["x", "w1", "b1"], "a", transB=1), node(function, ["a"], "r"),
        node("Gemm", ["r", "w2", "b2"], "c", transB=1), node(function, ["c"], "s"),
        node("Gemm", ["s", "w3"], "y", transB=1),
    ]  # fmt: skip
    return model(["N", 16], nodes, tensors)


def weights(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "w1": floats(rng, 32, 16) / 4, "b1": floats(rng, 32) / 4, "w2": floats(rng, 32, 32) / 5,
        "b2": floats(rng, 32) / 4, "w3": floats(rng, 6, 32) / 5,
    }  # fmt: skip


def agreement(made: ModelProto, x: Array, **settings: Any) -> float:
    """Share of inputs whose class is the float model's."""
    network = quantise(from_model(made), x[:512], Settings(**settings)).network
    classes = network.classes(network.evaluate(network.inputs(x)).logits)
    return float(np.mean(classes == reference(made, x).argmax(axis=1)))


@pytest.mark.filterwarnings("ignore:.*input values lie outside")
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("scale", [1, 30, 1000])
@pytest.mark.parametrize("bias", [-8.0, -3.6, -1.2], ids=["proven", "measured", "near"])
def test_a_channel_that_never_fires(
    rng: np.random.Generator, scale: float, per_channel: bool, bias: float
) -> None:
    tensors, x = weights(rng), floats(rng, 2000, 16)
    tensors["b1"][5] = bias * np.abs(tensors["w1"][5]).sum() * scale
    tensors["w1"][5] *= scale
    assert agreement(mlp(tensors), x, per_channel=per_channel) > 0.97
    found = quantise(from_model(mlp(tensors)), x[:512])
    # A warning tells of channels that only the data show to be constant, with the distance.
    assert [w for w in found.warnings if "taken for constant" in w] == list(found.warnings)
    assert bool(found.warnings) == (bias == -3.6)


@pytest.mark.filterwarnings("ignore:.*input values lie outside")
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("scale", [1, 30, 1000])
def test_a_channel_that_is_larger_and_read_by_less(
    rng: np.random.Generator, scale: float, per_channel: bool
) -> None:
    """The float network is the same for every scale, and so is the integer one."""
    tensors, x = weights(rng), floats(rng, 2000, 16)
    for name in ("w1", "b1"):
        tensors[name][5] *= scale
    tensors["w2"][:, 5] /= scale
    assert agreement(mlp(tensors), x, per_channel=per_channel) > 0.97


def test_equalised_through_a_maximum_and_a_residual(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {
        "w": floats(rng, 4, 3, 3, 3), "v": floats(rng, 4, 4, 3, 3) / 6,
        "u": floats(rng, 5, 4, 1, 1),
    }  # fmt: skip
    sizes = np.array([1, 1, 500, 1], np.float32)[:, None, None, None]
    tensors["w"] *= sizes
    tensors["v"] = tensors["v"] / sizes.reshape(1, -1, 1, 1) * sizes
    tensors["u"] /= sizes.reshape(1, -1, 1, 1)
    nodes = [
        node("Conv", ["x", "w"], "a", pads=[1, 1, 1, 1]), node("Relu", ["a"], "r"),
        node("MaxPool", ["r"], "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "v"], "b", pads=[1, 1, 1, 1]), node("Add", ["b", "m"], "s"),
        node("LeakyRelu", ["s"], "l", alpha=0.1), node("Conv", ["l", "u"], "y"),
    ]  # fmt: skip
    made = model(["N", 3, 8, 8], nodes, tensors)
    x = floats(rng, 64, 3, 8, 8)
    found = quantise(from_model(made), x)
    network = found.network
    logits = network.outputs(network.evaluate(network.inputs(x)).logits)["y"]
    wanted = reference(made, x)
    assert np.mean((logits - wanted) ** 2) / np.mean(wanted**2) < 2e-3
    assert not found.warnings


def test_channels_below_the_largest_value_of_relu6_share_its_grid(
    rng: np.random.Generator,
) -> None:
    """Convolutions by channel, whose channels differ in size, as in MobileNets. Those that reach
    the largest value stay as they are."""
    sizes = np.geomspace(0.01, 1, 8).astype(np.float32)
    tensors: dict[str, Any] = {
        "w": floats(rng, 8, 3, 3, 3) * sizes[:, None, None, None],
        "d": floats(rng, 8, 1, 3, 3) / 3, "p": floats(rng, 5, 8, 1, 1) / sizes[:, None, None],
        "low": np.float32(0), "high": np.float32(6),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w"], "a", pads=[1] * 4), node("Clip", ["a", "low", "high"], "r"),
        node("Conv", ["r", "d"], "b", pads=[1] * 4, group=8),
        node("Clip", ["b", "low", "high"], "s"), node("Conv", ["s", "p"], "y"),
    ]  # fmt: skip
    made, x = model(["N", 3, 8, 8], nodes, tensors), floats(rng, 64, 3, 8, 8)
    network = quantise(from_model(made), x).network
    found = network.outputs(network.evaluate(network.inputs(x)).logits)["y"]
    wanted = reference(made, x)
    assert np.mean((found - wanted) ** 2) / np.var(wanted) < 2e-3


@pytest.mark.parametrize(("low", "high"), [(0, 6), (0, 1), (-1, 1), (-3, 8)])
def test_a_clip_between_whole_numbers_is_no_step_function(
    rng: np.random.Generator, low: float, high: float
) -> None:
    tensors = weights(rng) | {"low": np.float32(low), "high": np.float32(high)}
    nodes = [
        node("Gemm", ["x", "w1", "b1"], "a", transB=1),
        node("Clip", ["a", "low", "high"], "r"), node("Gemm", ["r", "w2"], "y", transB=1),
    ]  # fmt: skip
    network = quantise(from_model(model(["N", 16], nodes, tensors)), floats(rng, 300, 16)).network
    table = network.layers[0].lut
    assert table is not None
    assert len(np.unique(table.values)) > 100


def test_warnings_have_a_layer_a_number_and_a_way_out(rng: np.random.Generator) -> None:
    """A large channel before a function that cannot be scaled drowns the others."""
    tensors, x = weights(rng), floats(rng, 512, 16)
    tensors["w1"][5] *= 3000
    graph = from_model(mlp(tensors, "Tanh"))
    found = quantise(graph, x, Settings(limit=2000))
    (first, *_) = found.warnings
    assert first.startswith("layer r_node: its error is ")
    assert "without the limit" in first
    assert found.layers[0].weights_error > 1.5 * found.layers[0].weights_error_free
    assert any("channels are constant" in warning for warning in found.warnings)
    with pytest.raises(NetworkError, match="r_node"):
        quantise(graph, x, Settings(limit=2000, strict=True))


def test_accumulators_beyond_the_bound_are_told(rng: np.random.Generator) -> None:
    """Sums on the model's own grids that reach farther on some data than the bound."""
    tensors, x = weights(rng), floats(rng, 512, 16)
    quiet = quantise(from_model(mlp(tensors)), x)
    assert not quiet.warnings
    assert all(layer.beyond == 0 for layer in quiet.layers)
    assert all(0 < layer.changed < 0.2 for layer in quiet.layers[:-1])


def test_features_of_unlike_ranges_are_normalised(rng: np.random.Generator) -> None:
    """Without a scaler in the model: ranges from 1e-3 to 1e4, and a year."""
    sizes, middles = np.geomspace(1e-3, 1e4, 8), np.array([0, 0, 0, 5, -3, 0, 2000, 0])
    x = (rng.normal(size=(600, 8)) * sizes + middles).astype(np.float32)
    tensors = {
        "w": (floats(rng, 8, 12) / sizes[:, None] / 3).astype(np.float32),
        "v": floats(rng, 12, 1),
    }
    tensors["b"] = (-middles @ tensors["w"]).astype(np.float32)
    nodes = [
        node("Gemm", ["x", "w", "b"], "h"),
        node("Tanh", ["h"], "t"),
        node("Gemm", ["t", "v"], "y"),
    ]
    made = model(["N", 8], nodes, tensors)
    network = quantise(from_model(made), x[:500]).network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values beyond calibration
        found = network.outputs(network.evaluate(network.inputs(x[500:])).logits)["y"]
    wanted = reference(made, x[500:])
    assert 1 - np.mean((found - wanted) ** 2) / np.var(wanted) > 0.99


def test_squares_of_unlike_columns_keep_the_class(rng: np.random.Generator) -> None:
    """As a naive Bayes on raw columns computes: sums of squares, with a factor for each column."""
    sizes = np.geomspace(1e-2, 1e3, 12).astype(np.float32)
    x = floats(rng, 400, 12) * sizes
    centres, widths = floats(rng, 12, 3) * 0.7 * sizes[:, None], sizes[:, None] * np.ones((12, 3))
    tensors: dict[str, Array] = {
        "u": np.hstack([np.eye(12, dtype=np.float32)] * 3), "c": centres.T.ravel(),
        "v": np.zeros((36, 3), np.float32), "two": np.array(2, np.float32),
    }  # fmt: skip
    for k in range(3):
        tensors["v"][12 * k : 12 * k + 12, k] = -1 / widths[:, k] ** 2
    nodes = [node("MatMul", ["x", "u"], "a"), node("Sub", ["a", "c"], "b"),
             node("Pow", ["b", "two"], "s"), node("MatMul", ["s", "v"], "y")]  # fmt: skip
    found = quantise(from_model(model(["N", 12], nodes, tensors)), x)
    assert found.answers is not None
    assert found.answers.agreement is not None
    assert found.answers.agreement > 0.97
    assert not found.warnings


def test_functions_of_unlike_columns_have_a_grid_for_each(rng: np.random.Generator) -> None:
    """Squares of the input itself beside its linear map, as in a factorisation machine."""
    sizes = np.geomspace(1e-2, 1e3, 10).astype(np.float32)
    x = floats(rng, 400, 10) * sizes + 2 * sizes
    tensors = {
        "w": floats(rng, 10, 1) / sizes[:, None],
        "v": floats(rng, 10, 1) / sizes[:, None] ** 2,
    }
    nodes = [node("MatMul", ["x", "w"], "a"), node("Mul", ["x", "x"], "s"),
             node("MatMul", ["s", "v"], "b"), node("Add", ["a", "b"], "y")]  # fmt: skip
    found = quantise(from_model(model(["N", 10], nodes, tensors)), x)
    assert found.answers is not None
    assert found.answers.error is not None
    assert found.answers.error < 0.05


def test_thresholds_of_whole_numbers_are_exact(rng: np.random.Generator) -> None:
    """Many of the numbers lie on the threshold itself. The client compares them."""
    x = rng.integers(0, 17, (300, 20)).astype(np.float32)
    tensors = {"t": np.array(8, np.float32), "w": floats(rng, 20, 4)}
    nodes = [node("Greater", ["x", "t"], "g"), node("Cast", ["g"], "f", to=1),
             node("MatMul", ["f", "w"], "y")]  # fmt: skip
    made = model(["N", 20], nodes, tensors)
    network = quantise(from_model(made), x).network
    outputs = network.outputs(network.evaluate(network.inputs(x)).logits)["y"]
    wanted = reference(made, x)
    assert np.abs(outputs - wanted).max() < 0.02 * np.ptp(wanted)  # rounding of the weights


def test_answers_are_compared_with_the_float_models(rng: np.random.Generator) -> None:
    """A warning has the number, and the change that helps most."""
    x = floats(rng, 300, 8)
    tensors = {"u": 30 * floats(rng, 8, 16), "b": np.full(16, 300, np.float32)}
    tensors["w"] = floats(rng, 16, 2)
    nodes = [node("Gemm", ["x", "u", "b"], "h"), node("Relu", ["h"], "r"),
             node("MatMul", ["r", "w"], "y")]  # fmt: skip
    graph = from_model(model(["N", 8], nodes, tensors))
    coarse = quantise(graph, x, Settings(inputs=2, weights=2))
    assert coarse.answers is not None
    assert coarse.answers.differ
    (warning,) = [w for w in coarse.warnings if w.startswith("the answers differ")]
    assert re.search(r"\d% equal classes", warning)
    assert "helps" in warning
    assert coarse.network.warnings == coarse.warnings  # compile and clients have it too
    with pytest.raises(NetworkError, match="the answers differ"):
        quantise(graph, x, Settings(inputs=2, weights=2, strict=True))


def test_a_large_constant_of_the_outputs_is_added_by_the_client(rng: np.random.Generator) -> None:
    """Otherwise it would take the room of the accumulators."""
    x = floats(rng, 300, 6)
    tensors = {"w": floats(rng, 6, 2), "b": np.array([70_000, -50_000], np.float32)}
    found = quantise(from_model(model(["N", 6], [node("Gemm", ["x", "w", "b"], "y")], tensors)), x)
    assert found.answers is not None
    assert found.answers.error is not None
    assert found.answers.error < 1e-4
    y = found.network.outputs(found.network.evaluate(found.network.inputs(x)).logits)["y"]
    assert np.abs(y - (x @ tensors["w"] + tensors["b"])).max() < 0.3
