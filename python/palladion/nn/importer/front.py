"""The beginning of the network. The client computes the tests of trees by itself before encryption.

The model is cut at these tests. The part before them becomes the :class:`Head`. The rest of the
model takes their truth values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.head import Head
from palladion.nn.importer.inputs import Source
from palladion.nn.importer.split import goes_together, living, needed

TESTS: Final = "palladion.tests"
"""Name of the input of the rest of the model."""


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
            raise NetworkError(f"{word}: reads {name} beside decision trees, supported are models "
                               "that read their input through trees only")  # fmt: skip
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


def head_of(
    model: onnx.ModelProto, given: Source, nodes: Sequence[onnx.NodeProto], tests: Sequence[str]
) -> Head:
    """The nodes before tests, as a model."""
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
    graph = helper.make_graph(
        renamed, "head", [helper.make_tensor_value_info(Head.INPUT, kind, None)],
        [helper.make_tensor_value_info(name, TensorProto.BOOL, None) for name in tests], held,
    )  # fmt: skip
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    head = Head(small.SerializeToString(), batched=False)
    return replace(head, batched=goes_together(head, (1, *given.sides)))
