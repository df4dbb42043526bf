"""Every operator against ONNX's reference implementation, on odd shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from palladion.nn.floats.graph import Activation, Add, Affine, Conv, Dense, Graph, Input, Window
from palladion.nn.importer import from_model

from tests.models import QONNX, Array, floats, model, node, reference

Tensors = dict[str, Any]

SHAPE = (3, 7, 5)


def agrees(made: onnx.ModelProto, x: Array, tolerance: float = 2e-5) -> Graph:
    """The graph computes what the reference does, whatever batch the model was made for."""
    graph = from_model(made)
    expected = reference(made, x)
    found = graph.outputs(x)["y"]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return graph


CONVOLUTIONS: list[dict[str, Any]] = [
    {},
    {"pads": [1, 1, 1, 1]},
    {"pads": [0, 2, 1, 0], "strides": [2, 1]},
    {"pads": [2, 2, 2, 2], "dilations": [2, 2]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
    {"auto_pad": "VALID"},
    {"group": 3, "pads": [1, 0, 1, 0]},
]


@pytest.mark.parametrize("attributes", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("kernel", [(3, 2), (1, 1)], ids=str)
def test_conv(
    rng: np.random.Generator, attributes: dict[str, Any], kernel: tuple[int, int]
) -> None:
    group = attributes.get("group", 1)
    tensors: Tensors = {"w": floats(rng, 6, 3 // group, *kernel), "b": floats(rng, 6)}
    nodes = [node("Conv", ["x", "w", "b"], "y", **attributes)]
    agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 4, *SHAPE))


UNARY: list[tuple[str, dict[str, Any]]] = [
    ("Relu", {}),
    ("LeakyRelu", {"alpha": 0.2}),
    ("Elu", {"alpha": 0.7}),
    ("Sigmoid", {}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("HardSwish", {}),
    ("Tanh", {}),
    ("Softplus", {}),
    ("Erf", {}),
    ("Abs", {}),
    ("Neg", {}),
    ("Exp", {}),
    ("Gelu", {}),
    ("Gelu", {"approximate": "tanh"}),
    ("Identity", {}),
    ("Dropout", {}),
]


@pytest.mark.parametrize(("kind", "attributes"), UNARY, ids=str)
def test_unary(rng: np.random.Generator, kind: str, attributes: dict[str, Any]) -> None:
    nodes = [node(kind, ["x"], "a", **attributes), node("Relu", ["a"], "y")]
    agrees(model(["N", *SHAPE], nodes), 3 * floats(rng, 4, *SHAPE))


@pytest.mark.parametrize("composition", ["silu", "gelu", "hard_swish", "mish"])
def test_compositions_are_one_function(rng: np.random.Generator, composition: str) -> None:
    tensors: Tensors = {
        "root": np.float32(2**0.5),
        "one": np.float32(1),
        "half": np.float32(0.5),
    }
    nodes = {
        "silu": [node("Sigmoid", ["c"], "s"), node("Mul", ["c", "s"], "a")],
        "gelu": [
            node("Div", ["c", "root"], "d"),
            node("Erf", ["d"], "e"),
            node("Add", ["e", "one"], "f"),
            node("Mul", ["c", "f"], "g"),
            node("Mul", ["g", "half"], "a"),
        ],
        "hard_swish": [node("HardSigmoid", ["c"], "h"), node("Mul", ["h", "c"], "a")],
        "mish": [
            node("Softplus", ["c"], "p"),
            node("Tanh", ["p"], "t"),
            node("Mul", ["c", "t"], "a"),
        ],
    }[composition]
    tensors |= {"w": floats(rng, 4, 3, 3, 3), "v": floats(rng, 2, 4, 1, 1)}
    nodes = [node("Conv", ["x", "w"], "c"), *nodes, node("Conv", ["a", "v"], "y")]
    graph = agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 4, *SHAPE))
    assert [type(n) for n in graph.nodes] == [Input, Conv, Activation, Conv]


def test_clip_by_attributes_and_by_inputs(rng: np.random.Generator) -> None:
    x = 4 * floats(rng, 3, *SHAPE)
    bounds = {"lo": np.float32(0), "hi": np.float32(6)}
    by_inputs = [node("Clip", ["x", "lo", "hi"], "a"), node("Neg", ["a"], "y")]
    agrees(model(["N", *SHAPE], by_inputs, bounds), x)
    by_attributes = [node("Clip", ["x"], "a", min=-1.0, max=2.0), node("Neg", ["a"], "y")]
    agrees(model(["N", *SHAPE], by_attributes, opset=6), x)


NORMALISED = {"shift": (3,), "gain": (3,), "mean": (3,), "variance": (3,)}


@pytest.mark.parametrize("place", ["before", "after", "padded"])
def test_batch_normalisation_is_folded(rng: np.random.Generator, place: str) -> None:
    tensors: Tensors = {name: np.abs(floats(rng, *shape)) for name, shape in NORMALISED.items()}
    tensors["w"] = floats(rng, 3, 3, 3, 3)
    parts = ["gain", "shift", "mean", "variance"]
    pads = [1, 1, 1, 1] if place == "padded" else [0, 0, 0, 0]
    first, last = ("x", "y") if place == "after" else ("b", "y")
    if place == "after":
        nodes = [
            node("Conv", ["x", "w"], "c"),
            node("BatchNormalization", ["c", *parts], "y", epsilon=1e-3),
        ]
    else:
        nodes = [
            node("Relu", ["x"], "a"),
            node("BatchNormalization", ["a", *parts], first),
            node("Conv", [first, "w"], last, pads=pads),
        ]
    graph = agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 4, *SHAPE), 1e-4)
    # With padding, the shift is not the same at the border, so that it cannot be folded.
    assert any(isinstance(n, Affine) for n in graph.nodes) == (place == "padded")


@pytest.mark.parametrize("turn", [0, 1])
def test_gemm(rng: np.random.Generator, turn: int) -> None:
    tensors: Tensors = {
        "w": floats(rng, 6, 4) if turn else floats(rng, 4, 6),
        "b": floats(rng, 1, 6),
    }
    nodes = [node("Gemm", ["x", "w", "b"], "y", transB=turn, alpha=0.5, beta=2.0)]
    agrees(model(["N", 4], nodes, tensors), floats(rng, 5, 4))


def test_matmul_and_bias(rng: np.random.Generator) -> None:
    tensors: Tensors = {"w": floats(rng, 4, 6), "b": floats(rng, 6)}
    nodes = [node("MatMul", ["x", "w"], "a"), node("Add", ["b", "a"], "y")]
    graph = agrees(model(["N", 4], nodes, tensors), floats(rng, 5, 4))
    assert [type(n) for n in graph.nodes] == [Input, Dense]


@pytest.mark.parametrize("batch", ["N", 1, 3])
def test_relabelling_moves_weights(rng: np.random.Generator, batch: int | str) -> None:
    shape = np.array([0, 5, -1])
    tensors: Tensors = {"w": floats(rng, 105, 2), "shape": shape, "axis": np.array([1])}
    nodes = [
        node("Transpose", ["x"], "a", perm=[0, 2, 3, 1]),
        node("Unsqueeze", ["a", "axis"], "b"),
        node("Squeeze", ["b", "axis"], "c"),
        node("Reshape", ["c", "shape"], "d"),
        node("Flatten", ["d"], "e"),
        node("MatMul", ["e", "w"], "y"),
    ]
    count = batch if isinstance(batch, int) else 2
    graph = agrees(model([batch, *SHAPE], nodes, tensors), floats(rng, count, *SHAPE), 1e-4)
    assert [type(n) for n in graph.nodes] == [Input, Dense]


def test_reshape_by_the_shape_of_the_batch(rng: np.random.Generator) -> None:
    tensors: Tensors = {"zero": np.array(0), "minus": np.array([-1]), "axis": np.array([0])}
    tensors["w"] = floats(rng, 105, 2)
    nodes = [
        node("Shape", ["x"], "s"),
        node("Gather", ["s", "zero"], "n", axis=0),
        node("Unsqueeze", ["n", "axis"], "u"),
        node("Concat", ["u", "minus"], "t", axis=0),
        node("Reshape", ["x", "t"], "r"),
        node("MatMul", ["r", "w"], "y"),
    ]
    agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 3, *SHAPE), 1e-4)


def test_images_in_order_nhwc_are_taken_as_nchw(rng: np.random.Generator) -> None:
    tensors: Tensors = {"w": floats(rng, 4, 3, 3, 3)}
    nodes = [node("Transpose", ["x"], "t", perm=[0, 3, 1, 2]), node("Conv", ["t", "w"], "y")]
    graph = agrees(model(["N", 7, 5, 3], nodes, tensors), floats(rng, 2, 7, 5, 3), 1e-4)
    assert graph.input.shape == SHAPE
    assert [type(n) for n in graph.nodes] == [Input, Conv]


POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [2, 2], "dilations": [2, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
]


@pytest.mark.parametrize("attributes", POOLS, ids=str)
def test_max_pool(rng: np.random.Generator, attributes: dict[str, Any]) -> None:
    agrees(
        model(["N", *SHAPE], [node("MaxPool", ["x"], "y", **attributes)]), floats(rng, 2, *SHAPE)
    )


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("attributes", POOLS, ids=str)
def test_average_pool(rng: np.random.Generator, attributes: dict[str, Any], counted: int) -> None:
    nodes = [node("AveragePool", ["x"], "y", count_include_pad=counted, **attributes)]
    agrees(model(["N", *SHAPE], nodes), floats(rng, 2, *SHAPE))


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pools(rng: np.random.Generator, kind: str) -> None:
    agrees(model(["N", *SHAPE], [node(kind, ["x"], "y")]), floats(rng, 2, *SHAPE))


@pytest.mark.parametrize("keep", [0, 1])
def test_mean_over_rows_and_columns(rng: np.random.Generator, keep: int) -> None:
    tensors: Tensors = {"axes": np.array([-1, 2])}
    nodes = [node("ReduceMean", ["x", "axes"], "y", keepdims=keep)]
    agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 2, *SHAPE))


def test_option_a_shortcut(rng: np.random.Generator) -> None:
    tensors: Tensors = {
        "starts": np.array([0, 0]),
        "ends": np.array([2**31, 2**31]),
        "axes": np.array([2, 3]),
        "steps": np.array([2, 2]),
        "pads": np.array([0, 1, 0, 0, 0, 2, 0, 0]),
        "w": floats(rng, 6, 3, 3, 3),
    }
    nodes = [
        node("Relu", ["x"], "a"),
        node("Slice", ["a", "starts", "ends", "axes", "steps"], "s"),
        node("Pad", ["s", "pads"], "p"),
        node("Conv", ["a", "w"], "c", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Add", ["c", "p"], "y"),
    ]
    agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 2, *SHAPE), 1e-4)


def test_slices_and_concat(rng: np.random.Generator) -> None:
    tensors: Tensors = {"one": np.array([1]), "three": np.array([3]), "first": np.array([1])}
    nodes = [
        node("Slice", ["x", "one", "three", "first"], "s"),
        node("Relu", ["x"], "r"),
        node("Concat", ["r", "s"], "y", axis=1),
    ]
    agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 2, *SHAPE))


def test_padding_goes_into_the_convolution(rng: np.random.Generator) -> None:
    tensors: Tensors = {
        "pads": np.array([0, 0, 1, 2, 0, 0, 1, 0]),
        "w": floats(rng, 2, 3, 3, 3),
    }
    nodes = [node("Pad", ["x", "pads"], "p"), node("Conv", ["p", "w"], "y")]
    graph = agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 2, *SHAPE))
    assert not any(isinstance(n, Window) for n in graph.nodes)


def test_residuals_and_arithmetic(rng: np.random.Generator) -> None:
    tensors: Tensors = {
        "w": floats(rng, 3, 3, 1, 1),
        "c": floats(rng, 3, 1, 1),
        "two": np.float32(2),
    }
    nodes = [
        node("Conv", ["x", "w"], "a"),
        node("Relu", ["a"], "r"),
        node("Conv", ["r", "w"], "b"),
        node("Sub", ["b", "r"], "d"),
        node("Mul", ["d", "c"], "e"),
        node("Sub", ["c", "e"], "f"),
        node("Div", ["f", "two"], "g"),
        node("Max", ["g", "r"], "h"),
        node("Min", ["h", "b"], "i"),
        node("Relu", ["i"], "y"),
    ]
    agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 4, *SHAPE), 1e-4)


def test_input_scaling_becomes_the_inputs_own(rng: np.random.Generator) -> None:
    tensors: Tensors = {
        "mean": floats(rng, 3, 1, 1),
        "std": np.abs(floats(rng, 1, 3, 1, 1)) + 0.5,
    }
    tensors["w"] = floats(rng, 2, 3, 3, 3)
    nodes = [
        node("Sub", ["x", "mean"], "a"),
        node("Div", ["a", "std"], "b"),
        node("Conv", ["b", "w"], "y", pads=[1, 1, 1, 1]),
    ]
    graph = agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 2, *SHAPE), 1e-4)
    assert [type(n) for n in graph.nodes] == [Input, Conv]
    np.testing.assert_allclose(graph.input.mean, tensors["mean"].ravel(), rtol=1e-5)


def test_softmax_and_sigmoid_at_the_end_are_the_clients(rng: np.random.Generator) -> None:
    tensors: Tensors = {"w": floats(rng, 4, 6)}
    for kind in ("Softmax", "LogSoftmax", "Sigmoid"):
        made = model(["N", 4], [node("MatMul", ["x", "w"], "a"), node(kind, ["a"], "y")], tensors)
        graph = agrees(made, floats(rng, 3, 4))
        assert [type(n) for n in graph.nodes] == [Input, Dense]


def qdq(name: str, source: str, scale: str, zero: str) -> list[onnx.NodeProto]:
    """The pair of nodes around a value."""
    return [
        node("QuantizeLinear", [source, scale, zero], f"{name}_q"),
        node("DequantizeLinear", [f"{name}_q", scale, zero], name),
    ]


def test_qdq(rng: np.random.Generator) -> None:
    tensors: Tensors = {
        "s": np.float32(0.05), "z": np.int8(0), "u": np.float32(0.03), "v": np.uint8(10),
        "w": rng.integers(-127, 128, (4, 3, 3, 3), dtype=np.int8),
        "ws": np.abs(floats(rng, 4)) / 100, "wz": np.zeros(4, np.int8),
        "b": rng.integers(-2000, 2000, 4, dtype=np.int32),
        "bs": np.full(4, 1e-3, np.float32), "bz": np.zeros(4, np.int32),
    }  # fmt: skip
    nodes = [
        *qdq("a", "x", "s", "z"),
        node("DequantizeLinear", ["w", "ws", "wz"], "wd", axis=0),
        node("DequantizeLinear", ["b", "bs", "bz"], "bd", axis=0),
        node("Conv", ["a", "wd", "bd"], "c", pads=[1, 1, 1, 1]),
        *qdq("d", "c", "s", "z"),
        node("Relu", ["d"], "e"),
        *qdq("f", "e", "u", "v"),
        node("GlobalAveragePool", ["f"], "y"),
    ]
    graph = agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 4, *SHAPE), 2e-3)
    assert [type(n) for n in graph.nodes] == [Input, Conv, Activation, Window]
    assert graph.input.grid is not None
    assert graph.input.grid.scale == pytest.approx(0.05)
    conv = graph.nodes[1]
    assert isinstance(conv, Conv)
    assert conv.steps is not None
    np.testing.assert_allclose(conv.steps, tensors["ws"], rtol=1e-6)


@pytest.mark.parametrize("domain", [QONNX, "onnx.brevitas", "finn.custom_op.general"])
def test_qonnx(rng: np.random.Generator, domain: str) -> None:
    tensors: Tensors = {
        "s": np.float32(0.1), "z": np.float32(0), "four": np.float32(4),
        "w": floats(rng, 8, 3, 1, 1),
        "ws": np.abs(floats(rng, 8, 1, 1, 1)) / 4, "b": floats(rng, 2, 8, 1, 1),
    }  # fmt: skip
    nodes = [
        node("Quant", ["w", "ws", "z", "four"], "wq", domain=domain, signed=1, narrow=1),
        node("Conv", ["x", "wq"], "c"),
        node("Relu", ["c"], "r"),
        node("Quant", ["r", "s", "z", "four"], "q", domain=domain, signed=0, narrow=0),
        node("BipolarQuant", ["b", "s"], "bq", domain=domain),
        node("Conv", ["q", "bq"], "y"),
    ]
    x = floats(rng, 3, *SHAPE)
    graph = from_model(model(["N", *SHAPE], nodes, tensors))
    steps = tensors["ws"]
    weights = np.clip(np.rint(tensors["w"] / steps), -7, 7) * steps
    hidden = np.einsum("kc,nchw->nkhw", weights[:, :, 0, 0], x)
    hidden = np.clip(np.rint(np.maximum(hidden, 0) / 0.1), 0, 15) * 0.1
    last = np.where(tensors["b"][:, :, 0, 0] >= 0, 0.1, -0.1)
    expected = np.einsum("kc,nchw->nkhw", last, hidden)
    np.testing.assert_allclose(graph.evaluate(x), expected, rtol=1e-3, atol=1e-3)
    function = graph.nodes[2]
    assert isinstance(function, Activation)
    grid = function.function.grid()
    assert grid is not None
    assert (grid.lo, grid.hi) == (0, 15)


def test_shared_values_stay_shared(rng: np.random.Generator) -> None:
    tensors: Tensors = {"w": floats(rng, 3, 3, 1, 1)}
    nodes = [
        node("Conv", ["x", "w"], "a"),
        node("Add", ["a", "x"], "s"),
        node("Relu", ["s"], "r"),
        node("Add", ["s", "r"], "y"),
    ]
    graph = agrees(model(["N", *SHAPE], nodes, tensors), floats(rng, 2, *SHAPE))
    assert sum(isinstance(n, Add) for n in graph.nodes) == 1
