"""A model before it is read: its nodes in order, without conditions that are known, without outputs
that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from palladion.errors import NetworkError
from palladion.nn.importer import elementwise
from palladion.nn.importer.context import Array
from palladion.nn.importer.operators import TABLE

UNREAD: Final = {"Dropout", "LayerNormalization", "MaxPool"}
"""Operators that give more than their first output only for training or for another operator."""

BATCHES: Final = (2, 3)
"""Numbers of inputs for which a condition is computed: it must not depend on them."""


def tidied(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its nodes in order and without nodes that inference does not need.

    Raises
    ------
    NetworkError
        If nodes read each other in a circle.
    """
    found = onnx.ModelProto()
    found.CopyFrom(model)
    order(found.graph)
    while inline_one(found):
        order(found.graph)
    as_tensors(found)
    read = {name for node in found.graph.node for name in reads(node)}
    read |= {entry.name for entry in found.graph.output}
    for node in found.graph.node:
        while node.op_type in UNREAD and len(node.output) > 1 and node.output[-1] not in read:
            node.output.pop()
    return found


def ordered(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with each node behind the nodes that it reads. Raises as :func:`tidied`."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    order(found.graph)
    return found


def as_tensors(model: onnx.ModelProto) -> None:
    """Give the parts of an output that is a list of tensors as outputs of their own."""
    graph = model.graph
    lists = {node.output[0]: node for node in graph.node if node.op_type == "SequenceConstruct"}
    if not any(entry.name in lists for entry in graph.output):
        return
    entries = [*graph.output]
    del graph.output[:]
    for entry in entries:
        if entry.name not in lists:
            graph.output.append(entry)
            continue
        for place, name in enumerate(lists[entry.name].input):
            part = f"{entry.name}.{place}"
            graph.node.append(helper.make_node("Identity", [name], [part], part))
            graph.output.append(helper.make_empty_tensor_value_info(part))
    given = {entry.name for entry in entries}
    nodes = [node for node in graph.node
             if not (node.op_type == "SequenceConstruct" and node.output[0] in given)]  # fmt: skip
    del graph.node[:]
    graph.node.extend(nodes)


def order(graph: onnx.GraphProto) -> None:
    """Put each node behind the nodes that it reads. An order that is right already stays."""
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    waiting = [{makers[name] for name in reads(node) if name in makers} for node in graph.node]
    done: set[int] = set()
    sequence: list[int] = []
    readers: dict[int, list[int]] = {}
    for index, needs in enumerate(waiting):
        for other in needs:
            readers.setdefault(other, []).append(index)
    ready = [index for index, needs in enumerate(waiting) if not needs]
    if all(max(needs, default=-1) < index for index, needs in enumerate(waiting)):
        return
    while ready:
        ready.sort(reverse=True)
        index = ready.pop()
        done.add(index)
        sequence.append(index)
        ready += [reader for reader in readers.get(index, ()) if waiting[reader] <= done]
    left = [node for index, node in enumerate(graph.node) if index not in done]
    if left:
        raise NetworkError(f"node {left[0].name or left[0].output[0]} ({left[0].op_type}): reads "
                           "what it gives itself, through other nodes; expected a graph without "
                           "circles")  # fmt: skip
    nodes = [graph.node[index] for index in sequence]
    del graph.node[:]
    graph.node.extend(nodes)


def reads(node: onnx.NodeProto) -> set[str]:
    """The tensors that a node reads, including tensors from outside that its inner graphs read."""
    found = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {entry.name for entry in (*graph.input, *graph.initializer)}
            own |= {name for inner in graph.node for name in inner.output}
            found |= {name for inner in graph.node for name in reads(inner)} - own
            found |= {entry.name for entry in graph.output} - own
    return found


def inline_one(model: onnx.ModelProto) -> bool:
    """Replace one If whose condition is known by its branch. Returns true if there was one."""
    for index, node in enumerate(model.graph.node):
        if node.op_type != "If" or node.domain not in ("", "ai.onnx"):
            continue
        holds = condition(model, node.input[0])
        if holds is None:
            continue
        (branch,) = [a.g for a in node.attribute if a.name == ("then_branch" if holds
                                                               else "else_branch")]  # fmt: skip
        nodes = [*model.graph.node]
        nodes[index : index + 1] = inlined(model, node, branch)
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        return True
    return False


def inlined(
    model: onnx.ModelProto, node: onnx.NodeProto, branch: onnx.GraphProto
) -> list[onnx.NodeProto]:
    """The nodes of a branch under new names, and the nodes that give the outputs of the If."""
    prefix = f"{node.name or node.output[0]}."
    own = [*(t.name for t in branch.initializer), *(o for n in branch.node for o in n.output if o)]
    names = {name: prefix + name for name in own}
    for tensor in branch.initializer:
        held = model.graph.initializer.add()
        held.CopyFrom(tensor)
        held.name = names[tensor.name]
    found = [renamed(inner, names) for inner in branch.node]
    for output, entry in zip(node.output, branch.output, strict=True):
        given = names.get(entry.name, entry.name)
        found.append(helper.make_node("Identity", [given], [output], f"{prefix}{output}"))
    return found


def renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """A node that reads and gives tensors under other names, its inner graphs included."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    found.input[:] = [names.get(name, name) for name in node.input]
    found.output[:] = [names.get(name, name) for name in node.output]
    for attribute in found.attribute:
        for graph in (attribute.g, *attribute.graphs):
            if not graph.node and not graph.output:
                continue
            inner = [renamed(part, names) for part in graph.node]
            del graph.node[:]
            graph.node.extend(inner)
            for entry in graph.output:
                entry.name = names.get(entry.name, entry.name)
    return found


def condition(model: onnx.ModelProto, name: str) -> bool | None:
    """A truth value that depends on nothing but constants and the shape of the input, if it is."""
    parts = [evaluated(model, name, batch) for batch in BATCHES]
    if any(part is None or part.size != 1 for part in parts):
        return None
    values = {bool(part.ravel()[0]) for part in parts if part is not None}
    return values.pop() if len(values) == 1 else None


def evaluated(model: onnx.ModelProto, name: str, batch: int) -> Array | None:
    """A tensor computed from constants and shapes, or ``None`` if it needs the input's values."""
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    if name in held:
        return read(held[name])
    shapes = None
    nodes: list[onnx.NodeProto] = []
    wanted = {name}
    for node in reversed(model.graph.node):
        if wanted.isdisjoint(node.output):
            continue
        if node.op_type == "Shape":
            shapes = known_shapes(model, batch) if shapes is None else shapes
            shape = shapes.get(node.input[0])
            if shape is None:
                return None
            start, end = (next((a.i for a in node.attribute if a.name == word), default)
                          for word, default in (("start", 0), ("end", len(shape))))  # fmt: skip
            array = np.array(shape[start:end], np.int64)
            nodes.append(helper.make_node("Constant", [], [*node.output],
                                          value=numpy_helper.from_array(array)))  # fmt: skip
            continue
        nodes.append(node)
        wanted |= reads(node)
    made = {output for node in nodes for output in node.output}
    if not wanted <= made | held.keys():
        return None
    graph = helper.make_graph(
        nodes[::-1], "condition", [], [helper.make_empty_tensor_value_info(name)],
        [held[key] for key in held.keys() & wanted],
    )  # fmt: skip
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    try:
        found: Any = ReferenceEvaluator(small).run(None, {})
    except Exception:  # any fault of ONNX's reference implementation: then it is not known
        return None
    return np.asarray(found[0])


def read(tensor: onnx.TensorProto) -> Array | None:
    """A small constant, or ``None`` if it is damaged, which is said when the model needs it."""
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except Exception:  # any fault of a damaged tensor
        return None


def known_shapes(model: onnx.ModelProto, batch: int) -> dict[str, list[int]]:
    """The shapes of tensors for this number of inputs, as far as ONNX's inference finds them."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    held = {tensor.name for tensor in model.graph.initializer}
    for entry in fixed.graph.input:
        sides = entry.type.tensor_type.shape.dim
        if entry.name not in held and len(sides) and not sides[0].dim_value:
            sides[0].dim_value = batch
    del fixed.graph.value_info[:]
    try:
        graph = onnx.shape_inference.infer_shapes(fixed, data_prop=True).graph
    except Exception:  # inference fails on some valid models
        graph = fixed.graph
    found = {}
    for entry in (*graph.input, *graph.value_info):
        sides = entry.type.tensor_type.shape.dim
        if entry.type.tensor_type.HasField("shape") and all(side.dim_value for side in sides):
            found[entry.name] = [side.dim_value for side in sides]
    return found


ROWWISE: Final = {
    "Add", "Cast", "Div", "Dropout", "Identity", "MatMul", "Mul", "Pow", "Sub",
    *(entry.kind for entry in elementwise.OPERATORS if entry.becomes == TABLE),
}  # fmt: skip
"""Operators that do the same to a vector and to every row of a matrix."""


def with_batch_axis(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of one input alone as one of (N, ...), if that is the same for each input.

    It is if the model itself first puts an axis before its input, or if it takes a vector and all
    operators do the same to every row of a matrix. Other models are returned as they are.
    """
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    entries = [entry for entry in model.graph.input if entry.name not in held]
    if len(entries) != 1 or entries[0].type.WhichOneof("value") != "tensor_type":
        return model
    (entry,) = entries
    sides = [side.dim_value for side in entry.type.tensor_type.shape.dim]
    if not sides or min(sides) < 1:
        return model
    readers = [node for node in model.graph.node if entry.name in node.input]
    if len(readers) == 1 and gives_axis(readers[0], sides, held):
        return without_first(model, entry, readers[0], sides)
    if len(sides) == 1 and sides[0] > 1 and rowwise(model, entry.name, held):
        found = onnx.ModelProto()
        found.CopyFrom(model)
        for given in (*found.graph.input, *found.graph.output):
            if given.name == entry.name or given.name not in held:
                first_axis(given)
        del found.graph.value_info[:]
        return found
    return model


def first_axis(entry: onnx.ValueInfoProto) -> None:
    """Put the open axis N before the others."""
    shape = entry.type.tensor_type.shape
    if not entry.type.tensor_type.HasField("shape"):
        return
    sides = [*shape.dim]
    del shape.dim[:]
    shape.dim.add().dim_param = "N"
    shape.dim.extend(sides)


def gives_axis(
    node: onnx.NodeProto, sides: Sequence[int], held: Mapping[str, onnx.TensorProto]
) -> bool:
    """True if a node puts an axis of 1 before all axes of its input."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    named = len(node.input) > 1 and node.input[1] in held
    second = read(held[node.input[1]]) if named else None
    if node.op_type == "Unsqueeze":
        axes = given.get("axes") if second is None else second.ravel().tolist()
        return axes is not None and [*axes] in ([0], [-len(sides) - 1])
    if node.op_type == "Reshape":
        shape = given.get("shape") if second is None else second.ravel().tolist()
        return shape is not None and [*shape][1:] == [*sides] and next(iter(shape)) in (1, -1)
    return False


def without_first(
    model: onnx.ModelProto,
    entry: onnx.ValueInfoProto,
    first: onnx.NodeProto,
    sides: Sequence[int],
) -> onnx.ModelProto:
    """The model without its first node. Its input is the output of that node."""
    found = onnx.ModelProto()
    found.CopyFrom(model)
    nodes = [node for node in found.graph.node if node.output[:1] != first.output[:1]]
    nodes = [renamed(node, {first.output[0]: entry.name}) for node in nodes]
    del found.graph.node[:], found.graph.value_info[:]
    found.graph.node.extend(nodes)
    for given in found.graph.input:
        if given.name == entry.name:
            shape = given.type.tensor_type.shape
            del shape.dim[:]
            for side in (1, *sides):
                shape.dim.add().dim_value = side
    return found


MOST_AXES: Final = 9
"""Stands for a constant whose rank is not known."""


def rowwise(model: onnx.ModelProto, source: str, held: Mapping[str, onnx.TensorProto]) -> bool:
    """True if every operator on values of the input does the same to each row of a matrix."""
    live = {source}
    for node in model.graph.node:
        if live.isdisjoint(node.input):
            continue
        if node.op_type not in ROWWISE:
            return False
        constants = [held.get(name) for name in node.input if name and name not in live]
        ranks = [MOST_AXES if tensor is None else len(tensor.dims) for tensor in constants]
        most = 2 if node.op_type == "MatMul" else 1
        if max(ranks, default=0) > most or (node.op_type == "MatMul" and node.input[0] not in live):
            return False
        live.update(node.output)
    return True
