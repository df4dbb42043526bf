"""Normalisations by statistics of each input, written out as the arithmetic that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import onnx

from palladion.nn.importer.operators import Operator, by_kind
from palladion.nn.importer.split import inferred
from palladion.nn.importer.writer import Writer

EPSILON: Final = 1e-5
SMALLEST_NORM: Final = 1e-12
"""Added to a norm by which a vector is divided, so that a vector of zeros stays zeros."""


def written_out(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with LayerNormalization and its like as means, products and a square root.

    A node stays as it is if it gives its statistics too, or if the rank of its input is unknown.
    """
    if not any(node.op_type in WRITERS and own(node) for node in model.graph.node):
        return model
    ranks = {entry.name: len(entry.type.tensor_type.shape.dim) for entry in inferred(model)
             if entry.type.tensor_type.HasField("shape")}  # fmt: skip
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    for node in model.graph.node:
        rank = ranks.get(node.input[0] if node.input else "", 0)
        if node.op_type not in WRITERS or not own(node) or len(node.output) > 1 or not rank:
            found.graph.node.append(node)
            continue
        parts = Parts(node, max(versions, default=1))
        WRITERS[node.op_type](parts, rank)
        found.graph.node.extend(parts.writer.nodes)
        found.graph.initializer.extend(parts.writer.tensors)
    return found


def own(node: onnx.NodeProto) -> bool:
    return node.domain in ("", "ai.onnx")


class Parts:
    """The arithmetic that replaces one node."""

    def __init__(self, node: onnx.NodeProto, opset: int) -> None:
        self.node, self.opset, self.writer = node, opset, Writer(node)
        self.attributes: dict[str, Any] = self.writer.attributes

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        return self.writer.add(kind, [*inputs], output, **attributes)

    def number(self, word: str, value: float) -> str:
        return self.writer.constant(word, np.array(value, np.float32))

    def mean(self, name: str, axes: Sequence[int], kind: str = "ReduceMean") -> str:
        """The mean over some axes, which stay with the side 1."""
        if self.opset < (13 if kind == "ReduceSum" else 18):
            return self.add(kind, name, axes=[*axes], keepdims=1)
        held = self.writer.constant(f"axes{len(self.writer.nodes)}", np.array(axes, np.int64))
        return self.add(kind, name, held, keepdims=1)

    def inverse(self, name: str, epsilon: float) -> str:
        """``1 / sqrt(x + epsilon)``."""
        above = self.add("Add", name, self.number("epsilon", epsilon))
        return self.add("Reciprocal", self.add("Sqrt", above))

    def ended(self, name: str, *, weights: Sequence[str]) -> None:
        """The node's output: with a factor and a shift, if the node has them."""
        kinds = ("Mul", "Add")[: len(weights)]
        pairs = [(kind, held) for kind, held in zip(kinds, weights, strict=True) if held]
        for kind, held in pairs:
            name = self.add(kind, name, held)
        self.add("Identity", name, output=self.node.output[0])


def layer(parts: Parts, rank: int) -> None:
    """LayerNormalization, over its axis and all after it."""
    first = int(parts.attributes.get("axis", -1)) % rank
    whole = standardise(parts, list(range(first, rank)))
    parts.ended(whole, weights=parts.node.input[1:])


def instance(parts: Parts, rank: int) -> None:
    """InstanceNormalization, over the places of each channel."""
    whole = standardise(parts, list(range(2, rank)))
    sides = parts.writer.constant("sides", np.array([-1, *[1] * (rank - 2)], np.int64))
    weights = [parts.add("Reshape", name, sides) for name in parts.node.input[1:]]
    parts.ended(whole, weights=weights)


def standardise(parts: Parts, axes: Sequence[int]) -> str:
    """The input less its mean, divided by its deviation, both over some axes."""
    apart = parts.add("Sub", parts.node.input[0], parts.mean(parts.node.input[0], axes))
    squares = parts.mean(parts.add("Mul", apart, apart), axes)
    inverse = parts.inverse(squares, float(parts.attributes.get("epsilon", EPSILON)))
    return parts.add("Mul", apart, inverse)


def mean_square(parts: Parts, rank: int) -> None:
    """RMSNormalization: as LayerNormalization, without taking the mean away."""
    first = int(parts.attributes.get("axis", -1)) % rank
    given = parts.node.input[0]
    squares = parts.mean(parts.add("Mul", given, given), list(range(first, rank)))
    inverse = parts.inverse(squares, float(parts.attributes.get("epsilon", EPSILON)))
    parts.ended(parts.add("Mul", given, inverse), weights=parts.node.input[1:])


def unit_length(parts: Parts, rank: int) -> None:
    """LpNormalization: division by the sum of absolute values or the root of that of squares."""
    given, axis = parts.node.input[0], int(parts.attributes.get("axis", -1)) % rank
    if int(parts.attributes.get("p", 2)) == 1:
        total = parts.mean(parts.add("Abs", given), [axis], "ReduceSum")
        above = parts.add("Add", total, parts.number("epsilon", SMALLEST_NORM))
        inverse = parts.add("Reciprocal", above)
    else:
        total = parts.mean(parts.add("Mul", given, given), [axis], "ReduceSum")
        inverse = parts.inverse(total, SMALLEST_NORM**2)
    parts.ended(parts.add("Mul", given, inverse), weights=())


BECOMES: Final = ("ONNX's own operators", "over known axes, written out: two tables, a product")

OPERATORS: Final[tuple[Operator[Callable[[Parts, int], None]], ...]] = (
    Operator("InstanceNormalization", instance, *BECOMES),
    Operator("LayerNormalization", layer, *BECOMES),
    Operator("LpNormalization", unit_length, *BECOMES),
    Operator("RMSNormalization", mean_square, *BECOMES),
)

WRITERS: Final = by_kind(OPERATORS)
