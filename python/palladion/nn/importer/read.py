"""From an ONNX file to a float graph."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import TensorProto, helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.graph import Graph, Input
from palladion.nn.importer import elementwise, layout, linear
from palladion.nn.importer.constants import fold
from palladion.nn.importer.context import (
    Array,
    Builder,
    Constant,
    Handler,
    Op,
    Value,
    in_order,
)
from palladion.nn.importer.ends import QUANTISERS, Ends, split, tail_of
from palladion.nn.importer.simplify import simplify
from palladion.nn.interface import Gives, Interface, Takes

HANDLERS: Final[dict[str, Handler]] = {
    **elementwise.HANDLERS,
    **layout.HANDLERS,
    **linear.HANDLERS,
}
"""By operator. QONNX's stand in domains of several names."""

FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
          RuntimeError, ArithmeticError, NotImplementedError, MemoryError)  # fmt: skip


def load(
    path: Path, *, keep_softmax: bool = False, outputs: Collection[str] | None = None
) -> Graph:
    """Read an ONNX model.

    ``keep_softmax`` has a softmax at its end computed encrypted, which the client computes else.
    ``outputs`` names those that are wanted, unless it is all.

    Raises
    ------
    NetworkError
        If the file is no ONNX model, or has something that is not supported. The message names
        the node, its operator, and what is supported.
    """
    try:
        model = onnx.load(str(path))
    except DecodeError as error:
        raise NetworkError(f"{path} is no ONNX model, or only a part of one: {error}") from error
    except FileNotFoundError as error:
        missing = error.filename or path
        raise NetworkError(f"{path}: {missing} is missing; weights in files of their own must lie "
                           "beside the model") from error  # fmt: skip
    except OSError as error:
        raise NetworkError(f"cannot read {path}: {error}") from error
    except onnx.checker.ValidationError as error:
        raise NetworkError(f"{path}: {first_line(error)}") from error
    except FAULTS as error:
        raise NetworkError(f"{path} is no readable ONNX model: {first_line(error)}") from error
    return from_model(model, path.stem, keep_softmax=keep_softmax, outputs=outputs)


def from_model(
    model: onnx.ModelProto,
    name: str = "",
    *,
    keep_softmax: bool = False,
    outputs: Collection[str] | None = None,
) -> Graph:
    """The float graph of a model in memory; raises as :func:`load`."""
    check(model)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)
    graph = model.graph
    builder = Builder(batch=1, opset=opset)
    for tensor in graph.initializer:
        builder.tensors[tensor.name] = Constant(array(tensor))
    if graph.sparse_initializer:
        raise NetworkError("the model has sparse tensors, supported are dense ones")
    inputs = [entry for entry in graph.input if entry.name not in builder.tensors]
    if len(inputs) != 1:
        names = ", ".join(entry.name for entry in inputs)
        raise NetworkError(f"the model has {len(inputs)} inputs ({names}), supported is one: make "
                           "constants of the others, or join them into one tensor that the model "
                           "cuts up")  # fmt: skip
    ends = split(model, outputs, {"Softmax"} if keep_softmax else ())
    takes = add_input(builder, inputs[0], ends.network)
    for proto in ends.network:
        translate(builder, proto)
    output = builder.tensors.get(ends.cut)
    if not isinstance(output, Value) or output.quantised is not None:
        raise NetworkError(f"the output {ends.cut} does not depend on the input as a real number")
    gives = given(builder, output, ends, model)
    if ends.tail:
        kinds = ", ".join(dict.fromkeys(node.op_type for node in ends.tail))
        builder.notes.append(f"after {ends.cut} the client computes, once decrypted: {kinds}")
    nodes = builder.nodes[: output.node + 1]
    interface = Interface(takes, gives)
    return simplify(name or graph.name or "network", nodes, builder.notes, interface)


def check(model: onnx.ModelProto) -> None:
    """ONNX's own checks, which want every domain declared and a shape for each output."""
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
    """A tensor of the model, which must hold finite numbers."""
    try:
        found: Array = numpy_helper.to_array(tensor)
    except (*FAULTS, onnx.checker.ValidationError) as error:
        raise NetworkError(f"tensor {tensor.name} cannot be read: {first_line(error)}") from error
    if found.dtype.kind == "V" or found.dtype.name in ("bfloat16",):
        found = found.astype(np.float32)
    if not finite(found):
        raise NetworkError(f"tensor {tensor.name} holds NaN or infinite values")
    return found


def finite(values: Array) -> bool:
    """Whether no element is NaN or infinite."""
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())


def add_input(
    builder: Builder, entry: onnx.ValueInfoProto, nodes: Sequence[onnx.NodeProto]
) -> Takes:
    """The input node, in order channel, row, column, and what the model takes."""
    if entry.type.tensor_type.elem_type not in (TensorProto.FLOAT, TensorProto.FLOAT16,
                                                TensorProto.DOUBLE):  # fmt: skip
        raise NetworkError(f"input {entry.name} is not of floating point, supported is that")
    sizes = [d.dim_value if d.HasField("dim_value") else 0
             for d in entry.type.tensor_type.shape.dim]  # fmt: skip
    if len(sizes) not in (2, 3, 4) or min(sizes[1:]) < 1:
        raise NetworkError(f"input {entry.name} has shape {sizes} (0 for an open one), supported "
                           "are (N, C, H, W), (N, H, W) and (N, features), N open")  # fmt: skip
    builder.batch = max(sizes[0], 1)
    rest = sizes[1:]
    padded = [1, *rest] if len(rest) == 2 else [*rest, 1, 1]
    shape = (padded[0], padded[1], padded[2])
    readers = [node for node in nodes if entry.name in node.input]
    orders = {tuple(a.ints) for node in readers for a in node.attribute if a.name == "perm"}
    last = len(rest) == 3 and orders == {(0, 3, 1, 2)}
    order: tuple[int, ...] = ()
    if last and all(node.op_type == "Transpose" for node in readers):
        shape = (rest[2], rest[0], rest[1])
        labels, order = in_order(shape).transpose(1, 2, 0), (2, 0, 1)
    else:
        labels = in_order(shape).reshape(rest)
    builder.add(Input(entry.name, (), shape, np.zeros(shape[0]), np.ones(shape[0])))
    builder.tensors[entry.name] = Value(0, labels)
    return Takes(entry.name, tuple(rest), order)


def translate(builder: Builder, proto: onnx.NodeProto) -> None:
    """Hand one node to its handler; whatever goes wrong is said with the node's name."""
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    op = Op(proto, builder, attributes)
    known = ("", "ai.onnx")
    missing = [name for name in proto.input if name and name not in builder.tensors]
    if missing:
        op.fail(f"reads {missing[0]}, which nothing before it gives")
    if proto.domain not in known and proto.op_type not in QUANTISERS | {"Gelu", "BiasGelu"}:
        op.fail(f"is of domain {proto.domain}, supported are ONNX's own and QONNX's Quant")
    try:
        found: Constant | Value | None = fold(op)
        if found is None:
            handler = HANDLERS.get(proto.op_type)
            if handler is None:
                supported = ", ".join(sorted(HANDLERS))
                op.fail(f"is not supported; supported are {supported}")
            found = handler(op)
    except NetworkError:
        raise
    except (*FAULTS, onnx.checker.ValidationError) as error:
        op.fail(f"cannot be read: {first_line(error)}")
    if isinstance(found, Constant) and not finite(found.array):
        op.fail("gives NaN or infinite values")
    builder.tensors[proto.output[0]] = found


def given(builder: Builder, output: Value, ends: Ends, model: onnx.ModelProto) -> Gives:
    """What the model gives from a value of the graph on."""
    labels = output.labels.ravel()
    whole = np.array_equal(labels, np.arange(int(np.prod(builder.shape(output)))))

    def known(name: str) -> Array:
        found = builder.tensors.get(name)
        if isinstance(found, Constant):
            return found.array
        raise NetworkError(f"the end of the model reads {name}, which is no constant")

    shape = output.labels.shape
    return Gives(
        shape,
        (1.0,),
        labels=() if whole else tuple(labels.tolist()),
        name=ends.cut,
        tail=tail_of(ends, model, (builder.batch, *shape), known),
    )


def first_line(error: BaseException) -> str:
    """What an error of another library says, in one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"
