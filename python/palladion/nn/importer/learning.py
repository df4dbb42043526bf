"""Linear operators of scikit-learn's exports (domain ai.onnx.ml) as ONNX's own.

They join several steps in one: scores, probabilities and labels. Written out, scores are a matrix
product like any other, and what follows them is the client's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isnan
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.importer.context import Array

DOMAIN: Final = "ai.onnx.ml"
TRANSFORMS: Final = {"NONE": "Identity", "LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}
"""Functions of scores, and ONNX's own operators that they are."""


class Writer:
    """The nodes and constants that one node becomes."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self.node = node
        self.name = node.name or node.output[0]
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.attributes: dict[str, Any] = {
            a.name: helper.get_attribute_value(a) for a in node.attribute
        }

    def fail(self, reason: str) -> NetworkError:
        return NetworkError(f"node {self.name} ({self.node.op_type}): {reason}")

    def numbers(self, name: str, default: Any = ()) -> Array:
        """An attribute of numbers."""
        return np.array(self.attributes.get(name, default), dtype=np.float32)

    def text(self, name: str, default: str) -> str:
        found = self.attributes.get(name, default.encode())
        return found.decode() if isinstance(found, bytes) else str(found)

    def constant(self, word: str, array: Array) -> str:
        name = f"{self.name}.{word}"
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """One node more; its output's name."""
        name = f"{self.name}.{len(self.nodes)}"
        made = helper.make_node(kind, inputs, [output or name], name=name, **attributes)
        self.nodes.append(made)
        return output or name

    def floats(self) -> str:
        """The first input as floats: these operators take integers too."""
        return self.add("Cast", [self.node.input[0]], to=TensorProto.FLOAT)


def scaler(w: Writer) -> None:
    """``(x - offset) * scale``."""
    offset, scale = (w.constant(name, w.numbers(name)) for name in ("offset", "scale"))
    apart = w.add("Sub", [w.floats(), offset])
    w.add("Mul", [apart, scale], w.node.output[0])


def product(w: Writer, weights: Array, bias: Array, output: str = "") -> str:
    """Scores: a matrix (outputs, features) times the features, and a bias."""
    held = [w.constant("weights", weights.T.copy()), w.constant("bias", bias)]
    scores = w.add("MatMul", [w.floats(), held[0]])
    return w.add("Add", [scores, held[1]], output)


def regressor(w: Writer) -> None:
    if w.text("post_transform", "NONE") != "NONE":
        raise w.fail(f"has post_transform {w.text('post_transform', '')}, supported is NONE")
    targets = int(w.attributes.get("targets", 1))
    bias = w.numbers("intercepts", [0.0] * targets)
    product(w, w.numbers("coefficients").reshape(targets, -1), bias, w.node.output[0])


def classifier(w: Writer) -> None:
    """Scores, their probabilities, and the label of the largest."""
    words = w.attributes.get("classlabels_strings") or []
    labels = np.array(words, dtype=np.str_) if words else np.array(
        w.attributes.get("classlabels_ints", []), dtype=np.int64)  # fmt: skip
    bias = w.numbers("intercepts")
    weights = w.numbers("coefficients")
    count = len(bias) or len(labels)
    weights = weights.reshape(count, -1)
    bias = bias if len(bias) else np.zeros(count, np.float32)
    if count == 1 and len(labels) == 2:  # one row of weights stands for both classes
        weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
    transform = w.text("post_transform", "NONE")
    if transform not in TRANSFORMS:
        raise w.fail(f"has post_transform {transform}, supported are {', '.join(TRANSFORMS)}")
    if len(weights) < 2 or len(weights) != len(labels):
        raise w.fail(f"has {len(weights)} scores for {len(labels)} labels, supported are as many "
                     "scores as labels, or one for two")  # fmt: skip
    scores = product(w, weights, bias)
    label, *probabilities = w.node.output
    named: dict[str, Any] = {"axis": 1} if transform == "SOFTMAX" else {}
    found = w.add(TRANSFORMS[transform], [scores], *probabilities[:1], **named)
    if label:
        place = w.add("ArgMax", [found], axis=1, keepdims=0)
        w.add("Gather", [w.constant("labels", labels), place], label, axis=0)


def imputer(w: Writer) -> None:
    """What takes the place of missing values: inputs of a network have none."""
    missing = w.attributes.get("replaced_value_float", float("nan"))
    if "replaced_value_int64" in w.attributes or not isnan(missing):
        raise w.fail(f"replaces the value {missing:g}, supported is NaN, which inputs never have")
    w.add("Identity", [w.node.input[0]], w.node.output[0])


def vectoriser(w: Writer) -> None:
    w.add("Concat", list(w.node.input), w.node.output[0], axis=1)


WRITERS: Final[dict[str, Callable[[Writer], None]]] = {
    "Scaler": scaler,
    "LinearRegressor": regressor,
    "LinearClassifier": classifier,
    "Imputer": imputer,
    "FeatureVectorizer": vectoriser,
}


def written_out(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with these operators written out.

    Raises
    ------
    NetworkError
        If one has a form that is not supported; the message names the node.
    """
    if not any(concerned(node) for node in model.graph.node):
        return model
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    for node in model.graph.node:
        found.graph.node.extend(replaced(node, found.graph))
    if not any(entry.domain in ("", "ai.onnx") for entry in found.opset_import):
        found.opset_import.append(helper.make_opsetid("", 13))
    return found


def concerned(node: onnx.NodeProto) -> bool:
    return node.domain == DOMAIN and node.op_type in WRITERS


def replaced(node: onnx.NodeProto, graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes in place of one; their constants go to the graph."""
    if not concerned(node):
        yield node
        return
    writer = Writer(node)
    try:
        WRITERS[node.op_type](writer)
    except (ValueError, TypeError, KeyError) as error:
        raise writer.fail(f"cannot be read: {type(error).__name__}: {error}") from error
    graph.initializer.extend(writer.tensors)
    yield from writer.nodes
