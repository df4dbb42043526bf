"""From an ONNX file to a float graph."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import onnx.inliner
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.ends.interface import Gives, Interface, Takes
from palladion.nn.ends.tail import ALLOWED
from palladion.nn.floats.graph import Graph
from palladion.nn.importer import (
    arithmetic,
    elementwise,
    linear,
    moves,
    normalisation,
    onnx_file,
    pooling,
)
from palladion.nn.importer.arrange import filled
from palladion.nn.importer.constants import OWN, fold
from palladion.nn.importer.context import (
    Array,
    Builder,
    Constant,
    Handler,
    Op,
    Tensor,
    Value,
)
from palladion.nn.importer.front import cut_off, encoded
from palladion.nn.importer.inputs import source
from palladion.nn.importer.learning import written_out
from palladion.nn.importer.limits import check_sizes
from palladion.nn.importer.onnx_file import FAULTS, first_line
from palladion.nn.importer.operators import by_kind
from palladion.nn.importer.reasons import PAGE, REASONS, reason
from palladion.nn.importer.simplify import simplify
from palladion.nn.importer.split import QUANTISERS, Split, chosen, living, needed, split, tail_of
from palladion.nn.importer.tidy import ordered, tidied, with_batch_axis

ENTRIES: Final = (
    *arithmetic.OPERATORS,
    *elementwise.OPERATORS,
    *linear.OPERATORS,
    *moves.OPERATORS,
    *pooling.OPERATORS,
)
"""All operators that nodes of the network may have. QONNX's occur in domains of several names."""

HANDLERS: Final[dict[str, Handler]] = by_kind(ENTRIES)

NO_SOFTMAX: Final = "the model has no softmax, so keeping it changes nothing"
"""Note on a model without what ``keep_softmax`` is for."""

FOREIGN: Final = {(domain, entry.kind) for entry in ENTRIES for domain in entry.foreign}
"""Operators of other domains, in addition to the quantisers."""


def load(
    path: str | os.PathLike[str],
    *,
    keep_softmax: bool = False,
    outputs: Collection[str] | None = None,
) -> Graph:
    """Read an ONNX model.

    With ``keep_softmax``, a softmax at the end is computed encrypted; otherwise the client computes
    it. ``outputs`` names the wanted outputs. Default: all.

    Raises
    ------
    NetworkError
        If the file is not an ONNX model, or has an unsupported part. The message names the node,
        its operator, and the supported forms.
    """
    model = onnx_file.read(path)
    return from_model(model, Path(path).stem, keep_softmax=keep_softmax, outputs=outputs)


def from_model(
    model: onnx.ModelProto,
    name: str = "",
    *,
    keep_softmax: bool = False,
    outputs: Collection[str] | None = None,
) -> Graph:
    """The float graph of a model in memory. Raises as :func:`load`."""
    model = ordered(model)
    check(model)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    model = with_batch_axis(tidied(model))
    written = written_out(normalisation.written_out(model))
    model = written.model
    constants = {tensor.name: Constant(array(tensor)) for tensor in model.graph.initializer}
    if model.graph.sparse_initializer:
        raise NetworkError("the model has sparse tensors, supported are dense ones")
    origin = source([entry for entry in model.graph.input if entry.name not in constants])
    head = None
    front = cut_off(model, origin, written.tests) if written.tests else encoded(model, origin)
    if front is not None:
        head = Takes(origin.name, origin.sides, head=front.head)
        model, origin = front.model, front.source
        constants = {tensor.name: Constant(array(tensor)) for tensor in model.graph.initializer}
    try:
        parts = split(model, outputs, {"Softmax"} if keep_softmax else ())
    except NetworkError as error:
        unknown = refusal(model, needed(model.graph.node, chosen(model, outputs)))
        raise (unknown or error) from None
    found: list[tuple[int, Graph]] = []
    failed: list[NetworkError] = []
    for arrangement in origin.arrangements():
        builder = Builder(opset=version(model), tensors=dict(constants))
        try:
            takes = origin.add(builder, arrangement)
            graph = built(builder, head or takes, parts, model)
        except NetworkError as error:
            failed.append(error)
            continue
        graph = replace(graph, name=name or model.graph.name or "network",
                        largest=written.largest.get(parts.cut))  # fmt: skip
        if keep_softmax and all(node.op_type != "Softmax" for node in parts.network):
            graph = replace(graph, notes=(*graph.notes, NO_SOFTMAX))
        found.append((builder.moved, graph))
        if not builder.moved:
            break
    if not found:
        live = living(parts.network, origin.name)
        unknown = refusal(model, (n for n in parts.network if not live.isdisjoint(n.input)))
        raise unknown or failed[0]
    return min(found, key=lambda pair: pair[0])[1]


def refusal(model: onnx.ModelProto, nodes: Iterable[onnx.NodeProto]) -> NetworkError | None:
    """The error for the first operator that neither a network nor its tail can have, if any.

    Other unsupported operators often occur only because of such operators.
    """
    for node in nodes:
        if node.op_type not in HANDLERS and node.op_type in REASONS.keys() - ALLOWED:
            return Op(node, Builder(opset=version(model)), {}).refusal(reason(node.op_type))
    return None


def version(model: onnx.ModelProto) -> int:
    """The version of ONNX's own operators."""
    own = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return max(own, default=1)


def built(builder: Builder, takes: Takes, parts: Split, model: onnx.ModelProto) -> Graph:
    """The graph of a model whose input and constants are already in the builder."""
    for proto in parts.network:
        translate(builder, proto)
    output = real(builder, parts.cut)
    if output.labels.min() < 0:
        output = filled(
            Op(helper.make_node("Identity", [parts.cut], [parts.cut]), builder, {}), output
        )
    gives = given(builder, output, parts, model)
    if parts.heads:
        builder.notes.append(f"the outputs {', '.join(parts.outputs)} have heads of their own, "
                             "which one answer has together")  # fmt: skip
    if parts.tail:
        kinds = ", ".join(dict.fromkeys(node.op_type for node in parts.tail))
        after = ", ".join(parts.heads or (parts.cut,))
        builder.notes.append(f"after {after} the client computes, once decrypted: {kinds}")
    nodes = builder.nodes[: output.node + 1]
    graph = simplify("", nodes, builder.notes, Interface(takes, gives))
    check_sizes(graph)
    return graph


def real(builder: Builder, name: str) -> Value:
    """A tensor that the network gives."""
    found = builder.tensors.get(name)
    if not isinstance(found, Value) or found.quantised is not None:
        raise NetworkError(f"the output {name} does not depend on the input as a real number")
    return found


def check(model: onnx.ModelProto) -> None:
    """ONNX's own checks. They require that every domain is declared and every output has a
    shape."""
    newest = onnx.IR_VERSION
    if model.ir_version > newest:
        raise NetworkError(f"the model has ir_version {model.ir_version}, onnx {onnx.__version__}, "
                           f"which is installed, reads up to {newest}: pip install --upgrade "
                           "onnx, or save the model for an older version")  # fmt: skip
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    for entry in checked.graph.output:
        if entry.type.HasField("tensor_type"):
            entry.type.tensor_type.shape.SetInParent()
    domains = {entry.domain for entry in model.opset_import}
    for domain in {node.domain for node in model.graph.node} - domains - {"", "ai.onnx"}:
        checked.opset_import.append(helper.make_opsetid(domain, 1))
    try:
        onnx.checker.check_model(checked)
    except onnx.checker.ValidationError as error:
        raise NetworkError(f"the model is not valid ONNX: {first_line(error)}") from error
    except FAULTS as error:
        raise NetworkError(f"the model cannot be checked: {first_line(error)}") from error


def array(tensor: TensorProto) -> Array:
    """A tensor of the model."""
    try:
        found: Array = numpy_helper.to_array(tensor)
    except (*FAULTS, onnx.checker.ValidationError) as error:
        raise NetworkError(f"tensor {tensor.name} cannot be read: {first_line(error)}") from error
    return found


def translate(builder: Builder, proto: onnx.NodeProto) -> None:
    """Pass one node to its handler. Errors name the node."""
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    op = Op(proto, builder, attributes)
    missing = [name for name in proto.input if name and name not in builder.tensors]
    if missing:
        op.fail(f"reads {missing[0]}, which nothing before it gives")
    if (
        proto.domain not in OWN
        and op.kind not in QUANTISERS
        and (proto.domain, op.kind) not in FOREIGN
    ):
        op.fail(
            REASONS.get(
                op.kind,
                f"is of domain {proto.domain}, supported are ONNX's own and "
                f"QONNX's Quant: export the model with ONNX's own operators; {PAGE}",
            )
        )
    try:
        found: Tensor | tuple[Tensor, ...] | None = fold(op)
        if found is None:
            handler = HANDLERS.get(proto.op_type)
            if handler is None:
                op.fail(reason(op.kind))
            found = handler(op)
    except NetworkError:
        raise
    except (*FAULTS, onnx.checker.ValidationError) as error:
        op.fail(f"cannot be read: {first_line(error)}")
    outputs = [name for name in proto.output if name]
    for name, tensor in zip(outputs, found if isinstance(found, tuple) else (found,), strict=False):
        builder.tensors[name] = tensor


def given(builder: Builder, output: Value, parts: Split, model: onnx.ModelProto) -> Gives:
    """The model's outputs as functions of a value of the graph."""
    labels = output.labels.ravel()
    whole = np.array_equal(labels, np.arange(int(np.prod(builder.shape(output)))))

    def known(name: str) -> Array:
        found = builder.tensors.get(name)
        if isinstance(found, Constant):
            return found.array
        raise NetworkError(f"the end of the model reads {name}, which is no constant")

    for node in parts.tail:
        if node.op_type == "Dropout":
            moves.refuse_training(Op(node, builder, {}))
    shape = output.labels.shape
    cuts = [real(builder, name) for name in parts.heads] or [output]
    shapes = [(builder.batch, *cut.labels.shape) for cut in cuts]
    return Gives(
        shape,
        (1.0,),
        labels=() if whole else tuple(labels.tolist()),
        name=parts.cut,
        tail=tail_of(parts, model, shapes, known),
    )
