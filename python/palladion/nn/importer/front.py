"""The beginning of the network. The client computes the tests of trees by itself before encryption,
and without trees the replacement of missing values.

The model is cut there. The part before becomes the :class:`Head`. The rest of the model takes its
truth values or numbers."""

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
    return rest_of(model, given, before, after, (tests, TensorProto.BOOL))


CHOICES: Final = {"ArrayFeatureExtractor", "Cast", "Gather", "Identity", "Slice", "Split"}
"""Choices of columns, which the client can make on numbers that are not imputed."""


def cut_off_imputed(model: onnx.ModelProto, given: Source, imputed: Sequence[str]) -> Front:
    """A model with the input ``given``, cut at the tensors in which missing values are replaced.

    Columns beside them that have no imputer pass through.

    Raises
    ------
    NetworkError
        If the client cannot compute the part before, or if it gives no rows of numbers.
    """
    nodes = [*model.graph.node]  # one object for each node, whose identity counts
    inside = {id(node) for node in needed(nodes, imputed)}
    live = living([node for node in nodes if id(node) in inside], given.name)
    for node in nodes:
        reads = [name for name in node.input if name in live]
        if node.op_type in CHOICES and reads and not {*reads} & {*imputed}:
            inside.add(id(node))
            live.update(node.output)
    before = [node for node in nodes if id(node) in inside]
    after = [node for node in nodes if id(node) not in inside]
    if strange := [node for node in before if node.op_type not in Head.ALLOWED]:
        node = strange[0]
        raise NetworkError(f"node {node.name or node.output[0]} ({node.op_type}): stands before "
                           "an imputer, which the client computes; supported there are scalers, "
                           "choices of columns, matrices and functions: apply what stands before "
                           "the imputer yourself, and export the rest")  # fmt: skip
    behind = {name for node in after for name in node.input}
    behind.update(entry.name for entry in model.graph.output)
    order = [given.name, *(name for node in before for name in node.output)]
    cuts = [name for name in order if name in live | {*imputed} and name in behind]
    return rest_of(model, given, before, after, (cuts, TensorProto.FLOAT))


def rest_of(
    model: onnx.ModelProto,
    given: Source,
    before: Sequence[onnx.NodeProto],
    after: Sequence[onnx.NodeProto],
    cut: tuple[Sequence[str], int],
) -> Front:
    """The nodes ``before`` as the head, and those ``after`` as a model of the tensors where both
    meet, all of one type."""
    cuts, kind = cut
    head = head_of(model, given, before, cuts, kind)
    parts = head.run(np.zeros((1, *given.sides)))
    left = onnx.ModelProto()
    left.CopyFrom(model)
    del left.graph.node[:], left.graph.input[:]
    start = 0
    for name, part in zip(cuts, parts.values(), strict=True):
        if part.ndim != 2:
            raise NetworkError(f"{name} has shape {part.shape[1:]} for each input, supported at "
                               "the beginning that the client computes is one row")  # fmt: skip
        places = np.arange(start, start := start + part.size)
        left.graph.initializer.append(numpy_helper.from_array(places, f"{name}.places"))
        chosen = helper.make_node("Gather", [TESTS, f"{name}.places"], [name], name, axis=1)
        left.graph.node.append(chosen)
    left.graph.node.extend(after)
    entry = helper.make_tensor_value_info(TESTS, kind, ["N", start])
    left.graph.input.append(entry)
    letter = "b" if kind == TensorProto.BOOL else "f"
    return Front(head, left, Source(TESTS, given.batch, (start,), letter))


def head_of(
    model: onnx.ModelProto,
    given: Source,
    nodes: Sequence[onnx.NodeProto],
    cuts: Sequence[str],
    of: int,
) -> Head:
    """The nodes before the tensors ``cuts``, of one type, as a model."""
    (entry,) = [entry for entry in model.graph.input if entry.name == given.name]
    renamed = []
    for node in nodes:
        found = onnx.NodeProto()
        found.CopyFrom(node)
        found.input[:] = [Head.INPUT if name == given.name else name for name in node.input]
        renamed.append(found)
    names = list(cuts)
    if given.name in cuts:  # passes through
        names[names.index(given.name)] = f"{given.name}.unchanged"
        renamed.append(helper.make_node("Identity", [Head.INPUT], [f"{given.name}.unchanged"]))
    wanted = {name for node in nodes for name in node.input}
    held = [tensor for tensor in model.graph.initializer if tensor.name in wanted]
    kind = entry.type.tensor_type.elem_type
    graph = helper.make_graph(
        renamed, "head", [helper.make_tensor_value_info(Head.INPUT, kind, None)],
        [helper.make_tensor_value_info(name, of, None) for name in names], held,
    )  # fmt: skip
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    head = Head(small.SerializeToString(), batched=False)
    return replace(head, batched=goes_together(head, (1, *given.sides)))
