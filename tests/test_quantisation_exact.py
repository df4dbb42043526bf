"""Networks that bring their own grids: every logit is the one that their quantised graph has."""

from __future__ import annotations

from collections.abc import Callable
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
    """What qonnx's own executor says."""
    wrapper = pytest.importorskip("qonnx.core.modelwrapper")
    shapes = pytest.importorskip("qonnx.transformation.infer_shapes")
    execution = pytest.importorskip("qonnx.core.onnx_exec")
    wrapped = wrapper.ModelWrapper(made).transform(shapes.InferShapes())
    return np.asarray(execution.execute_onnx(wrapped, {"x": x})["y"])


def logits(found: Quantised, x: Array) -> Array:
    """The integer network's logits in the model's units."""
    network = found.network
    return np.asarray(network.outputs(network.evaluate(network.inputs(x)).logits)["y"])


def quant(source: str, output: str, scale: str, bits: str, **attributes: Any) -> Any:
    given = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **attributes}
    return node("Quant", [source, scale, "zero", bits], output, domain=QONNX, **given)


def bits() -> dict[str, Any]:
    return {"zero": np.float32(0)} | {f"b{n}": np.float32(n) for n in (2, 3, 4, 8)}


def per_row(rng: np.random.Generator, weights: Array, levels: int) -> Array:
    """Scales that the weights of each row fill, no two in a simple ratio."""
    largest = np.abs(weights).reshape(len(weights), -1).max(axis=1)
    wanted = largest / levels * rng.uniform(0.8, 1.0, len(weights))
    return wanted.reshape(-1, *[1] * (weights.ndim - 1)).astype(np.float32)


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


def depthwise(rng: np.random.Generator) -> Made:
    """A convolution of each channel by itself, with its own scale and bias, then a pointwise one."""
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


NETWORKS = [mlp, normalised, depthwise, residual, bipolar]


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
        "w": rng.integers(-9, 10, (3, 2, 3, 3), dtype=np.int8), "ws": ws, "wz": np.zeros(3, np.int8),
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
