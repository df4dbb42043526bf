"""The ends of models without ONNX: read and computed as ONNX does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from palladion.nn.ends.end_functions import FUNCTIONS, evaluate, lacking
from palladion.nn.ends.small_onnx import read_model
from palladion.nn.ends.tail import INPUT, Tail

X = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
Y = np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32)
TRUE = Y > 0


def model_of(nodes: list[onnx.NodeProto], opset: int = 18, **constants: Any) -> bytes:
    """A model of INPUT, with constants, whose output is ``y``."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return bytes(made.SerializeToString())


def node(op: str, *operands: str, **attributes: Any) -> onnx.NodeProto:
    """An operator of INPUT and constants."""
    return helper.make_node(op, [INPUT, *operands], ["y"], **attributes)


CASES: dict[str, bytes] = {
    **{op: model_of([node(op, "c")], c=Y) for op in ("Add", "Sub", "Mul", "Div", "Equal", "Greater",
       "GreaterOrEqual", "Less", "LessOrEqual")},
    **{op: model_of([node(op)]) for op in ("Exp", "Identity", "Neg", "Relu", "Sigmoid", "Softmax",
       "LogSoftmax", "Flatten", "Transpose")},
    "And": model_of([helper.make_node("Less", [INPUT, "c"], ["b"]),
                     helper.make_node("And", ["b", "t"], ["y"])], c=Y, t=TRUE),
    "Or": model_of([helper.make_node("Less", [INPUT, "c"], ["b"]),
                    helper.make_node("Or", ["b", "t"], ["y"])], c=Y, t=TRUE),
    "Not": model_of([helper.make_node("Less", [INPUT, "c"], ["b"]),
                     helper.make_node("Not", ["b"], ["y"])], c=Y),
    "Where": model_of([helper.make_node("Where", ["t", INPUT, "c"], ["y"])], c=Y, t=TRUE),
    "MatMul": model_of([node("MatMul", "c")], c=Y.T.copy()),
    "ArgMax": model_of([node("ArgMax", axis=1, keepdims=0)]),
    "Concat": model_of([node("Concat", "c", axis=1)], c=Y),
    "Gather": model_of([helper.make_node("ArgMax", [INPUT], ["i"], axis=1, keepdims=0),
                        helper.make_node("Gather", ["c", "i"], ["y"])],
                       c=np.array(["a", "b", "c", "d"], object)),
    "Reshape": model_of([node("Reshape", "c")], c=np.array([0, 2, -1])),
    "Unsqueeze": model_of([node("Unsqueeze", "c")], c=np.array([1])),
    "Squeeze": model_of([helper.make_node("Unsqueeze", [INPUT, "c"], ["u"]),
                         helper.make_node("Squeeze", ["u", "c"], ["y"])], c=np.array([1])),
    "Cast": model_of([node("Cast", to=TensorProto.INT64)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_functions_are_those_of_onnx(name: str) -> None:
    model = read_model(CASES[name])
    assert not lacking(model)
    (found,) = evaluate(model, X)
    (expected,) = ReferenceEvaluator(CASES[name]).run(None, {INPUT: X})
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        assert found.tolist() == expected.tolist()


def test_every_function_has_a_case() -> None:
    assert {*CASES} == {*FUNCTIONS, "Cast"}


def test_integers_are_divided_as_onnx_divides_them() -> None:
    model = model_of([helper.make_node("Cast", [INPUT], ["i"], to=TensorProto.INT64),
                      helper.make_node("Div", ["i", "c"], ["y"])], c=np.array(2))  # fmt: skip
    (found,) = evaluate(read_model(model), np.array([-3, 3, 4], np.float32))
    assert found.tolist() == [-1, 1, 2]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("raw", [False, True])
def test_constants_are_read_in_both_forms(kind: Any, raw: bool) -> None:
    values = np.array([[1, 0, 1], [0, 1, 1]]).astype(kind) * kind(1)
    element = helper.np_dtype_to_tensor_dtype(values.dtype)
    data = values.tobytes() if raw else values.reshape(-1).tolist()
    tensor = helper.make_tensor("c", element, values.shape, data, raw=raw)
    proto = onnx.ModelProto()
    proto.graph.initializer.append(tensor)
    found = read_model(proto.SerializeToString()).constants["c"]
    assert found.dtype == values.dtype
    assert np.array_equal(found, values)


def test_attributes_of_all_kinds_are_read() -> None:
    given = {"f": 1.5, "i": -2, "s": "text", "floats": [1.5, 2.5], "ints": [-1, 300, 1 << 40],
             "strings": ["a", "b"]}  # fmt: skip
    (read,) = read_model(model_of([node("Any", **given, t=numpy_helper.from_array(Y))])).nodes
    assert np.array_equal(read.attributes.pop("t"), Y)
    assert read.attributes == given


@pytest.mark.parametrize(
    "model",
    [
        model_of([node("Erf")]),
        model_of([node("Softmax", axis=1)], opset=11),
        model_of([node("ArgMax", axis=1, select_last_index=1)]),
        model_of([helper.make_node("Relu", [INPUT], ["y"], domain="ai.onnx.ml")]),
        model_of([node("Add", "missing")]),
        model_of([node("Cast", to=TensorProto.STRING)]),
    ],
)
def test_what_onnx_alone_computes_says_what_to_install(
    model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lacking(read_model(model))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(palladion.UsageError, match=r"needs onnx.*pip install 'palladion\[onnx\]'"):
        Tail(model).run(X)


def test_a_tail_without_onnx_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tail = Tail(CASES["Softmax"])
    expected = tail.run(X)["y"]
    monkeypatch.setitem(sys.modules, "onnx", None)
    np.testing.assert_allclose(Tail(tail.model).run(X)["y"], expected, rtol=1e-6)


def test_damaged_models_end_in_a_value_error() -> None:
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(4000):
        data = bytearray(CASES[rng.choice([*CASES])])
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            read_model(
                bytes(data[: rng.integers(len(data)) + 1]) if rng.random() < 0.5 else bytes(data)
            )
        except ValueError:
            refused += 1
    assert refused > 1000
