"""Models that the import refuses: errors name the node, the operator and the supported cases."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from palladion.errors import NetworkError
from palladion.nn.importer import from_model, load

from tests.models import QONNX, model, node

ONES = np.ones((3, 3, 3, 3), np.float32)
IMAGE: list[int | str] = ["N", 3, 7, 5]


def refused(made: onnx.ModelProto, *words: str) -> None:
    with pytest.raises(NetworkError) as error:
        from_model(made)
    for word in words:
        assert word in str(error.value)


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("LSTM", {"inputs": ["x", "w", "w"]}, ["recurrence is out of reach", "Conv"]),
    ("LRN", {"inputs": ["x"], "size": 3}, ["out of reach", "BatchNormalization"]),
    ("ArgMax", {"inputs": ["r"]}, ["at the end of a model"]),
    ("ConvInteger", {"inputs": ["x", "w"]}, ["QDQ form"]),
    ("Col2Im", {"inputs": ["x", "flat", "flat"]}, ["docs/operators.md"]),
    ("Pow", {"inputs": ["r", "s"]}, ["functions of one value"]),
    ("Mul", {"inputs": ["x", "t"]}, ["do not fit each other"]),
    ("MatMul", {"inputs": ["r", "t"]}, ["attention", "out of reach", "constant"]),
    ("Conv", {"inputs": ["x", "v"]}, ["rank 2", "(N, C, L)"]),
    ("Conv", {"inputs": ["x", "r"]}, ["weights (input 1) that depend on the network's input"]),
    ("Conv", {"inputs": ["x", "w"], "group": 2}, ["groups"]),
    ("Conv", {"inputs": ["x", "w"], "kernel_shape": [9, 9]}, ["kernel_shape"]),
    ("Conv", {"inputs": ["x", "w"], "dilations": [9, 9]}, ["does not fit"]),
    ("Gemm", {"inputs": ["x", "v"], "transA": 1}, ["transA"]),
    ("Flatten", {"inputs": ["x"], "axis": 2}, ["batch axis"]),
    ("Transpose", {"inputs": ["x"], "perm": [1, 0, 2, 3]}, ["batch axis"]),
    ("Reshape", {"inputs": ["x", "flat"]}, ["batch axis"]),
    ("ReduceMean", {"inputs": ["x", "zero"]}, ["batch axis"]),
    ("Softmax", {"inputs": ["x"], "axis": 0}, ["batch axis"]),
    ("CumSum", {"inputs": ["x", "zero"]}, ["images of a batch"]),
    ("Add", {"inputs": ["x", "v"]}, ["does not fit"]),
    ("QuantizeLinear", {"inputs": ["x", "scales"]}, ["one value for all"]),
    ("Pow", {"inputs": ["x", "pixels"]}, ["one number for all"]),
    ("Cast", {"inputs": ["x"], "to": TensorProto.STRING}, ["strings"]),
]


@pytest.mark.parametrize(("kind", "given", "words"), CASES, ids=str)
def test_operators(kind: str, given: dict[str, Any], words: list[str]) -> None:
    tensors: dict[str, Any] = {
        "w": ONES, "v": np.ones((4, 2), np.float32), "flat": np.array([-1]),
        "pads": np.zeros(8, np.int64), "pixels": np.arange(35, dtype=np.float32).reshape(7, 5),
        "scales": np.arange(1, 4, dtype=np.float32), "zero": np.array(0),
    }  # fmt: skip
    inputs = given.pop("inputs") if "inputs" in given else []
    nodes = [
        node("Conv", ["x", "w"], "r"),
        node("Conv", ["x", "w"], "s"),
        node("Transpose", ["x"], "t", perm=[0, 2, 1, 3]),
        node(kind, inputs, "y_", **given),
        node("Conv", ["y_", "w"], "y"),  # so that nothing is left to the client
    ]
    given["inputs"] = inputs  # the case may run again
    refused(model(IMAGE, nodes, tensors), "y__node", kind, *words)


def test_several_inputs_and_outputs() -> None:
    made = model(IMAGE, [node("Relu", ["x"], "y")])
    made.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 3]))
    refused(made, "2 inputs (x, z)", "one")


@pytest.mark.parametrize("shape", [[], ["N", "F"], ["N", 3, "H", "W"]], ids=str)
def test_shapes_of_the_input(shape: list[int | str]) -> None:
    refused(model(shape, [node("Relu", ["x"], "y")]), "input x", "(N, C, H, W)")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite(bad: float) -> None:
    weights = ONES.copy()
    weights[1, 2, 0, 1] = bad
    refused(model(IMAGE, [node("Conv", ["x", "w"], "y")], {"w": weights}), "w", "NaN or infinite")


def test_constants_that_become_infinite() -> None:
    tensors: dict[str, Any] = {"a": ONES, "b": np.zeros((3, 3, 3, 3), np.float32)}
    nodes = [node("Div", ["a", "b"], "w"), node("Conv", ["x", "w"], "y")]
    with np.errstate(divide="ignore"):
        refused(model(IMAGE, nodes, tensors), "y_node", "w", "NaN or infinite")


def test_cycle() -> None:
    nodes = [node("Add", ["x", "b"], "a"), node("Relu", ["a"], "b"), node("Relu", ["b"], "y")]
    refused(model(IMAGE, nodes), "circles")


def test_output_that_nothing_gives() -> None:
    refused(model(IMAGE, [node("Relu", ["x"], "a")]), "y")


def test_quantised_without_its_pair() -> None:
    tensors: dict[str, Any] = {"s": np.float32(0.1), "z": np.int8(0)}
    nodes = [node("QuantizeLinear", ["x", "s", "z"], "q"), node("Relu", ["q"], "y")]
    refused(model(IMAGE, nodes, tensors), "QDQ")


def test_rounding_mode() -> None:
    tensors: dict[str, Any] = {"s": np.float32(0.1), "z": np.float32(0), "b": np.float32(4)}
    nodes = [node("Quant", ["x", "s", "z", "b"], "y", domain=QONNX, rounding_mode="DITHER")]
    refused(model(IMAGE, nodes, tensors), "DITHER", "ROUND")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(NetworkError, match="missing"):
        load(path)
    made = model(IMAGE, [node("Conv", ["x", "w"], "y")], {"w": ONES})
    whole = made.SerializeToString()
    for content in (b"", b"no model", whole[: len(whole) // 2], whole[:-40]):
        path.write_bytes(content)
        with pytest.raises(NetworkError):
            load(path)
    with pytest.raises(NetworkError, match="cannot read"):
        load(tmp_path)
    path.write_bytes(whole)
    assert load(path).name == "model"


def test_damaged_files_end_in_our_error(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "model.onnx"
    nodes = [node("Conv", ["x", "w"], "c"), node("Flatten", ["c"], "f"), node("Relu", ["f"], "y")]
    whole = bytearray(model(IMAGE, nodes, {"w": ONES}).SerializeToString())
    for _ in range(300):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), 3):
            changed[place] = rng.integers(0, 256)
        path.write_bytes(bytes(changed))
        with contextlib.suppress(NetworkError):  # any other error fails the test
            load(path)


def test_weights_in_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    made = model(IMAGE, [node("Conv", ["x", "w"], "y")], {"w": np.ones((9, 3, 3, 3), np.float32)})
    onnx.save(made, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    assert load(path).nodes
    (tmp_path / "w.bin").unlink()
    with pytest.raises(NetworkError, match=r"w\.bin"):
        load(path)


def test_sparse_tensors() -> None:
    made = model(IMAGE, [node("Relu", ["x"], "y")])
    values = numpy_helper.from_array(np.ones(1, np.float32), "s")
    indices = numpy_helper.from_array(np.zeros(1, np.int64), "i")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    refused(made, "sparse")
