"""Operators of scikit-learn's exports (domain ai.onnx.ml), rewritten as ONNX's own.

Such an operator joins several steps: scores, probabilities and labels. Rewritten, scores are a
matrix product like any other, and the client computes the steps after them. Trees are in their own
module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isnan
from typing import Final

import numpy as np
import onnx
from onnx import helper

from palladion.nn.importer import trees
from palladion.nn.importer.context import Array
from palladion.nn.importer.operators import Operator, by_kind
from palladion.nn.importer.writer import DOMAIN, Writer, answered


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
    labels = w.labels()
    bias = w.numbers("intercepts")
    weights = w.numbers("coefficients")
    count = len(bias) or len(labels)
    weights = weights.reshape(count, -1)
    bias = bias if len(bias) else np.zeros(count, np.float32)
    if count == 1 and len(labels) == 2:  # both classes share one row of weights
        weights, bias = np.concatenate([-weights, weights]), np.concatenate([-bias, bias])
    if len(weights) < 2 or len(weights) != len(labels):
        raise w.fail(f"has {len(weights)} scores for {len(labels)} labels, supported are as many "
                     "scores as labels, or one for two")  # fmt: skip
    answered(w, product(w, weights, bias), labels)


def imputer(w: Writer) -> None:
    """The replacement of missing values, NaN or another number. The client computes it."""
    whole = "replaced_value_int64" in w.attributes
    word = "replaced_value_int64" if whole else "replaced_value_float"
    missing = float(w.attributes.get(word, 0 if whole else float("nan")))
    by = w.numbers("imputed_value_int64s" if whole else "imputed_value_floats")
    if not by.size or not np.isfinite(by).all():
        raise w.fail(f"replaces missing values by {by.tolist()}, supported are finite numbers")
    given = w.floats()
    if isnan(missing):
        gone = w.add("IsNaN", [given])
    else:
        gone = w.add("Equal", [given, w.constant("missing", np.array(missing, np.float32))])
    w.add("Where", [gone, w.constant("by", by), given], w.node.output[0])


def vectoriser(w: Writer) -> None:
    w.add("Concat", list(w.node.input), w.node.output[0], axis=1)


BECOMES: Final = ("ONNX's own operators", "of ai.onnx.ml, written out")

OPERATORS: Final[tuple[Operator[Callable[[Writer], None]], ...]] = (
    Operator("Scaler", scaler, *BECOMES),
    Operator("LinearRegressor", regressor, *BECOMES),
    Operator("LinearClassifier", classifier, *BECOMES),
    Operator("Imputer", imputer, *BECOMES),
    Operator("FeatureVectorizer", vectoriser, *BECOMES),
    *trees.OPERATORS,
)

WRITERS: Final = by_kind(OPERATORS)


@dataclass(frozen=True)
class Written:
    """A model in which these operators are rewritten.

    ``tests``: tensors of truth values that the client computes before encryption. ``largest``: the
    largest absolute value of some tensors over all inputs.
    """

    model: onnx.ModelProto
    tests: list[str] = field(default_factory=list)
    largest: dict[str, float] = field(default_factory=dict)


def written_out(model: onnx.ModelProto) -> Written:
    """The model with these operators rewritten.

    Raises
    ------
    NetworkError
        If an operator has an unsupported form. The message names the node.
    """
    if not any(concerned(node) for node in model.graph.node):
        return Written(model)
    written = Written(onnx.ModelProto())
    found = written.model
    found.CopyFrom(model)
    del found.graph.node[:]
    for node in model.graph.node:
        if not concerned(node):
            found.graph.node.append(node)
            continue
        writer = Writer(node)
        try:
            WRITERS[node.op_type](writer)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise writer.fail(f"cannot be read: {type(error).__name__}: {error}") from error
        found.graph.initializer.extend(writer.tensors)
        found.graph.node.extend(writer.nodes)
        written.tests.extend(writer.tests)
        written.largest.update(writer.largest)
    if not any(entry.domain in ("", "ai.onnx") for entry in found.opset_import):
        found.opset_import.append(helper.make_opsetid("", 13))
    return written


def concerned(node: onnx.NodeProto) -> bool:
    return node.domain == DOMAIN and node.op_type in WRITERS
