"""Every operator of the importer against ONNX's reference implementation, on random inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from palladion.nn.floats.graph import Activation, Conv, Graph, Input, MaxPool, Window
from palladion.nn.importer import from_model
from palladion.nn.importer.read import HANDLERS

from tests.models import Array, floats, model, node
from tests.test_importer import agrees

IMAGE = (3, 6, 4)
LINE = (4, 9)
VECTOR = (8,)


@dataclass(frozen=True)
class Case:
    """``kind`` of a value of ``shape``, then Conv's or MatMul's place taken by a Relu.

    ``held`` are its constants; ``first`` says that the constant stands before the value.
    """

    kind: str
    shape: tuple[int, ...]
    held: tuple[Any, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 20
    first: bool = False
    positive: bool = False

    def __str__(self) -> str:
        shapes = [np.shape(part) for part in self.held]
        return f"{self.kind} {self.shape} {shapes} {self.attributes} {self.opset}"


def check(case: Case, rng: np.random.Generator) -> Graph:
    """The operator between two functions, so that it is computed in the network."""
    names = [f"c{place}" for place in range(len(case.held))]
    inputs = [*names, "a"] if case.first else ["a", *names]
    tensors = dict(zip(names, case.held, strict=True))
    before = "Exp" if case.positive else "Identity"
    nodes = [
        node(before, ["x"], "a"),
        node(case.kind, inputs, "b", **case.attributes),
        node("Cast", ["b"], "d", to=TensorProto.FLOAT),
        node("Relu", ["d"], "e"),
        node("Neg", ["e"], "y"),
    ]
    made = model(["N", *case.shape], nodes, tensors, case.opset)
    return agrees(made, floats(rng, 3, *case.shape), 1e-4)


def ints(*numbers: int) -> Array:
    return np.array(numbers, dtype=np.int64)


def singles(*numbers: float) -> Array:
    return np.array(numbers, dtype=np.float32)


def numbers(*shape: int) -> Array:
    """Constants that no two of are alike."""
    count = int(np.prod(shape))
    return (1.5 + np.arange(count) / count).astype(np.float32).reshape(shape)


FUNCTIONS = [
    Case(kind, LINE)
    for kind in (
        "Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Softplus", "Softsign", "Abs", "Neg", "Sign",
        "Floor", "Ceil", "Round", "Mish", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh",
        "HardSwish", "LeakyRelu", "ThresholdedRelu", "Elu", "Selu", "Celu", "Shrink",
        "HardSigmoid", "Gelu", "Reciprocal", "Clip",
    )
] + [
    *(Case(kind, LINE, positive=True) for kind in ("Log", "Sqrt")),
    Case("ThresholdedRelu", LINE, attributes={"alpha": 0.4}),
    Case("Celu", LINE, attributes={"alpha": 2.0}),
    Case("Shrink", LINE, attributes={"lambd": 0.3, "bias": 0.1}),
    Case("Selu", LINE, attributes={"alpha": 1.5, "gamma": 1.2}),
    Case("Swish", LINE, attributes={"alpha": 1.3}, opset=24),
    Case("Clip", LINE, (np.float32(-0.5), np.float32(0.7))),
    Case("PRelu", IMAGE, (singles(0.1),)),
    Case("PRelu", IMAGE, (numbers(3, 1, 1),)),
    Case("PRelu", VECTOR, (numbers(8),)),
    Case("Cast", LINE, attributes={"to": TensorProto.INT32}),
    Case("Cast", LINE, attributes={"to": TensorProto.BOOL}),
    Case("Cast", LINE, attributes={"to": TensorProto.DOUBLE}),
    Case("Cast", LINE, attributes={"to": TensorProto.BFLOAT16}),
    Case("CastLike", LINE, (np.int8(0),)),
    *(Case("Pow", LINE, (np.float32(e),)) for e in (2, 3, 4, -1)),
    *(Case("Pow", LINE, (np.float32(e),), positive=True) for e in (0.5, 1.7, -0.5)),
    Case("Pow", LINE, (np.float32(1.3),), first=True),
    Case("Mod", LINE, (np.float32(0.7),), {"fmod": 1}),
]  # fmt: skip

ARITHMETIC = [
    Case(kind, shape, (constant,), first=first)
    for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "LessOrEqual", "Equal")
    for shape, constant in (
        (IMAGE, np.float32(1.7)),
        (IMAGE, numbers(1, 3, 1, 1)),
        (IMAGE, numbers(4)),
        (LINE, numbers(4, 1)),
        (LINE, numbers(9)),
        (VECTOR, numbers(1, 8)),
        ((3, 1, 4), numbers(6, 1)),
    )
    for first in (False, True)
] + [
    Case("Sum", IMAGE, (numbers(3, 1, 1), np.float32(2))),
    Case("Mean", IMAGE, (numbers(3, 1, 1), np.float32(2))),
    Case("Max", IMAGE, (np.float32(0.1), np.float32(0.2))),
    Case("Where", IMAGE, (np.arange(4) % 2 > 0, numbers(4)), first=True),
]

MOVES = [
    Case("Transpose", IMAGE, attributes={"perm": [0, 2, 3, 1]}),
    Case("Transpose", LINE, attributes={"perm": [0, 2, 1]}),
    Case("Reshape", IMAGE, (ints(0, 2, -1, 4),)),
    Case("Flatten", LINE),
    Case("Squeeze", (3, 1, 4), (ints(2),)),
    Case("Unsqueeze", LINE, (ints(1, -1),)),
    Case("Slice", LINE, (ints(1), ints(-1), ints(2), ints(2))),
    Case("Slice", IMAGE, (ints(-1, 5), ints(-10, 0), ints(1, 2), ints(-1, -2))),
    Case("Gather", LINE, (ints(2, 0, 2),), {"axis": 2}),
    Case("Gather", IMAGE, (ints(1)[0],), {"axis": 1}),
    Case("Expand", (3, 1, 4), (ints(1, 3, 2, 4),)),
    Case("Tile", LINE, (ints(1, 2, 3),)),
    Case("Pad", LINE, (ints(0, 0, 2, 0, 1, 1),)),
    Case("Pad", LINE, (ints(0, 0, 2, 0, 1, 1), np.float32(0.5))),
    Case("Pad", IMAGE, (ints(0, 0, 1, 2, 0, 0, 2, 1),), {"mode": "reflect"}),
    Case("Pad", IMAGE, (ints(0, 0, 1, 2, 0, 0, 2, 1),), {"mode": "edge"}),
    Case("DepthToSpace", (8, 2, 3), attributes={"blocksize": 2}),
    Case("SpaceToDepth", IMAGE, attributes={"blocksize": 2}),
    Case("Resize", IMAGE, (singles(), singles(1, 1, 2, 3)), {"mode": "nearest"}),
    Case("Resize", IMAGE, (singles(), singles(1, 1, 2, 2)), {"mode": "linear"}),
    Case("Upsample", IMAGE, (singles(1, 1, 2, 2),), {"mode": "nearest"}, 9),
    Case("Trilu", (4, 4), attributes={"upper": 0}),
    Case("CenterCropPad", IMAGE, (ints(4, 2),), {"axes": [2, 3]}),
    Case("Compress", LINE, (np.arange(9) % 2 > 0,), {"axis": 2}),
    Case("CumSum", LINE, (np.array(2),)),
    Case("Dropout", LINE),
    Case("Identity", LINE),
]

REDUCTIONS = [
    Case(kind, shape, (ints(*axes),), {"keepdims": keep}, positive=True)
    for kind in ("ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
                 "ReduceLogSumExp", "ReduceMax", "ReduceMin", "ReduceSum")
    for shape, axes, keep in (
        (IMAGE, (2, 3), 0), (IMAGE, (-1,), 1), (IMAGE, (1,), 1), (IMAGE, (1, 2), 0),
        (LINE, (2,), 0), (LINE, (1,), 1), (VECTOR, (1,), 1), (VECTOR, (1,), 0),
    )
] + [
    Case("ReduceMean", IMAGE, attributes={"axes": [2, 3]}, opset=11),
    Case("ReduceSum", LINE, (ints(),), {"noop_with_empty_axes": 1}),
]  # fmt: skip

POOLS = [
    Case(kind, shape, (), {**attributes, **more})
    for kind, more in (("MaxPool", {}), ("AveragePool", {}),
                       ("AveragePool", {"count_include_pad": 1}), ("LpPool", {}),
                       ("LpPool", {"p": 1}))
    for shape, attributes in (
        (LINE, {"kernel_shape": [2], "strides": [2]}),
        (LINE, {"kernel_shape": [3], "dilations": [2]}),
        (IMAGE, {"kernel_shape": [2, 3], "strides": [2, 1]}),
    )
] + [
    Case("AveragePool", LINE, attributes={"kernel_shape": [3], "pads": [1, 1]}),
    Case("AveragePool", LINE,
         attributes={"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}),
    Case("GlobalMaxPool", IMAGE),
    *(Case("GlobalAveragePool", shape) for shape in (LINE, IMAGE)),
]  # fmt: skip

LINEAR = [
    Case("Conv", LINE, (numbers(6, 4, 3), numbers(6)), {"pads": [1, 1]}),
    Case("Conv", LINE, (numbers(4, 1, 3),), {"group": 4, "strides": [2], "dilations": [2]}),
    Case("Conv", LINE, (numbers(6, 4, 3),), {"auto_pad": "SAME_UPPER"}),
    Case("ConvTranspose", LINE, (numbers(4, 2, 3), numbers(2)), {"strides": [2]}),
    Case("ConvTranspose", IMAGE, (numbers(3, 2, 3, 2),), {"pads": [1, 0, 1, 1]}),
    Case("ConvTranspose", IMAGE, (numbers(3, 2, 2, 2),), {"strides": [2, 2]}),
    Case("ConvTranspose", (6, 1, 1), (numbers(6, 2, 4, 4),), {"strides": [2, 2]}),
    Case("ConvTranspose", LINE, (numbers(4, 2, 3),),
         {"strides": [2], "output_padding": [1], "pads": [1, 1]}),
    Case("MatMul", VECTOR, (numbers(8, 3),)),
    Case("MatMul", LINE, (numbers(9, 5),)),
    Case("MatMul", LINE, (numbers(5, 4),), first=True),
    Case("MatMul", IMAGE, (numbers(4, 2),)),
    Case("MatMul", IMAGE, (numbers(3, 4, 2),)),
    Case("Gemm", VECTOR, (numbers(8, 3), numbers(3)), {"alpha": 0.5, "beta": 2.0}),
    Case("Gemm", VECTOR, (numbers(3, 8), numbers(1)), {"transB": 1}),
    *(Case("BatchNormalization", shape, (numbers(n), numbers(n), numbers(n), numbers(n)))
      for shape, n in ((VECTOR, 8), (LINE, 4), (IMAGE, 3))),
    *(Case(kind, shape, attributes={"axis": axis}, opset=opset)
      for kind in ("Softmax", "LogSoftmax")
      for shape, axis, opset in ((VECTOR, 1, 20), (LINE, 1, 20), (LINE, 2, 20), (IMAGE, 1, 20),
                                 (LINE, -1, 11))),
]  # fmt: skip

ALL = [*FUNCTIONS, *ARITHMETIC, *MOVES, *REDUCTIONS, *POOLS, *LINEAR]


@pytest.mark.parametrize("case", ALL, ids=str)
def test_operator(rng: np.random.Generator, case: Case) -> None:
    check(case, rng)


@pytest.mark.parametrize("shape", [LINE, IMAGE], ids=str)
def test_global_pools_that_the_reference_lacks(
    rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    """It has no GlobalLpPool, and a GlobalMaxPool for rank 4 only."""
    x = floats(rng, 3, *shape)
    axes = tuple(range(2, x.ndim))
    for kind, expected in (
        ("GlobalMaxPool", x.max(axis=axes, keepdims=True)),
        ("GlobalLpPool", np.sqrt((x**2).sum(axis=axes, keepdims=True))),
    ):
        found = from_model(model(["N", *shape], [node(kind, ["x"], "y")])).outputs(x)["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_gathers_with_the_batch_written_in(rng: np.random.Generator) -> None:
    tensors = {"i": ints(0, 3, 1, 2).reshape(1, 2, 2), "j": ints(1, 0, 0, 2).reshape(1, 2, 2)}
    for gather in (
        node("GatherElements", ["x", "i"], "g", axis=2),
        node("GatherND", ["x", "j"], "g", batch_dims=1),
    ):
        nodes = [gather, node("Relu", ["g"], "e"), node("Neg", ["e"], "y")]
        agrees(model([1, 2, 4], nodes, tensors), floats(rng, 1, 2, 4))


def test_softmax_before_opset_13_is_over_all_from_its_axis_on(rng: np.random.Generator) -> None:
    """The reference takes the definition of opset 13 for all."""
    nodes = [node("Softmax", ["x"], "s", axis=1), node("Neg", ["s"], "y")]
    x = floats(rng, 3, *IMAGE)
    found = from_model(model(["N", *IMAGE], nodes, opset=11), keep_softmax=True).outputs(x)["y"]
    powers = np.exp(x.reshape(3, -1))
    expected = -(powers / powers.sum(axis=1, keepdims=True)).reshape(x.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


OF_TWO = ["Add", "Sub", "Mul", "Max", "Min", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
          "Equal", "And", "Or", "Xor"]  # fmt: skip


@pytest.mark.parametrize("kind", OF_TWO)
@pytest.mark.parametrize("order", ["same", "turned", "wide", "part"])
def test_two_values(rng: np.random.Generator, kind: str, order: str) -> None:
    """Values of different nodes, in one order and in others, and broadcast."""
    tensors = {
        "v": floats(rng, 3, 3, 1, 1), "w": floats(rng, 3, 3, 1, 1), "axes": ints(2),
        "one": ints(1), "three": ints(3), "axis": ints(1),
    }  # fmt: skip
    other = {
        "same": node("Identity", ["q"], "r"),
        "turned": node("Transpose", ["q"], "r", perm=[0, 1, 3, 2]),
        "wide": node("ReduceMean", ["q", "axes"], "r"),
        "part": node("Slice", ["q", "one", "three", "axis"], "r"),
    }[order]
    first = node("Slice", ["p", "one", "three", "axis"], "s") if order == "part" else node(
        "Identity", ["p"], "s")  # fmt: skip
    nodes = [node("Conv", ["x", "v"], "p"), node("Conv", ["x", "w"], "q"), other, first]
    if kind in ("And", "Or", "Xor"):
        nodes += [node("Cast", [name], f"{name}b", to=TensorProto.BOOL) for name in ("s", "r")]
    else:
        nodes += [node("Identity", [name], f"{name}b") for name in ("s", "r")]
    nodes += [
        node(kind, ["sb", "rb"], "b"),
        node("Cast", ["b"], "d", to=TensorProto.FLOAT),
        node("Relu", ["d"], "e"),
        node("Neg", ["e"], "y"),
    ]
    agrees(model(["N", 3, 5, 5], nodes, tensors), floats(rng, 3, 3, 5, 5), 1e-4)


@pytest.mark.parametrize("shape", [VECTOR, LINE, IMAGE], ids=str)
def test_concat_and_split(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """Along each axis: of parts of one value, of two values, and with a constant."""
    for axis in range(1, len(shape) + 1):
        size = shape[axis - 1]
        constant = np.ones((1, *shape), np.float32)
        constant = constant.take([0], axis)
        split = node("Split", ["x", "sizes"], "s", axis=axis)
        split.output.append("t")
        nodes = [
            split,
            node("Relu", ["t"], "u"),
            node("Concat", ["u", "s", "t", "c"], "b", axis=axis),
            node("Relu", ["b"], "e"),
            node("Neg", ["e"], "y"),
        ]
        tensors = {"sizes": ints(1, size - 1), "c": constant}
        agrees(model([1, *shape], nodes, tensors), floats(rng, 1, *shape), 1e-4)


def test_choices_by_comparison(rng: np.random.Generator) -> None:
    tensors = {"w": floats(rng, 4, 4, 1), "zero": np.float32(0), "half": np.float32(0.5)}
    for left, right in (("x", "half"), ("zero", "x"), ("p", "x"), ("zero", "half"), ("p", "half")):
        nodes = [
            node("Conv", ["x", "w"], "p"),
            node("Greater", ["x", "half"], "g"),
            node("Where", ["g", left, right], "b"),
            node("Relu", ["b"], "e"),
            node("Neg", ["e"], "y"),
        ]
        agrees(model(["N", *LINE], nodes, tensors), floats(rng, 3, *LINE), 1e-4)


def test_choices_by_a_mask_of_two_values(rng: np.random.Generator) -> None:
    mask = rng.normal(size=LINE) > 0
    tensors = {"w": floats(rng, 4, 4, 1), "mask": mask}
    for other in ("p", "t"):
        nodes = [
            node("Conv", ["x", "w"], "p"),
            node("Relu", ["x"], "t"),
            node("Where", ["mask", "t", other], "b"),
            node("Abs", ["b"], "e"),
            node("Neg", ["e"], "y"),
        ]
        agrees(model(["N", *LINE], nodes, tensors), floats(rng, 3, *LINE), 1e-4)


def kinds(graph: Graph) -> list[type]:
    return [type(n) for n in graph.nodes]


def test_moves_are_windows_where_they_can_be(rng: np.random.Generator) -> None:
    """Nothing but what the encrypted side does cheaply stands for a cut, pads or a spread."""
    tensors = {"a": ints(1), "b": ints(5), "axis": ints(2), "step": ints(2)}
    nodes = [
        node("Relu", ["x"], "r"),
        node("Slice", ["r", "a", "b", "axis", "step"], "s"),
        node("Sigmoid", ["s"], "t"),
        node("GlobalMaxPool", ["t"], "y"),
    ]
    graph = agrees(model(["N", *IMAGE], nodes, tensors), floats(rng, 2, *IMAGE))
    assert kinds(graph) == [Input, Activation, Window, MaxPool]


def test_a_convolution_takes_its_arrangement_from_the_input(rng: np.random.Generator) -> None:
    """(N, C, L), (N, L, C) and (N, H, W) with what turns them, without a node for that."""
    for shape, before in (
        ((4, 9), []),
        ((9, 4), [node("Transpose", ["x"], "t", perm=[0, 2, 1])]),
    ):
        tensors = {"w": floats(rng, 5, 4, 3)}
        nodes = [*before, node("Conv", ["t" if before else "x", "w"], "y")]
        graph = agrees(model(["N", *shape], nodes, tensors), floats(rng, 2, *shape), 1e-4)
        assert kinds(graph) == [Input, Conv]
        assert graph.input.shape == (4, 1, 9)
    tensors = {"w": floats(rng, 5, 1, 3, 3), "axis": ints(1)}
    nodes = [node("Unsqueeze", ["x", "axis"], "t"), node("Conv", ["t", "w"], "y")]
    graph = agrees(model(["N", 9, 8], nodes, tensors), floats(rng, 2, 9, 8), 1e-4)
    assert kinds(graph) == [Input, Conv]
    assert graph.input.shape == (1, 9, 8)


def test_chosen_channels_become_part_of_the_convolution(rng: np.random.Generator) -> None:
    """Channels shuffled as ShuffleNet does, and axes turned before a pointwise convolution."""
    tensors = {
        "w": floats(rng, 5, 4, 3, 3), "a": ints(0, 2, 2, 6, 5), "b": ints(0, 4, 6, 5),
        "v": floats(rng, 6, 3),
    }  # fmt: skip
    shuffled = [
        node("Relu", ["x"], "r"),
        node("Reshape", ["r", "a"], "s"),
        node("Transpose", ["s"], "t", perm=[0, 2, 1, 3, 4]),
        node("Reshape", ["t", "b"], "u"),
        node("Conv", ["u", "w"], "y"),
    ]
    graph = agrees(model(["N", 4, 6, 5], shuffled, tensors), floats(rng, 2, 4, 6, 5), 1e-4)
    assert kinds(graph) == [Input, Activation, Conv]
    turned = [
        node("MaxPool", ["x"], "m", kernel_shape=[2, 2]),
        node("Relu", ["m"], "r"),
        node("Transpose", ["r"], "t", perm=[0, 1, 3, 2]),
        node("MatMul", ["t", "v"], "y"),
    ]
    graph = agrees(model(["N", 1, 7, 6], turned, tensors), floats(rng, 2, 1, 7, 6), 1e-4)
    assert kinds(graph) == [Input, MaxPool, Activation, Conv]


def test_padded_maximum_of_values_below_0(rng: np.random.Generator) -> None:
    """The importer leaves it to quantisation to keep padding from winning."""
    tensors = {"w": floats(rng, 3, 3, 1, 1)}
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    nodes = [
        node("Conv", ["x", "w"], "c"),
        node("Tanh", ["c"], "t"),
        node("MaxPool", ["t"], "p", **pads),
        node("Conv", ["p", "w"], "y"),
    ]
    graph = agrees(model(["N", *IMAGE], nodes, tensors), floats(rng, 2, *IMAGE), 1e-4)
    assert kinds(graph) == [Input, Conv, Activation, MaxPool, Conv]


def test_every_handler_is_tested() -> None:
    """Here, in ONNX's own cases or, of the quantisers, in test_importer."""
    here = {case.kind for case in ALL} | set(OF_TWO) | {"Concat", "Split", "Where"}
    quantisers = {"Quant", "BipolarQuant", "QuantizeLinear", "DequantizeLinear"}
    alone = {"GlobalLpPool", "GatherElements", "GatherND"}
    backend = {"Acos", "Acosh", "Asin", "Atanh", "Not", "ReverseSequence"}
    learning = {"ArrayFeatureExtractor", "Binarizer"}
    assert set(HANDLERS) == here | quantisers | alone | backend | learning
