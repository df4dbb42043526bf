"""Guards the functions at the end of a model: they stay in their domain as in the float model.

The client computes these functions on numbers with a small error. The square root of 0 may become
that of a small negative number, which is NaN. A quotient by a small number may become one by 0. If
the float model never leaves a function's domain on the calibration data, a guard moves numbers
beyond the domain back into it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import onnx
from onnx import helper, numpy_helper

from palladion.errors import NetworkError
from palladion.nn.ends.interface import Gives
from palladion.nn.ends.tail import Tail
from palladion.nn.floats.graph import Array

DOMAIN_INPUTS: Final = 256
"""Number of inputs that show whether the float model leaves a domain."""

OPSET: Final = 9
"""The first version of ONNX with all operators of a guard."""


def add_guards(gives: Gives, reference: Array) -> Gives:
    """The outputs with guards. ``reference`` are the float model's last values, (N, values)."""
    if not gives.tail.model:
        return gives
    proto = gives.tail.proto
    versions = [o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")]
    places = {place: find_guarded_input(node, proto) for place, node in enumerate(proto.graph.node)}
    wanted = {place: which for place, which in places.items() if which is not None}
    if not wanted or max(versions, default=1) < OPSET:
        return gives
    names = sorted({proto.graph.node[p].input[which] for p, which in wanted.items()} - {Tail.INPUT})
    rows = np.unique(np.linspace(0, len(reference) - 1, DOMAIN_INPUTS).astype(int))
    outputs = gives.ordered(reference[rows])
    try:
        values = {Tail.INPUT: outputs, **evaluate_tensors(gives.tail, names, outputs)}
    except (NetworkError, ValueError):  # the tail does not run on single rows
        return gives
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    del model.graph.node[:]
    for place, node in enumerate(proto.graph.node):
        guarded = onnx.NodeProto()
        guarded.CopyFrom(node)
        if (which := wanted.get(place)) is not None:
            name = node.input[which]
            kind = values[name].dtype if name != Tail.INPUT else gives.tail.input_type
            guard = choose_guard(node.op_type, values[name].astype(kind))
            guarded.input[which] = add_guard(model, name, f"palladion.guard.{place}", guard)
        model.graph.node.append(guarded)
    return replace(gives, tail=replace(gives.tail, model=model.SerializeToString()))


def find_guarded_input(node: onnx.NodeProto, proto: onnx.ModelProto) -> int | None:
    """The index of a node's input that has a domain, if there is one."""
    held = {tensor.name: tensor for tensor in proto.graph.initializer}
    if node.op_type in {"Sqrt", "Log", "Reciprocal"}:
        return 0
    if node.op_type == "Div" and node.input[1] not in held:
        return 1
    if node.op_type == "Pow" and node.input[1] in held and node.input[0] not in held:
        exponent = numpy_helper.to_array(held[node.input[1]])
        whole = np.array_equal(exponent, np.rint(exponent)) and exponent.min() >= 0
        return None if whole else 0
    return None


def evaluate_tensors(tail: Tail, names: list[str], outputs: Array) -> dict[str, Array]:
    """The values of tensors inside a tail."""
    if not names:
        return {}
    proto = onnx.ModelProto()
    proto.CopyFrom(tail.proto)
    del proto.graph.output[:]
    proto.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    return Tail(proto.SerializeToString(), tail.batched).run(outputs)


def choose_guard(kind: str, values: Array) -> tuple[str, Array, Array] | None:
    """The operator and the constant of the test for the domain, and the replacement outside it."""
    if values.dtype.kind != "f" or not values.size or not np.isfinite(values).all():
        return None
    zero = np.zeros((), values.dtype)
    if kind == "Sqrt" and values.min() >= 0:
        return "Greater", zero, zero
    if kind == "Pow" and values.min() > 0:
        return "Greater", zero, round_down(values.min())
    if kind == "Pow" and values.min() == 0:
        return "Greater", zero, zero
    if values.min() > 0:
        return "Greater", zero, round_down(values.min())
    if kind in {"Div", "Reciprocal"} and values.max() < 0:
        return "Less", zero, round_down(values.max())
    return None


def round_down(value: np.floating[Any]) -> Array:
    """The nearest ``0.7 * 2**k`` with a whole ``k`` that is not further from 0.

    Last bits of values inside a tail differ between machines, and these numbers do not. They are no
    powers of two, since values such as 1 are frequent.
    """
    mantissa, exponent = np.frexp(np.abs(np.float64(value)))
    size = np.ldexp(0.7, exponent - (mantissa < 0.7))
    return np.asarray(np.copysign(size, value), dtype=value.dtype)


def add_guard(
    model: onnx.ModelProto, name: str, prefix: str, guard: tuple[str, Array, Array] | None
) -> str:
    """Adds a guard of the tensor ``name`` if it has one, and returns the guarded tensor's name."""
    if guard is None:
        return name
    test, constant, instead = guard
    held = [numpy_helper.from_array(np.asarray(array), f"{prefix}.{word}")
            for word, array in (("constant", constant), ("instead", instead))]  # fmt: skip
    model.graph.initializer.extend(held)
    model.graph.node.append(helper.make_node(test, [name, held[0].name], [f"{prefix}.inside"]))
    model.graph.node.append(
        helper.make_node("Where", [f"{prefix}.inside", name, held[1].name], [prefix])
    )
    return prefix
