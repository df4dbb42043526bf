"""Networks that bring their own grids: every logit is the one that their quantised graph has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from palladion.errors import NetworkError
from palladion.nn.importer import from_model
from palladion.nn.quantisation import Quantised, Settings, quantise

from tests.models import QONNX, Array, floats, model, node, reference

BATCH = 200
SHAPE = (3, 7, 6)

Made = tuple[ModelProto, Array]
"""A model and random inputs, beyond the range of its own grid too."""


def executed(made: ModelProto, x: Array) -> Array:
    """The result of qonnx's own executor."""
    wrapper = pytest.importorskip("qonnx.core.modelwrapper")
    shapes = pytest.importorskip("qonnx.transformation.infer_shapes")
    execution = pytest.importorskip("qonnx.core.onnx_exec")
    wrapped = wrapper.ModelWrapper(made).transform(shapes.InferShapes())
    return np.asarray(execution.execute_onnx(wrapped, {"x": x})["y"])


def logits(found: Quantised, x: Array) -> Array:
    """The integer network's logits in the model's units."""
    network = found.network
    found_logits = network.evaluate(network.inputs(x)).logits
    return np.asarray(network.outputs(found_logits)["y"])


def quant(source: str, output: str, scale: str, bits: str, **attributes: Any) -> Any:
    given = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **attributes}
    return node("Quant", [source, scale, "zero", bits], output, domain=QONNX, **given)


def bits() -> dict[str, Any]:
    return {"zero": np.float32(0)} | {f"b{n}": np.float32(n) for n in (2, 3, 4, 8)}


def per_row(rng: np.random.Generator, weights: Array, levels: int) -> Array:
    """Scales that the weights of each row fill, no two in a simple ratio."""
    largest = np.abs(weights).reshape(len(weights), -1).max(axis=1)
    wanted = (largest / levels * rng.uniform(0.8, 1.0, len(weights))).astype(np.float32)
    return np.asarray(wanted.reshape(-1, *[1] * (weights.ndim - 1)))


def mlp(rng: np.random.Generator) -> Made:
    """Weights of 4 bits with a scale for each channel, biases, activations of 3 bits."""
    w, v, u = floats(rng, 12, 8), floats(rng, 10, 12), floats(rng, 5, 10)
    tensors = bits() | {
        "w": w, "ws": per_row(rng, w, 7), "v": v, "vs": per_row(rng, v, 7),
        "u": u, "us": per_row(rng, u, 7), "b": floats(rng, 12), "c": floats(rng, 10),
        "d": floats(rng, 5), "xs": np.float32(0.3), "hs": np.float32(0.71), "gs": np.float32(0.9),
    }  # fmt: skip
    nodes = [
        quant("x", "xq", "xs", "b4"), quant("w", "wq", "ws", "b4", narrow=1),
        quant("v", "vq", "vs", "b4", narrow=1), quant("u", "uq", "us", "b4", narrow=1),
        node("Gemm", ["xq", "wq", "b"], "h", transB=1), node("Relu", ["h"], "hr"),
        quant("hr", "hq", "hs", "b3", signed=0),
        node("Gemm", ["hq", "vq", "c"], "g", transB=1), node("Relu", ["g"], "gr"),
        quant("gr", "gq", "gs", "b3", signed=0),
        node("Gemm", ["gq", "uq", "d"], "y", transB=1),
    ]  # fmt: skip
    return model([BATCH, 8], nodes, tensors), floats(rng, BATCH, 8)


def normalised(rng: np.random.Generator) -> Made:
    """Convolution, batch normalisation, 3 bits; a maximum; powers of two, so that ties occur."""
    tensors = bits() | {
        "w": floats(rng, 4, 3, 3, 3), "ws": np.float32(0.5), "v": floats(rng, 5, 4, 2, 2),
        "vs": np.float32(0.25), "gain": np.array([0.5, 1, 2, -1], np.float32),
        "b": np.array([0.25, -0.5, 1, 0], np.float32), "mean": np.zeros(4, np.float32),
        "one": np.ones(4, np.float32), "xs": np.float32(0.5), "hs": np.float32(0.5),
    }  # fmt: skip
    nodes = [
        quant("x", "xq", "xs", "b3"), quant("w", "wq", "ws", "b3", narrow=1),
        quant("v", "vq", "vs", "b4", narrow=1),
        node("Conv", ["xq", "wq"], "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "gain", "b", "mean", "one"], "n", epsilon=0.0),
        node("Relu", ["n"], "r"), quant("r", "q", "hs", "b3", signed=0),
        node("MaxPool", ["q"], "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "vq"], "y"),
    ]  # fmt: skip
    return model([BATCH, *SHAPE], nodes, tensors), floats(rng, BATCH, *SHAPE)


def padded(rng: np.random.Generator) -> Made:
    """Maxima with padding of an input and of a layer whose grids reach below 0."""
    tensors = bits() | {
        "w": floats(rng, 4, 3, 3, 3), "ws": np.float32(0.5), "v": floats(rng, 5, 4, 2, 2),
        "vs": np.float32(0.25), "xs": np.float32(0.5), "hs": np.float32(1),
    }  # fmt: skip
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        quant("x", "xq", "xs", "b3"), quant("w", "wq", "ws", "b3", narrow=1),
        quant("v", "vq", "vs", "b4", narrow=1), node("MaxPool", ["xq"], "p", **pads),
        node("Conv", ["p", "wq"], "c"), quant("c", "q", "hs", "b4"),
        node("MaxPool", ["q"], "m", **pads, strides=[2, 2]), node("Conv", ["m", "vq"], "y"),
    ]  # fmt: skip
    return model([BATCH, *SHAPE], nodes, tensors), floats(rng, BATCH, *SHAPE)


def depthwise(rng: np.random.Generator) -> Made:
    """Each channel by itself, with its own scale and bias, then a pointwise convolution."""
    w, v = floats(rng, 3, 1, 3, 3), floats(rng, 4, 3, 1, 1)
    tensors = bits() | {
        "w": w, "ws": per_row(rng, w, 7), "b": floats(rng, 3), "v": v, "vs": per_row(rng, v, 7),
        "c": floats(rng, 4), "xs": np.float32(0.37), "hs": np.float32(1.1),
    }  # fmt: skip
    nodes = [
        quant("x", "xq", "xs", "b4"), quant("w", "wq", "ws", "b4", narrow=1),
        quant("v", "vq", "vs", "b4", narrow=1),
        node("Conv", ["xq", "wq", "b"], "d", group=3, strides=[2, 1], pads=[1, 1, 1, 1]),
        node("Relu", ["d"], "r"), quant("r", "q", "hs", "b4", signed=0),
        node("Conv", ["q", "vq", "c"], "y"),
    ]  # fmt: skip
    return model([BATCH, *SHAPE], nodes, tensors), floats(rng, BATCH, *SHAPE)


def residual(rng: np.random.Generator) -> Made:
    """A sum of two values on one grid, one of them rounded right before it."""
    w, v = floats(rng, 3, 3, 3, 3), floats(rng, 4, 3, 1, 1)
    tensors = bits() | {
        "w": w, "ws": per_row(rng, w, 3), "v": v, "vs": per_row(rng, v, 7),
        "xs": np.float32(0.31), "hs": np.float32(0.93),
    }  # fmt: skip
    nodes = [
        quant("x", "xq", "xs", "b4"), quant("w", "wq", "ws", "b3", narrow=1),
        quant("v", "vq", "vs", "b4", narrow=1),
        node("Conv", ["xq", "wq"], "c", pads=[1, 1, 1, 1]), quant("c", "cq", "xs", "b4"),
        node("Add", ["cq", "xq"], "s"), node("Relu", ["s"], "r"),
        quant("r", "q", "hs", "b3", signed=0), node("Conv", ["q", "vq"], "y"),
    ]  # fmt: skip
    return model([BATCH, *SHAPE], nodes, tensors), floats(rng, BATCH, *SHAPE)


def bipolar(rng: np.random.Generator) -> Made:
    """Signs of inputs, weights and values, with padding, and scales a thousand apart."""
    tensors: dict[str, Any] = {
        "half": np.float32(0.5), "one": np.float32(1), "w": floats(rng, 4, 3, 3, 3),
        "gain": np.geomspace(1e-3, 1, 4).astype(np.float32), "b": floats(rng, 4) / 100,
        "mean": floats(rng, 4), "var": np.ones(4, np.float32), "v": floats(rng, 5, 4, 3, 3),
    }  # fmt: skip
    nodes = [
        node("Sub", ["x", "half"], "a"),
        node("BipolarQuant", ["a", "one"], "i", domain=QONNX),
        node("BipolarQuant", ["w", "half"], "wq", domain=QONNX),
        node("BipolarQuant", ["v", "one"], "vq", domain=QONNX),
        node("Conv", ["i", "wq"], "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "gain", "b", "mean", "var"], "n"),
        node("BipolarQuant", ["n", "one"], "h", domain=QONNX),
        node("Conv", ["h", "vq"], "y", pads=[0, 1, 0, 1]),
    ]
    return model([BATCH, *SHAPE], nodes, tensors), rng.random((BATCH, *SHAPE), np.float32)


NETWORKS = [mlp, normalised, padded, depthwise, residual, bipolar]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda f: str(f.__name__))
@pytest.mark.parametrize("seed", range(3))
def test_all_logits_are_those_of_the_executor(
    network: Callable[[np.random.Generator], Made], seed: int
) -> None:
    made, x = network(np.random.default_rng(seed))
    found = quantise(from_model(made))
    expected = executed(made, x)
    np.testing.assert_allclose(logits(found, x), expected, rtol=1e-5, atol=1e-5)
    assert [layer.why for layer in found.layers] == [None] * len(found.layers)
    assert not any(layer.differing for layer in found.layers)
    assert not found.warnings


def qdq(source: str, output: str, scale: str, zero: str) -> list[Any]:
    return [
        node("QuantizeLinear", [source, scale, zero], f"{output}_q"),
        node("DequantizeLinear", [f"{output}_q", scale, zero], output),
    ]


def test_integers_of_8_bits_and_an_average(rng: np.random.Generator) -> None:
    """QDQ: a bias of 32 bits, a zero point, an average in floating point between two roundings."""
    ws = np.full(3, 0.004, np.float32)
    tensors: dict[str, Any] = {
        "w": rng.integers(-9, 10, (3, 2, 3, 3), dtype=np.int8), "ws": ws,
        "wz": np.zeros(3, np.int8),
        "b": rng.integers(-900, 900, 3, dtype=np.int32), "bs": ws * np.float32(0.02),
        "bz": np.zeros(3, np.int32), "xs": np.float32(0.02), "xz": np.int8(-3),
        "hs": np.float32(0.0137), "hz": np.uint8(0), "ps": np.float32(0.0111), "pz": np.int8(-60),
        "v": rng.integers(-100, 101, (4, 3), dtype=np.int8), "vs": np.float32(0.01),
        "vz": np.int8(0),
    }  # fmt: skip
    nodes = [
        *qdq("x", "xd", "xs", "xz"),
        node("DequantizeLinear", ["w", "ws", "wz"], "wd", axis=0),
        node("DequantizeLinear", ["b", "bs", "bz"], "bd", axis=0),
        node("Conv", ["xd", "wd", "bd"], "c"), node("Relu", ["c"], "r"),
        *qdq("r", "h", "hs", "hz"),
        node("GlobalAveragePool", ["h"], "p"), *qdq("p", "pd", "ps", "pz"),
        node("Flatten", ["pd"], "f"), node("DequantizeLinear", ["v", "vs", "vz"], "vd"),
        node("Gemm", ["f", "vd"], "y", transB=1),
    ]  # fmt: skip
    made = model([BATCH, 2, 6, 5], nodes, tensors)
    x = floats(rng, BATCH, 2, 6, 5)
    found = quantise(from_model(made))
    np.testing.assert_allclose(logits(found, x), reference(made, x), rtol=1e-5, atol=1e-5)
    assert [layer.why for layer in found.layers] == [None] * 3


def intrusion(rng: np.random.Generator) -> Made:
    """593 binary features, some of which never count, and normalised channels that never vary.

    Of the form of the QONNX model zoo's network for UNSW-NB15. Channels without variance get a
    factor of 316 by batch normalisation.
    """
    sizes = (593, 64, 64, 64)
    tensors: dict[str, Any] = bits() | {
        "one": np.float32(1), "two": np.float32(2), "hs": np.float32(0.63), "ws": np.float32(0.11),
    }  # fmt: skip
    nodes = [
        node("Mul", ["x", "two"], "x2"), node("Sub", ["x2", "one"], "x1"),
        node("BipolarQuant", ["x1", "one"], "h0", domain=QONNX),
    ]  # fmt: skip
    for k, (inputs, outputs) in enumerate(pairwise(sizes)):
        w = floats(rng, inputs, outputs) / 8
        w[rng.random(inputs) < 0.2] = 0  # features that nothing reads
        w[:, :3] = 0  # channels that are constant
        var = np.abs(floats(rng, outputs)) + 1
        var[:3] = 0
        var[3] = 1e-6  # one that varies and has a large factor all the same
        tensors |= {
            f"w{k}": w, f"g{k}": floats(rng, outputs) * 0.3 + 0.5, f"a{k}": floats(rng, outputs),
            f"m{k}": floats(rng, outputs), f"v{k}": var,
        }  # fmt: skip
        nodes += [
            quant(f"w{k}", f"q{k}", "ws", "b2", narrow=1),
            node("MatMul", [f"h{k}", f"q{k}"], f"c{k}"),
            node("BatchNormalization", [f"c{k}", f"g{k}", f"a{k}", f"m{k}", f"v{k}"], f"n{k}"),
            node("Relu", [f"n{k}"], f"r{k}"),
            quant(f"r{k}", f"h{k + 1}", "hs", "b2", signed=0),
        ]
    tensors["u"] = floats(rng, 64, 1) / 4
    nodes += [quant("u", "uq", "ws", "b4", narrow=1), node("MatMul", ["h3", "uq"], "y")]
    return model([BATCH, 593], nodes, tensors), rng.integers(0, 2, (BATCH, 593)).astype(np.float32)


def test_constant_and_huge_channels_leave_the_others_alone(rng: np.random.Generator) -> None:
    made, x = intrusion(rng)
    found = quantise(from_model(made))
    expected = executed(made, x)
    assert len(np.unique(expected)) > 5
    np.testing.assert_allclose(logits(found, x), expected, rtol=1e-5, atol=1e-5)
    assert not any(layer.differing for layer in found.layers)


@pytest.mark.parametrize(
    "mode",
    ["ROUND", "FLOOR", "CEIL", "ROUND_TO_ZERO", "HALF_EVEN", "HALF_UP", "HALF_DOWN", "UP", "DOWN"],
)
@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_roundings(rng: np.random.Generator, mode: str, zero: float) -> None:
    """Of values that lie on ties; of the input by the modes that an input can have."""
    tensors = bits() | {
        "w": rng.integers(-3, 4, (6, 5)).astype(np.float32), "one": np.float32(1),
        "quarter": np.float32(0.25), "two": np.float32(2), "z": np.float32(zero),
    }  # fmt: skip
    outer = mode if mode in {"ROUND", "FLOOR", "CEIL", "HALF_EVEN"} else "ROUND"
    given = {"domain": QONNX, "signed": 1, "narrow": 0}
    nodes = [
        node("Quant", ["x", "quarter", "z", "b4"], "xq", rounding_mode=outer, **given),
        quant("w", "wq", "one", "b3"), node("MatMul", ["xq", "wq"], "h"),
        node("Quant", ["h", "two", "z", "b3"], "y", rounding_mode=mode, **given),
    ]  # fmt: skip
    nodes += [node("Identity", ["y"], "yy"), node("MatMul", ["yy", "u"], "yyy")]
    tensors["u"] = np.eye(5, dtype=np.float32)
    nodes[-3].output[0] = "s"
    nodes[-2].input[0] = "s"
    nodes[-1].output[0] = "y"
    made = model([BATCH, 6], nodes, tensors)
    x = rng.integers(-20, 20, (BATCH, 6)).astype(np.float32) / 8
    found = quantise(from_model(made))
    if mode == "ROUND_TO_ZERO":  # a name of older versions, which the executor does not know
        (rounding,) = (a for a in nodes[3].attribute if a.name == "rounding_mode")
        rounding.s = b"DOWN"
        made = model([BATCH, 6], nodes, tensors)
    np.testing.assert_allclose(logits(found, x), executed(made, x), rtol=1e-6, atol=1e-6)


def test_sums_that_do_not_fit_say_so(rng: np.random.Generator) -> None:
    """4,000 products of up to 15 and 7 pass the limit; data say what occurs, and then it fits."""
    w = rng.integers(-7, 8, (3, 4000))
    tensors = bits() | {
        "w": w.astype(np.float32), "one": np.float32(1), "hs": np.float32(200), "u": np.eye(3),
    }  # fmt: skip
    tensors["u"] = tensors["u"].astype(np.float32)
    nodes = [
        quant("x", "xq", "one", "b4", signed=0), quant("w", "wq", "one", "b4", narrow=1),
        node("Gemm", ["xq", "wq"], "h", transB=1), quant("h", "hq", "hs", "b4"),
        node("MatMul", ["hq", "u"], "y"),
    ]  # fmt: skip
    made = model([BATCH, 4000], nodes, tensors)
    x = rng.integers(0, 3, (BATCH, 4000)).astype(np.float32)
    with pytest.raises(
        NetworkError, match=r"layer hq_node: .* bound of 1\d{5} .* limit is 32681.*"
    ):
        quantise(from_model(made))
    found = quantise(from_model(made), x)
    np.testing.assert_allclose(logits(found, x), executed(made, x), rtol=1e-6)
    (warning,) = found.warnings
    assert "layer hq_node" in warning
    assert "calibration data" in warning
    with pytest.raises(NetworkError, match="hq_node"):
        quantise(from_model(made), x, Settings(strict=True))


def test_what_cannot_be_exact_is_counted(rng: np.random.Generator) -> None:
    """A sum of values on grids without a common step: some of the outputs differ by a step."""
    tensors = bits() | {
        "v": floats(rng, 4, 3, 1, 1), "vs": np.float32(0.3), "xs": np.float32(0.31),
        "cs": np.float32(0.1737), "hs": np.float32(0.23), "w": floats(rng, 3, 3, 1, 1),
    }  # fmt: skip
    nodes = [
        quant("x", "xq", "xs", "b4"), quant("v", "vq", "vs", "b4"), quant("w", "wq", "vs", "b4"),
        node("Conv", ["xq", "wq"], "c"), quant("c", "cq", "cs", "b4"),
        node("Add", ["cq", "xq"], "s"), quant("s", "q", "hs", "b4"),
        node("Conv", ["q", "vq"], "y"),
    ]  # fmt: skip
    made = model([BATCH, *SHAPE], nodes, tensors)
    found = quantise(from_model(made))
    report = next(layer for layer in found.layers if layer.name == "q_node")
    assert report.why is not None
    assert "no common step" in report.why
    assert report.differing is not None
    assert 0 <= report.differing < 0.05
    assert bool(report.differing) == any("q_node" in warning for warning in found.warnings)


def test_a_scale_for_each_channel_of_values(rng: np.random.Generator) -> None:
    """Of the input and of values between layers: a channel's step is a factor of weights."""
    tensors = bits() | {
        "hs": np.array([0.5, 1, 2, 0.25], np.float32).reshape(1, 4, 1, 1),
        "w": floats(rng, 4, 3, 3, 3), "ws": np.float32(0.5), "v": floats(rng, 2, 4, 1, 1),
    }  # fmt: skip
    tensors["xs"] = np.array([0.25, 0.5, 1], np.float32).reshape(1, 3, 1, 1)
    nodes = [
        quant("x", "xq", "xs", "b3"), quant("w", "wq", "ws", "b3"), quant("v", "vq", "ws", "b3"),
        node("Conv", ["xq", "wq"], "c", pads=[1, 1, 1, 1]), node("Relu", ["c"], "r"),
        quant("r", "q", "hs", "b3", signed=0), node("Conv", ["q", "vq"], "y"),
    ]  # fmt: skip
    made = model([BATCH, *SHAPE], nodes, tensors)
    x = floats(rng, BATCH, *SHAPE)
    found = quantise(from_model(made))
    np.testing.assert_allclose(logits(found, x), executed(made, x), rtol=1e-5, atol=1e-5)
    assert {layer.why for layer in found.layers} == {None}
