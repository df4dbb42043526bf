"""Linear operators: convolution, matrix products, batch normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np

from palladion.nn.floats.geometry import Geometry
from palladion.nn.floats.graph import Conv, Dense
from palladion.nn.importer import phases
from palladion.nn.importer.arithmetic import add, scaled
from palladion.nn.importer.arrange import arranged, image, matrix, scattered
from palladion.nn.importer.constants import by_reference
from palladion.nn.importer.context import MAX_VALUES, Array, Constant, Handler, Op, Value
from palladion.nn.importer.operators import LINEAR, MATRIX, Operator
from palladion.nn.importer.reasons import ATTENTION
from palladion.nn.importer.sliding import geometry, picture, placed

TWO_VALUES = f"{ATTENTION}; one factor must be a constant of the model"


def by_matrix(op: Op) -> Value:
    """Any operator that is linear in its first input, with the others constant."""
    for index in range(1, len(op.proto.input)):
        if op.has(index):
            op.constant(index)
    return matrix(op, op.value(), by_reference(op))


def weights_of(op: Op, index: int) -> Array:
    """The weights, which must be constants of the model."""
    if isinstance(op.tensor(index), Value):
        op.fail(f"has weights (input {index}) that depend on the network's input, supported are "
                "constant weights")  # fmt: skip
    return op.numbers(index)


def conv(op: Op) -> Value:
    value, weights = op.value(), weights_of(op, 1)
    if weights.ndim != value.labels.ndim + 1:
        op.fail(f"has weights of rank {weights.ndim} for an input of rank {value.labels.ndim + 1}, "
                "expected the same rank: (N, C, L) for a one-dimensional convolution, (N, C, H, W) "
                "for a two-dimensional one")  # fmt: skip
    groups, channels = int(op.attributes.get("group", 1)), value.labels.shape[0]
    kernels, per_group = weights.shape[:2]
    if groups < 1 or per_group * groups != channels or kernels % groups:
        op.fail(f"has weights of shape {weights.shape} and {groups} groups for an input of shape "
                f"{('N', *value.labels.shape)}")  # fmt: skip
    bias = weights_of(op, 2) if op.has(2) else np.zeros(kernels)
    if bias.shape != (kernels,):
        op.fail(f"has a bias of shape {bias.shape}, expected ({kernels},)")
    over = picture(op, value)
    sliding = geometry(op, over, list(weights.shape[2:]))
    output = (kernels, *sliding.output(over.size))
    steps = grid(op.constant(1).steps)
    kernel = over.kernel(weights)
    node = Conv(op.name, (), output, kernel, bias, sliding, groups, steps)
    return placed(op, value, over, node)


def conv_transpose(op: Op) -> Value:
    """A convolution, whose outputs are phases if the stride is above 1, or a matrix."""
    value, weights = op.value(), weights_of(op, 1)
    places = value.labels.shape[1:]
    if weights.ndim != value.labels.ndim + 1 or len(places) not in (1, 2):
        op.fail(f"is over an input of shape {('N', *value.labels.shape)}, supported are (N, C, L) "
                "and (N, C, H, W)")  # fmt: skip
    over, rank = picture(op, value), len(places)
    groups, (channels, per_group) = int(op.attributes.get("group", 1)), weights.shape[:2]
    kernel = np.flip(weights, axis=tuple(range(2, weights.ndim)))
    kernel = kernel.reshape(groups, channels // groups, per_group, *weights.shape[2:])
    kernel = np.swapaxes(kernel, 1, 2).reshape(-1, channels // groups, *weights.shape[2:])
    dilation = over.pair([int(v) for v in op.attributes.get("dilations", (1,) * rank)], 1)
    stride = over.pair([int(v) for v in op.attributes.get("strides", (1,) * rank)], 1)
    spread = [(n - 1) * s + 1 for n, s in zip(over.size, stride, strict=True)]
    kernel = over.kernel(kernel)
    sliding = Geometry((kernel.shape[2], kernel.shape[3]), (1, 1), dilation)
    begin, sides = transposed(op, weights.shape[2:], places)
    output, before = over.pair(sides, 1), over.pair(begin, 0)
    if min(output) < 1:
        op.fail(f"gives an output of shape {sides}")
    pads = [span - 1 - pad for span, pad in zip(sliding.span, before, strict=True)]
    after = [out + span - 1 - n - pad for out, span, n, pad in
             zip(output, sliding.span, spread, pads, strict=True)]  # fmt: skip
    sliding = sliding.with_pads((pads[0], pads[1], after[0], after[1]))
    bias = weights_of(op, 2) if op.has(2) else np.zeros(len(kernel))
    node = Conv(op.name, (), (len(kernel), *output), kernel, bias, sliding, groups)
    if tuple(spread) == over.size:
        return placed(op, value, over, node)
    seen = value.seen(value.labels.reshape(over.shape))
    orders = [(seen.labels, (1, 1))] if over.node is not None else []
    for labels, (down, across) in [*orders, *phases.arrangements(seen.labels)]:
        factors = stride[0] * down, stride[1] * across
        found = phases.convolved(node, (spread[0], spread[1]), factors, step=stride)
        source = None if found is None else image(op, seen, labels)
        if found is not None and source is not None:
            return over.as_model(phases.added(op, source, found, node))

    def apart(x: Array) -> Array:
        wide = np.zeros((*x.shape[:2], *spread))
        wide[:, :, :: stride[0], :: stride[1]] = x
        return node.evaluate(wide)

    return over.as_model(matrix(op, seen, apart))


def transposed(op: Op, kernel: Sequence[int], places: Sequence[int]) -> tuple[list[int], list[int]]:
    """The number that ConvTranspose cuts off at the start of each axis, and its output's sides."""
    rank = len(places)

    def given(name: str, default: int) -> list[int]:
        return [int(v) for v in op.attributes.get(name, (default,) * rank)]

    stride, dilation, more = given("strides", 1), given("dilations", 1), given("output_padding", 0)
    mode = op.text("auto_pad", "NOTSET")
    explicit = [int(v) for v in op.attributes.get("pads", (0,) * 2 * rank)]
    wanted = op.attributes.get("output_shape")
    begin, sides = [], []
    for axis, (k, n) in enumerate(zip(kernel, places, strict=True)):
        whole = stride[axis] * (n - 1) + more[axis] + (k - 1) * dilation[axis] + 1
        if wanted is None and mode in ("NOTSET", "", "VALID"):
            pads = (0, 0) if mode == "VALID" else (explicit[axis], explicit[axis + rank])
            begin.append(pads[0])
            sides.append(whole - sum(pads))
            continue
        side = n * stride[axis] if wanted is None else int(wanted[len(wanted) - rank + axis])
        total = whole - side
        begin.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
        sides.append(side)
    return begin, sides


def grid(steps: Array | None) -> Array | None:
    """One step per row, if all weights of a row share it."""
    if steps is None:
        return None
    rows = steps.reshape(len(steps), -1)
    return rows[:, 0] if np.all(rows == rows[:, :1]) else None


def gemm(op: Op) -> Value:
    """``alpha A B + beta C``, with B constant."""
    if isinstance(op.tensor(0), Constant) or isinstance(op.tensor(1), Value):
        op.fail(TWO_VALUES if isinstance(op.tensor(0), Value) else "multiplies from the left, "
                "which mixes the images of a batch")  # fmt: skip
    if op.attributes.get("transA", 0):
        op.fail("has transA 1, which mixes the images of a batch, supported is 0")
    alpha, beta = (float(op.attributes.get(name, 1.0)) for name in ("alpha", "beta"))
    turn = bool(op.attributes.get("transB", 0))
    given = op.constant(1).moved(lambda array: array if turn else array.T)
    constant_bias = op.has(2) and isinstance(op.tensor(2), Constant)
    bias = beta * op.numbers(2) if constant_bias else np.zeros(1)
    value = op.value()
    if value.labels.ndim != 1 or given.array.ndim != 2:
        op.fail(f"works on an input of shape {('N', *value.labels.shape)} and weights of shape "
                f"{given.array.shape}, expected rank 2 for both")  # fmt: skip
    found = dense(op, value, given, alpha, bias)
    if op.has(2) and not constant_bias:
        added = scaled(op, op.value(2), np.full(op.value(2).labels.shape, beta))
        return add(op, found, added)
    return found


def matmul(op: Op) -> Value:
    """A product with a constant on either side, over the last axes."""
    left, right = op.tensor(0), op.tensor(1)
    if isinstance(left, Value) and isinstance(right, Value):
        op.fail(TWO_VALUES)
    index = 0 if isinstance(left, Value) else 1
    value, given = op.value(index), op.constant(1 - index)
    labels = value.labels
    from_left = index == 1
    if given.array.ndim != 2 or labels.ndim < 1 + from_left:
        if from_left and labels.ndim < 2:
            op.fail("multiplies from the left, which mixes the images of a batch")
        weights = given.array.astype(np.float64)
        if weights.ndim > labels.ndim and weights.shape[0] > 1:
            op.fail("multiplies by a constant that differs from image to image of a batch")
        return matrix(op, value, lambda x: np.matmul(*((x, weights)[:: 1 - 2 * index])))
    turned = given if from_left else given.moved(lambda array: array.T)
    seen = value.seen(np.swapaxes(labels, -1, -2)) if from_left else value
    if turned.array.shape[1] != seen.labels.shape[-1]:
        op.fail(f"has a matrix of shape {given.array.shape} for an input of shape "
                f"{('N', *labels.shape)}")  # fmt: skip
    found = over_last_axis(op, seen, turned)
    return found.seen(np.swapaxes(found.labels, -1, -2)) if from_left else found


def over_last_axis(op: Op, value: Value, given: Constant) -> Value:
    """A matrix (outputs, inputs) applied to the last axis, at every place of the other axes."""
    *places, inputs = value.labels.shape
    weights = np.asarray(given.array, dtype=np.float64)
    outputs, count = len(weights), prod(places)
    if count == 1:
        found = dense(op, value.seen(value.labels.reshape(-1)), given, 1.0, np.zeros(1))
        return found.seen(found.labels.reshape(*places, outputs))
    channels = np.moveaxis(value.labels, -1, 0)
    sides = op.builder.shape(value)[1:]
    wanted = [channels.reshape(inputs, *sides)] if prod(sides) == count else []
    wanted += [channels.reshape(inputs, count, 1), channels.reshape(inputs, 1, count)]
    node = arranged(op, value, wanted)
    if node is None:
        return matrix(op, value, lambda x: x @ weights.T)
    shape = (outputs, *wanted[node[0]].shape[1:])
    kernels, bias = weights[:, :, None, None], np.zeros(outputs)
    steps = grid(given.steps)
    made = Conv(op.name, (node[1],), shape, kernels, bias, Geometry(), 1, steps)
    found = op.builder.add(made)
    return found.seen(np.moveaxis(found.labels.reshape(outputs, *places), 0, -1))


def dense(op: Op, value: Value, given: Constant, alpha: float, bias: Array) -> Value:
    """A matrix (outputs, inputs) times a vector. Its columns follow the vector's labels."""
    weights = np.asarray(given.array, dtype=np.float64) * alpha
    outputs, inputs = weights.shape
    if inputs != value.labels.size:
        op.fail(f"has weights for {inputs} inputs, its input has {value.labels.size}")
    size = prod(op.builder.shape(value))
    if size * outputs > MAX_VALUES:
        op.fail(f"has {size * outputs} weights, supported are {MAX_VALUES}")
    try:
        spread = np.broadcast_to(bias, (1, outputs))[0]
    except ValueError:
        op.fail(f"has a bias of shape {bias.shape} for {outputs} outputs")
    steps = None if given.steps is None else grid(given.steps * abs(alpha))
    ordered = scattered(weights, value.labels, size)
    node = Dense(op.name, (value.node,), (outputs, 1, 1), ordered, spread.copy(), steps)
    found = op.builder.add(node)
    return found.seen(found.labels.reshape(-1))


def batch_normalisation(op: Op) -> Value:
    """``scale * (x - mean) / sqrt(var + epsilon) + bias`` per channel."""
    value = op.value()
    if op.attributes.get("training_mode", 0):
        op.fail("is in training mode, supported is inference; export the model in eval mode")
    parts = [weights_of(op, index) for index in range(1, 5)]
    expected = value.labels.shape[:1]
    if {part.shape for part in parts} != {expected}:
        op.fail(f"has parameters of shape {parts[0].shape}, expected {expected}")
    scale, bias, mean, variance = (
        part.reshape(-1, *[1] * (value.labels.ndim - 1)) for part in parts
    )
    factor = scale / np.sqrt(variance + float(op.attributes.get("epsilon", 1e-5)))
    spread = np.broadcast_arrays(factor, bias - mean * factor, value.labels)
    return scaled(op, value, spread[0], spread[1])


OPERATORS: Final[tuple[Operator[Handler], ...]] = (
    Operator("Conv", conv, LINEAR,
             "one or two axes, groups, strides, dilations; weights constant"),
    Operator("ConvTranspose", conv_transpose, LINEAR,
             "stride above 1 on more than one place: a matrix"),
    Operator("CumSum", by_matrix, MATRIX),
    Operator("Gemm", gemm, LINEAR, "weights constant, transA 0"),
    Operator("MatMul", matmul, LINEAR,
             "one factor constant, on either side; over the last axis at any rank"),
    Operator("BatchNormalization", batch_normalisation, LINEAR,
             "inference; folded into its neighbours"),
)  # fmt: skip
