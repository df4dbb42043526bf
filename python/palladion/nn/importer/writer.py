"""The rewriting of an operator of several steps as ONNX's own nodes and their constants."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.importer.context import Array

DOMAIN: Final = "ai.onnx.ml"
TRANSFORMS: Final = {"NONE": "Identity", "LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}
"""Functions of scores, and the ONNX operators that compute them."""


class Writer:
    """The nodes and constants that replace one node."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self.node = node
        self.name = node.name or node.output[0]
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.attributes: dict[str, Any] = {
            a.name: helper.get_attribute_value(a) for a in node.attribute
        }
        self.tests: list[str] = []
        """Tensors of truth values that the client computes before encryption."""
        self.imputed: list[str] = []
        """Tensors without missing values, which the client computes before encryption."""
        self.largest: dict[str, float] = {}
        """Tensors with a known largest absolute value over all inputs."""

    def fail(self, reason: str) -> NetworkError:
        return NetworkError(f"node {self.name} ({self.node.op_type}): {reason}")

    def numbers(self, name: str, default: Any = ()) -> Array:
        """An attribute with numbers."""
        return np.array(self.attributes.get(name, default), dtype=np.float32)

    def whole(self, name: str) -> list[int]:
        """An attribute with integers."""
        return [int(number) for number in self.attributes.get(name, ())]

    def words(self, name: str) -> list[str]:
        """An attribute with words."""
        return [word.decode() for word in self.attributes.get(name, ())]

    def tensor(self, given: onnx.TensorProto) -> Array:
        found: Array = numpy_helper.to_array(given)
        return found

    def text(self, name: str, default: str) -> str:
        found = self.attributes.get(name, default.encode())
        return found.decode() if isinstance(found, bytes) else str(found)

    def constant(self, word: str, array: Array) -> str:
        name = f"{self.name}.{word}"
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(
        self, kind: str, inputs: list[str], output: str = "", word: str = "", **attributes: Any
    ) -> str:
        """Add a node, named after ``word``. Returns the name of its output."""
        name = f"{self.name}.{word or len(self.nodes)}"
        made = helper.make_node(kind, inputs, [output or name], name=name, **attributes)
        self.nodes.append(made)
        return output or name

    def floats(self) -> str:
        """The first input as floats. These operators also take integers."""
        return self.add("Cast", [self.node.input[0]], to=TensorProto.FLOAT)

    def labels(self) -> Array:
        """The names of classes, words or integers."""
        words = self.words("classlabels_strings")
        if words:
            return np.array(words, dtype=np.str_)
        given = self.whole("classlabels_int64s") or self.whole("classlabels_ints")
        return np.array(given, dtype=np.int64)


def transformed(w: Writer, scores: str, transform: str, output: str = "") -> str:
    """A function of the scores."""
    if transform not in TRANSFORMS:
        known = ", ".join(TRANSFORMS)
        raise w.fail(f"has post_transform {transform}, supported are {known}")
    named: dict[str, Any] = {"axis": 1} if transform == "SOFTMAX" else {}
    return w.add(TRANSFORMS[transform], [scores], output, **named)


def answered(w: Writer, scores: str, labels: Array) -> None:
    """A classifier's outputs: the label of the largest score, and a function of the scores."""
    label, *probabilities = w.node.output
    transform = w.text("post_transform", "NONE")
    found = transformed(w, scores, transform, *probabilities[:1])
    if label:
        place = w.add("ArgMax", [found], axis=1, keepdims=0)
        w.add("Gather", [w.constant("labels", labels), place], label, axis=0)
