"""The end of the network and the beginning of the tail, which the client computes by itself.

The tail is the part after one tensor, the *cut*, if it contains only functions that
:mod:`palladion.nn.ends.tail` allows. The cut lies as early as possible. But it lies after constants
that are added to a linear map or multiplied with it, because they cost nothing there.

The outputs of a network with several heads are functions of different tensors. Each of them has a
cut of its own. The network then gives the cuts one behind the other, as one tensor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.ends.tail import ALLOWED, FUNCTIONS, HEADS, INPUT, REDUCTIONS, Tail
from palladion.nn.importer.context import Array
from palladion.nn.importer.reasons import REASONS

QONNX: Final = "qonnx.custom_op.general"
QUANTISERS: Final = {"Quant", "BipolarQuant"}
LINEAR: Final = {"Add", "Sub", "Mul", "Div", "Neg", "ReduceMean", "ReduceSum"}
"""Operators that become part of a linear map if the other operand is constant."""


@dataclass(frozen=True)
class Split:
    """The nodes that a model needs for some outputs, cut in two at the tensor ``cut``.

    If that is the tensor of several cuts, ``heads`` has their names.
    """

    network: tuple[onnx.NodeProto, ...]
    cut: str
    tail: tuple[onnx.NodeProto, ...]
    outputs: tuple[str, ...]
    heads: tuple[str, ...] = ()


def split(model: onnx.ModelProto, outputs: Collection[str] | None, kept: Collection[str]) -> Split:
    """Cut the graph of a model with one input. By default ``outputs`` are all outputs.

    Operators in ``kept`` stay in the network.

    Raises
    ------
    NetworkError
        If there is no such output, or one that does not depend on the input.
    """
    names = chosen(model, outputs)
    nodes = needed(model.graph.node, names)
    constant = {tensor.name for tensor in model.graph.initializer}
    (source,) = [entry.name for entry in model.graph.input if entry.name not in constant]
    live = living(nodes, source)
    fixed = [name for name in names if name not in live]
    if fixed:
        raise NetworkError(f"the output {fixed[0]} does not depend on the input's numbers")
    whole = cut_of(names, nodes, source, live, kept)
    if whole is not None and not clients(whole.network, live):
        return replace(whole, outputs=names)
    each = [cut_of((name,), needed(nodes, [name]), source, live, kept) for name in names]
    parts = [part for part in each if part is not None]
    if any(clients(part.network, live) for part in parts):
        parts = [cut_at_matrices(names, nodes, source, live, kept)]
        if clients(parts[0].network, live) and whole is not None:
            return replace(whole, outputs=names)  # which names the operator
    return joined(parts, nodes, names)


def clients(nodes: Iterable[onnx.NodeProto], live: Collection[str]) -> bool:
    """True if one of the nodes has an operator that only the client computes, such as ArgMax."""
    return any(node.op_type in REASONS and node.op_type in ALLOWED
               and any(name in live for name in node.output) for node in nodes)  # fmt: skip


def cut_at_matrices(
    outputs: tuple[str, ...],
    nodes: Sequence[onnx.NodeProto],
    source: str,
    live: Collection[str],
    kept: Collection[str],
) -> Split:
    """The nodes cut at all tensors behind which the client can compute everything.

    Outputs may be functions of several of them, as a vote of several classifiers is.
    """
    own: set[int] = set()
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def free(node: onnx.NodeProto) -> bool:
        alone = all(id(reader) in own for name in node.output for reader in readers.get(name, ()))
        return alone and node.op_type in ALLOWED and node.op_type not in kept

    for node in reversed(nodes):
        if any(name in live for name in node.output) and free(node):
            own.add(id(node))
    cuts = []
    for node in nodes:
        for name in node.input if id(node) in own else ():
            made_here = any(name in other.output for other in nodes if id(other) in own)
            if name in live and not made_here:
                cuts.append(behind_constants(name, nodes, outputs, live))
    cuts += [name for name in outputs if not any(name in n.output for n in nodes if id(n) in own)]
    heads = tuple(dict.fromkeys(cuts))
    own -= {id(node) for node in needed(nodes, heads)}
    for node in nodes:  # shapes of the tensors that the client computes
        made = any(not {*node.input}.isdisjoint(other.output) for other in nodes
                   if id(other) in own)  # fmt: skip
        own |= {id(node)} if made else set()
    network = tuple(node for node in nodes if id(node) not in own)
    tail = tuple(node for node in nodes if id(node) in own)
    if len(heads) == 1 and source not in heads:
        return Split(network, heads[0], tail, outputs)
    return Split(network, HEADS, tail, outputs, heads)


def cut_of(
    outputs: tuple[str, ...],
    nodes: Sequence[onnx.NodeProto],
    source: str,
    live: Collection[str],
    kept: Collection[str],
) -> Split | None:
    """The nodes cut at one tensor, if all outputs are functions of one. A single output is."""
    tensors = [source, *(name for node in nodes for name in node.output if name in live)]
    cuts = [name for name in tensors if cuts_off(name, nodes, outputs, live, kept)]
    if not cuts:
        return None
    # If the model consists only of such functions, all of it is computed encrypted.
    cut = cuts[0] if cuts[0] != source else cuts[-1]
    cut = behind_constants(cut, nodes, outputs, live)
    behind = reached(cut, nodes)
    network = tuple(node for node in nodes if id(node) not in behind)
    tail = tuple(node for node in nodes if id(node) in behind)
    return Split(network, cut, tail, outputs)


def joined(
    parts: Sequence[Split], nodes: Sequence[onnx.NodeProto], outputs: tuple[str, ...]
) -> Split:
    """Outputs that are cut off each for itself as functions of one tensor, which has all cuts."""
    if len(parts) == 1 and not parts[0].heads:
        return parts[0]
    heads = tuple(dict.fromkeys(cut for part in parts for cut in part.heads or (part.cut,)))
    before = {id(node) for part in parts for node in part.network}
    behind = {id(node) for part in parts for node in part.tail}
    flat = [f"{HEADS}.{place}" for place in range(len(heads))]
    ends = [
        *(helper.make_node("Flatten", [head], [name], name, axis=1)
          for head, name in zip(heads, flat, strict=True)),
        helper.make_node("Concat", flat, [HEADS], HEADS, axis=1),
    ]  # fmt: skip
    network = (*(node for node in nodes if id(node) in before), *ends)
    tail = tuple(node for node in nodes if id(node) in behind)
    return Split(network, HEADS, tail, outputs, heads)


def chosen(model: onnx.ModelProto, outputs: Collection[str] | None) -> tuple[str, ...]:
    """The names of the outputs to compute."""
    known = [entry.name for entry in model.graph.output]
    if not known:
        raise NetworkError("the model has no output")
    strange = [name for name in outputs or () if name not in known]
    if strange:
        raise NetworkError(f"the model has no output {strange[0]!r}, its outputs are "
                           f"{', '.join(known)}")  # fmt: skip
    return tuple(name for name in known if not outputs or name in outputs)


def needed(nodes: Sequence[onnx.NodeProto], names: Iterable[str]) -> list[onnx.NodeProto]:
    """The nodes on which the named tensors depend, in order."""
    wanted, found = set(names), []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.output):
            wanted.update(node.input)
            found.append(node)
    return found[::-1]


def living(nodes: Sequence[onnx.NodeProto], source: str) -> set[str]:
    """Tensors whose numbers depend on the numbers of the input. A shape does not."""
    live = {source}
    for node in nodes:
        if node.op_type != "Shape" and not live.isdisjoint(node.input):
            live.update(name for name in node.output if name)
    return live


def reached(name: str, nodes: Sequence[onnx.NodeProto]) -> set[int]:
    """Identities of the nodes that read a tensor, directly or indirectly."""
    tensors, found = {name}, set()
    for node in nodes:
        if not tensors.isdisjoint(node.input):
            tensors.update(node.output)
            found.add(id(node))
    return found


def cuts_off(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    outputs: Iterable[str],
    live: Collection[str],
    kept: Collection[str],
) -> bool:
    """True if all outputs are allowed functions of one tensor."""
    behind = reached(name, nodes)
    made = {name}
    for node in nodes:
        if id(node) not in behind:
            continue
        if node.op_type not in ALLOWED | {"ZipMap"} or node.op_type in kept:
            return False
        if any(part in live and part not in made for part in node.input):
            return False
        made.update(node.output)
    return made.issuperset(outputs)


def behind_constants(
    cut: str, nodes: Sequence[onnx.NodeProto], outputs: Collection[str], live: Collection[str]
) -> str:
    """The cut moved past the linear operators that alone follow it."""
    while cut not in outputs:
        readers = [node for node in nodes if cut in node.input]
        if len(readers) != 1 or readers[0].op_type not in LINEAR:
            break
        if sum(name in live for name in readers[0].input) != 1:
            break
        cut = readers[0].output[0]
    return cut


def tail_of(
    parts: Split,
    model: onnx.ModelProto,
    shapes: Sequence[Sequence[int]],
    known: Callable[[str], Array],
) -> Tail:
    """The tail as a model. ``known`` has the constants that it reads.

    ``shapes`` has the shape of the cut, with the batch axis, or the cuts of all heads.
    """
    if not parts.tail and not parts.heads:
        return Tail()
    cuts = parts.heads or (parts.cut,)
    check_axes(parts, model, dict(zip(cuts, shapes, strict=True)))
    made = {*cuts, *(name for node in parts.tail for name in node.output)}
    wanted = dict.fromkeys(name for node in parts.tail for name in node.input if name)
    held = [numpy_helper.from_array(known(name), name) for name in wanted if name not in made]
    nodes = [as_reference(node, parts.cut) for node in parts.tail]
    if parts.cut in parts.outputs:
        nodes.append(helper.make_node("Identity", [INPUT], [parts.cut]))
    first, places = taken_apart(parts.heads, shapes)
    outputs = [helper.make_empty_tensor_value_info(name) for name in parts.outputs]
    given = helper.make_tensor_value_info(INPUT, kind_of(model, parts.cut), None)
    graph = helper.make_graph([*first, *nodes], "tail", [given], outputs, [*places, *held])
    versions = {entry.domain: entry.version for entry in model.opset_import}
    versions.setdefault(QONNX, 1)
    if any(node.op_type in {"QuantizeLinear", "DequantizeLinear"} for node in parts.tail):
        # The reference implementation has no older ones. Integers of 8 bits are the same in 19.
        versions[""] = max(versions.get("", 1), 19)
    if parts.heads and max(versions.get("", 1), versions.get("ai.onnx", 1)) < 5:
        raise NetworkError("several outputs that are functions of different tensors need opset 5 "
                           "or more: convert the model with onnx.version_converter, or choose one "
                           "of them with --output-name, in Python outputs=")  # fmt: skip
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    small = helper.make_model(graph, opset_imports=imports, ir_version=model.ir_version)
    found = Tail(small.SerializeToString(), batched=False)
    numbers = sum(int(np.prod(shape[1:])) for shape in shapes)
    shape = (shapes[0][0], numbers) if parts.heads else shapes[0]
    held_names = {tensor.name for tensor in model.graph.initializer}
    fixed = any(batch.dim_value == 1 for entry in model.graph.input
                for batch in entry.type.tensor_type.shape.dim[:1]
                if entry.name not in held_names)  # fmt: skip
    return Tail(found.model, batched=goes_together(found, shape, fixed=fixed))


def taken_apart(
    heads: Sequence[str], shapes: Sequence[Sequence[int]]
) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Nodes that give the heads from the tail's input, in their shapes, and the constants that
    these nodes read."""
    nodes, held, start = [], [], 0
    for name, shape in zip(heads, shapes if heads else (), strict=True):
        numbers = int(np.prod(shape[1:]))
        places, sides, flat = (f"{HEADS}.{name}.{kind}" for kind in ("places", "sides", "flat"))
        nodes.append(helper.make_node("Gather", [INPUT, places], [flat], axis=1))
        nodes.append(helper.make_node("Reshape", [flat, sides], [name]))
        held.append(numpy_helper.from_array(np.arange(start, start + numbers), places))
        held.append(numpy_helper.from_array(np.array([0, *shape[1:]]), sides))
        start += numbers
    return nodes, held


def check_axes(parts: Split, model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> None:
    """Refuse operators that are over several axes in old models but over one in the reference.

    Before opset 13, a softmax is over all axes from its own on.
    """
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
    if opset >= 13:
        return
    sides = {entry.name: [side.dim_value for side in entry.type.tensor_type.shape.dim]
             for entry in inferred(model)} | {n: list(s) for n, s in shapes.items()}  # fmt: skip
    for node in parts.tail:
        if node.op_type not in {"Softmax", "LogSoftmax", "Hardmax"}:
            continue
        given = {a.name: a.i for a in node.attribute}
        known = sides.get(node.input[0], [0, 0, 0])
        axis = given.get("axis", 1) % max(len(known), 1)
        if any(side != 1 for side in known[axis + 1 :]):
            raise NetworkError(f"node {node.name or node.output[0]} ({node.op_type}): is over axis "
                               f"{axis} and those after it, as before opset 13; convert the model "
                               "with onnx.version_converter to opset 13 or more")  # fmt: skip


def as_reference(node: onnx.NodeProto, cut: str) -> onnx.NodeProto:
    """A node in the form that the reference implementation evaluates, with the tail's own input."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    for place, name in enumerate(found.input):
        if name == cut:
            found.input[place] = INPUT
    if found.op_type in QUANTISERS:
        found.domain = QONNX
    if found.op_type == "ZipMap":  # gives words and numbers; numbers are enough
        found.op_type, found.domain = "Identity", ""
        del found.attribute[:]
    return found


def kind_of(model: onnx.ModelProto, name: str) -> int:
    """The type of a tensor if ONNX's inference finds it, otherwise single precision."""
    for entry in inferred(model):
        kind = entry.type.tensor_type.elem_type
        if entry.name == name and kind in (TensorProto.DOUBLE, TensorProto.FLOAT16):
            return int(kind)
    return int(TensorProto.FLOAT)


def inferred(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The types and shapes of tensors that ONNX's inference finds."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # inference fails on some valid models
        graph = model.graph
    return [*graph.value_info, *graph.output, *graph.input]


def goes_together(tail: Tail, shape: Sequence[int], *, fixed: bool = False) -> bool:
    """True if several inputs together give the same results as each input alone.

    A model whose batch is ``fixed`` may have functions that only one input at a time has.

    Raises
    ------
    NetworkError
        If the model, of an open batch, mixes the inputs of a batch.
    """
    real = np.random.default_rng(1).normal(size=(2, *shape[1:]))
    try:
        alone = tail.run(real)
    except ValueError as error:
        raise NetworkError("an output of the model is one number for all images of a batch, "
                           "expected a first axis for the images") from error  # fmt: skip
    for name, array in alone.items():
        if len(array) != len(real):
            raise NetworkError(f"the output {name} has {len(array)} rows for {len(real)} images: "
                               "the model mixes the images of a batch")  # fmt: skip
    together = replace(tail, batched=True)
    try:
        found = together.run(real)
    except NetworkError:
        return False
    for x in () if fixed else (real, np.abs(real)):
        each, both = tail.run(x), together.run(x)
        mixed = [name for name in each if not alike(each[name], both[name])]
        if mixed:
            raise NetworkError(f"the output {mixed[0]} of an input depends on the inputs beside it"
                               f"{culprit(tail)}: the model mixes the images of a batch, whose "
                               "answers come one by one; let it work along the other axes, such "
                               "as axis=-1")  # fmt: skip
    return all(
        alone[name].shape == found[name].shape and np.array_equal(alone[name], found[name])
        for name in alone
    )


def alike(alone: Array, together: Array) -> bool:
    """True if two arrays have the same numbers in the same order, in whatever shape."""
    if alone.size != together.size:
        return False
    if alone.dtype.kind != "f":
        return np.array_equal(alone.ravel(), together.ravel())
    return np.allclose(alone.ravel(), together.ravel(), rtol=1e-3, atol=1e-5, equal_nan=True)


def culprit(tail: Tail) -> str:
    """The nodes of a tail that work along the first axis, in words."""
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in tail.proto.graph.initializer}
    found = []
    for node in tail.proto.graph.node:
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        axes = given.get("axes", [given["axis"]] if "axis" in given else [])
        if node.op_type.startswith("Reduce"):
            axes = [*axes, *(held[n].ravel().tolist() for n in node.input[1:] if n in held)]
            axes = np.ravel(axes).tolist() or [0]
        if 0 in axes and node.op_type in REDUCTIONS | FUNCTIONS:
            found.append(f"node {node.name or node.output[0]} ({node.op_type})")
    return f", by {', '.join(found)} along the first axis" if found else ""
