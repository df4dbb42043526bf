"""The beginning of the network. The client computes functions of the input alone before encryption.

Tests of trees are such functions, and the encoding of categories, bins and products of features.
They cost nothing there, and most cannot be computed under encryption. The model is cut at their
results. The part before them becomes the :class:`Head`. The rest of the model takes the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.ends.head import Head
from palladion.nn.importer.inputs import Source
from palladion.nn.importer.split import goes_together, living, needed

TESTS: Final = "palladion.tests"
"""Name of the input of the rest of the model, if it takes truth values."""

FEATURES: Final = "palladion.features"
"""Its name if the rest takes real numbers."""

CLIENTS_ONLY: Final = {
    "ArgMax", "ArgMin", "Binarizer", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN",
    "LabelEncoder", "Less", "LessOrEqual", "Normalizer", "OneHot", "OneHotEncoder",
    "ReduceProd", "TopK",
}  # fmt: skip
"""Operators of encoders, bins and products of features, which no network has before its end, and
Binarizer: a table would round the feature first, and the client need not."""

LEARNT: Final = {"MatMul", "Gemm"}
"""Operators with the weights of a model. They stay with the server."""


@dataclass(frozen=True)
class Front:
    """The head, the rest of the model, and its input."""

    head: Head
    model: onnx.ModelProto
    source: Source


def cut_off(model: onnx.ModelProto, given: Source, tests: Sequence[str]) -> Front:
    """A model with the input ``given``, cut at the tensors of tests.

    Raises
    ------
    NetworkError
        If the client cannot compute the part before the tests, or if something else reads the input
        too.
    """
    before = needed(model.graph.node, tests)
    strange = [node for node in before if node.op_type not in Head.ALLOWED]
    if strange:
        node = strange[0]
        raise NetworkError(f"node {node.name or node.output[0]} ({node.op_type}): stands before "
                           "decision trees, whose tests the client makes; supported there are "
                           "scalers, choices of columns, matrices and functions")  # fmt: skip
    inside = {id(node) for node in before}
    after = [node for node in model.graph.node if id(node) not in inside]
    live = living(before, given.name) - {*tests}
    readers = [(f"node {node.name or node.output[0]} ({node.op_type})", name)
               for node in after for name in node.input]  # fmt: skip
    readers += [("an output of the model", entry.name) for entry in model.graph.output]
    for word, name in readers:
        if name in live:
            raise NetworkError(f"{word}: reads {name} beside decision trees. A network of trees "
                               "takes their tests in the place of the inputs: supported are trees "
                               "alone, and votes of models without trees")  # fmt: skip
    head = head_of(model, given, before, tests)
    parts = head.run(np.zeros((1, *given.sides)))
    left = onnx.ModelProto()
    left.CopyFrom(model)
    del left.graph.node[:], left.graph.input[:]
    start = 0
    for name in tests:
        places = np.arange(start, start := start + parts[name].size)
        left.graph.initializer.append(numpy_helper.from_array(places, f"{name}.places"))
        chosen = helper.make_node("Gather", [TESTS, f"{name}.places"], [name], name, axis=1)
        left.graph.node.append(chosen)
    left.graph.node.extend(after)
    entry = helper.make_tensor_value_info(TESTS, TensorProto.BOOL, ["N", start])
    left.graph.input.append(entry)
    return Front(head, left, Source(TESTS, given.batch, (start,), "b"))


def encoded(model: onnx.ModelProto, given: Source) -> Front | None:
    """A model cut behind the functions of its input alone, if a network cannot have one of them.

    These are all operators before the first with weights of its own. ``None`` if a network can have
    all, or if the whole model is such a function.
    """
    head_made, inside, has_own = {given.name}, [], False
    for node in model.graph.node:
        live = [name for name in node.input if name in head_made]
        constants = all(name in head_made or not name or not depends(model, name, given.name)
                        for name in node.input)  # fmt: skip
        if not live or not constants or node.op_type not in Head.ALLOWED - LEARNT:
            continue
        inside.append(node)
        head_made.update(node.output)
        has_own |= node.op_type in CLIENTS_ONLY
    if not has_own:
        return None
    own = {id(node) for node in inside}
    after = [node for node in model.graph.node if id(node) not in own]
    read = {name for node in after for name in node.input}
    if any(entry.name in head_made for entry in model.graph.output):
        return None
    cuts = [name for name in [given.name, *(o for n in inside for o in n.output)]
            if name in read and name in head_made]  # fmt: skip
    needed_nodes = needed(model.graph.node, cuts)
    if not any(node.op_type in CLIENTS_ONLY for node in needed_nodes):
        return None
    head = head_of(model, given, needed_nodes, cuts)
    parts = lenient(head).run(np.zeros((1, *given.sides)))
    left = onnx.ModelProto()
    left.CopyFrom(model)
    del left.graph.node[:], left.graph.input[:], left.graph.value_info[:]
    start = 0
    for name, part in zip(cuts, parts.values(), strict=True):
        places = np.arange(start, start := start + part.size)
        sides = np.array([-1, *part.shape[1:]], np.int64)
        left.graph.initializer.append(numpy_helper.from_array(places, f"{name}.places"))
        left.graph.initializer.append(numpy_helper.from_array(sides, f"{name}.sides"))
        chosen = [
            helper.make_node(
                "Gather", [FEATURES, f"{name}.places"], [f"{name}.flat"], f"{name}.flat", axis=1
            ),
            helper.make_node("Reshape", [f"{name}.flat", f"{name}.sides"], [name], name),
        ]
        left.graph.node.extend(chosen)
    kept = {id(node) for node in needed_nodes}
    left.graph.node.extend(
        node
        for node in model.graph.node
        if id(node) not in own and (id(node) not in kept or node in after)
    )
    entry = helper.make_tensor_value_info(FEATURES, TensorProto.FLOAT, ["N", start])
    left.graph.input.append(entry)
    return Front(head, left, Source(FEATURES, given.batch, (start,), "f"))


def depends(model: onnx.ModelProto, name: str, source: str) -> bool:
    """True if a tensor depends on the input's numbers."""
    return name == source or name in living(model.graph.node, source)


def lenient(head: Head) -> Head:
    """The head for trials on any numbers: an encoder gives zeros for numbers of no category."""
    model = onnx.ModelProto.FromString(head.model)
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "OneHotEncoder" and attribute.name == "zeros":
                attribute.i = 1
    return replace(head, model=model.SerializeToString())


def head_of(
    model: onnx.ModelProto, given: Source, nodes: Sequence[onnx.NodeProto], tests: Sequence[str]
) -> Head:
    """The nodes before tests, or before other results of the client, as a model."""
    (entry,) = [entry for entry in model.graph.input if entry.name == given.name]
    renamed = []
    for node in nodes:
        found = onnx.NodeProto()
        found.CopyFrom(node)
        found.input[:] = [Head.INPUT if name == given.name else name for name in node.input]
        renamed.append(found)
    wanted = {name for node in nodes for name in node.input}
    held = [tensor for tensor in model.graph.initializer if tensor.name in wanted]
    kind = entry.type.tensor_type.elem_type
    outputs = [*tests]
    if given.name in tests:  # the numbers themselves
        outputs[outputs.index(given.name)] = f"{given.name}.itself"
        renamed.append(helper.make_node("Identity", [Head.INPUT], [f"{given.name}.itself"]))
    graph = helper.make_graph(
        renamed, "head", [helper.make_tensor_value_info(Head.INPUT, kind, None)],
        [helper.make_empty_tensor_value_info(name) for name in outputs], held,
    )  # fmt: skip
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    head = Head(small.SerializeToString(), batched=False)
    return replace(head, batched=goes_together(lenient(head), (1, *given.sides)))
