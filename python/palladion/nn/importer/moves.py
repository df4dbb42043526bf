"""Operators that move elements: they change labels and compute nothing.

ONNX's reference implementation moves the labels of a whole batch as if they were values. This shows
whether each image keeps its own elements. Here labels are counted from 1, since the implementation
fills gaps with 0."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from onnx import helper

from palladion.nn.floats.expression import Expression, apply, constant
from palladion.nn.importer.arrange import function_of, matrix
from palladion.nn.importer.constants import by_reference, run
from palladion.nn.importer.context import Array, Constant, Handler, Op, Value, in_order
from palladion.nn.importer.operators import FREE, Operator, alike
from palladion.nn.importer.writer import DOMAIN


def tensor(op: Op) -> Value:
    """The first input, which may be between QuantizeLinear and DequantizeLinear."""
    found = op.tensor(0)
    if isinstance(found, Constant):
        op.fail("looks up places that depend on the input, as an embedding does; give the network "
                "the vectors that it would find, or one-hot vectors and MatMul")  # fmt: skip
    return found


def move(op: Op) -> tuple[Value, ...]:
    """The outputs of an operator that only moves elements."""
    value = tensor(op)
    for index in range(1, len(op.proto.input)):
        if op.has(index) and isinstance(op.tensor(index), Value):
            op.fail(f"input {index} depends on the network's input, supported are constants")
    # A batch of two shows whether images stay separate. Some models have a fixed batch of one.
    failed: Exception | None = None
    for batch in dict.fromkeys((max(op.builder.batch, 2), op.builder.batch)):
        try:
            given = batched(value.labels.shape, batch)
            found = [unbatched(array, batch, value.labels) for array in run(op, {0: given})]
        except (ValueError, TypeError, IndexError, RuntimeError, AttributeError) as error:
            failed = error
            continue
        labels = [part for part in found if part is not None]
        if len(labels) == len(found):
            if any(part.size == 0 for part in labels):
                op.fail("leaves nothing")
            return tuple(value.seen(part) for part in labels)
    if failed is not None:
        reason = (str(failed).strip().splitlines() or [""])[0]
        op.fail(f"does not work on shape {('N', *value.labels.shape)}: {reason}")
    raise op.refusal("moves or mixes the batch axis: each image must stay by itself; keep the "
                     "first axis as it is")  # fmt: skip


def batched(shape: tuple[int, ...], batch: int) -> Array:
    """Numbers from 1 on for the elements of several images, image after image."""
    return in_order((batch, *shape)) + 1


def unbatched(found: Array, batch: int, labels: Array) -> Array | None:
    """One image's labels, if every image has moved alike and separately; otherwise ``None``."""
    if found.ndim < 1 or found.shape[0] != batch:
        return None
    first = found[0].astype(np.int64)
    if first.size and (first.max() > labels.size or first.min() < 0):
        return None
    shift = np.arange(batch).reshape(-1, *[1] * first.ndim) * labels.size
    if not np.array_equal(found, np.where(first[None] == 0, 0, first[None] + shift)):
        return None
    return np.where(first == 0, -1, labels.ravel()[first - 1])


def identity(op: Op) -> Value:
    return tensor(op)


def dropout(op: Op) -> Value:
    """Dropout in inference: nothing is dropped."""
    if len([name for name in op.proto.output if name]) > 1:
        op.fail("gives its mask, which another node or an output of the model reads: it says "
                "nothing in inference; export the model in eval mode")  # fmt: skip
    refuse_training(op)
    return tensor(op)


def refuse_training(op: Op) -> None:
    """Refuse a Dropout that drops something."""
    training = op.has(2) and bool(np.any(op.constant(2).array))
    if training and not (op.has(1) and float(op.numbers(1).reshape(-1)[0]) == 0):
        op.fail("is in training mode; export the model in eval mode")


def pad(op: Op) -> Value:
    """Padding with zeros, another constant, or elements of the value."""
    value = op.value()
    filling = 0.0
    if op.has(2):
        filling = float(op.numbers(2).reshape(-1)[0])
    elif "value" in op.attributes:
        filling = float(op.attributes["value"])
    if op.text("mode", "constant") != "constant" or filling == 0:
        return move(op)[0]

    def less(x: Expression) -> Expression:
        return apply("sub", x, constant(filling))

    def more(x: Expression) -> Expression:
        return apply("add", x, constant(filling))

    names = [f"{op.name}.less", *op.proto.input[1:2]]
    names += ["", *op.proto.input[3:]] if len(op.proto.input) > 3 else []
    proto = type(op.proto)()
    proto.CopyFrom(op.proto)
    del proto.input[:], proto.attribute[:]
    proto.input.extend(names)
    proto.attribute.extend(a for a in op.proto.attribute if a.name != "value")
    op.builder.tensors[names[0]] = function_of(op, value, less)
    return function_of(op, move(replace(op, proto=proto))[0], more)


def resize(op: Op) -> Value:
    """Resize. Nearest neighbours are a move of elements, linear and cubic interpolation a
    matrix."""
    value, op = op.value(), as_later_set(op)
    others = [index for index in range(1, len(op.proto.input)) if op.has(index)]
    for index in others:
        op.constant(index)
    if op.text("mode", "nearest") == "nearest":
        return move(op)[0]
    return matrix(op, value, by_reference(op))


def as_later_set(op: Op) -> Op:
    """Resize of opset 10 as that of later sets, in which its rule for places has a name."""
    if op.kind != "Resize" or op.builder.opset > 10:
        return op
    proto = helper.make_node(
        "Resize", [op.proto.input[0], "", op.proto.input[1]], [*op.proto.output], op.proto.name,
        mode=op.text("mode", "nearest"), coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )  # fmt: skip
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    return Op(proto, replace(op.builder, opset=13), attributes)


def picked_features(op: Op) -> Value:
    """ArrayFeatureExtractor of ai.onnx.ml: some elements of the last axis."""
    value = op.value()
    chosen = op.constant(1).array.ravel().astype(np.int64)
    return value.seen(value.labels[..., chosen])


PLACES: Final = "indices and shapes constant"
SCALED: Final = (f"{FREE} (nearest); a matrix (linear, cubic)", "sizes constant")

OPERATORS: Final[tuple[Operator[Handler], ...]] = (
    *alike((
        "CenterCropPad", "Compress", "DepthToSpace", "Expand", "Flatten", "Gather",
        "GatherElements", "GatherND", "Reshape", "ReverseSequence", "Slice", "SpaceToDepth",
        "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze",
    ), lambda _: move, FREE, PLACES),
    Operator("Identity", identity, FREE, PLACES),
    Operator("Dropout", dropout, FREE, PLACES),
    Operator("Pad", pad, FREE,
             "all modes; a constant other than 0 is added by shifts"),
    Operator("Resize", resize, *SCALED),
    Operator("Upsample", resize, *SCALED),
    Operator("ArrayFeatureExtractor", picked_features, FREE, PLACES, (DOMAIN,)),
)  # fmt: skip
