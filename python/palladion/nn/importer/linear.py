"""Linear operators: convolution, matrix products, batch normalisation, pooling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, prod
from typing import NoReturn

import numpy as np

from palladion.nn.geometry import Geometry, Pads, Pair
from palladion.nn.graph import Affine, Conv, Dense, MaxPool, Shape, Window
from palladion.nn.importer.context import MAX_VALUES, Array, Handler, Op, Value


def conv(op: Op) -> Value:
    value = op.image()
    weights = op.numbers(1)
    shape, groups = op.builder.shape(value), int(op.attributes.get("group", 1))
    if weights.ndim != 4:
        op.fail(f"has weights of rank {weights.ndim}, supported is 4: two-dimensional convolution")
    kernels, channels = weights.shape[:2]
    if groups < 1 or channels * groups != shape[0] or kernels % groups:
        op.fail(f"has weights of shape {weights.shape} and {groups} groups for an input of shape "
                f"{('N', *shape)}")  # fmt: skip
    geometry = sliding(op, shape, (weights.shape[2], weights.shape[3]))
    bias = op.numbers(2) if op.has(2) else np.zeros(kernels)
    if bias.shape != (kernels,):
        op.fail(f"has a bias of shape {bias.shape}, expected ({kernels},)")
    output = (kernels, *geometry.output(shape[1:]))
    steps = grid(op.constant(1).steps)
    node = Conv(op.name, (value.node,), output, weights, bias, geometry, groups, steps)
    return op.builder.add(node)


def conv_transpose(op: Op) -> NoReturn:
    op.fail("is not supported: each output would read another part of the kernel, which the "
            "integer network has no map for; resize the image and use Conv")  # fmt: skip


def sliding(op: Op, shape: Shape, kernel: Pair) -> Geometry:
    """Kernel, stride, dilation and pads from the attributes, auto_pad resolved."""
    given = [int(v) for v in op.attributes.get("kernel_shape", kernel)]
    stride = [int(v) for v in op.attributes.get("strides", (1, 1))]
    dilation = [int(v) for v in op.attributes.get("dilations", (1, 1))]
    if len(given) != 2 or len(stride) != 2 or len(dilation) != 2 or given != list(kernel):
        op.fail(f"has kernel_shape {given}, strides {stride}, dilations {dilation}, supported are "
                "two of each, and the kernel of the weights")  # fmt: skip
    if min(*given, *stride, *dilation) < 1:
        op.fail("has a kernel, stride or dilation below 1")
    geometry = Geometry(kernel, (stride[0], stride[1]), (dilation[0], dilation[1]))
    geometry = geometry.with_pads(pads(op, shape, geometry))
    if min(geometry.output(shape[1:])) < 1:
        op.fail(f"its kernel {kernel} with pads {geometry.pads} does not fit {shape[1:]}")
    return geometry


def pads(op: Op, shape: Shape, geometry: Geometry) -> Pads:
    """Explicit pads, or those of auto_pad."""
    mode = op.text("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        given = [int(v) for v in op.attributes.get("pads", (0, 0, 0, 0))]
        if len(given) != 4:
            op.fail(f"has pads {given}, supported are four")
        return given[0], given[1], given[2], given[3]
    if mode == "VALID":
        return 0, 0, 0, 0
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        op.fail(f"has auto_pad {mode}, supported are NOTSET, VALID, SAME_UPPER and SAME_LOWER")
    before, after = [], []
    for size, stride, span in zip(shape[1:], geometry.stride, geometry.span, strict=True):
        total = max((ceil(size / stride) - 1) * stride + span - size, 0)
        less, more = total // 2, total - total // 2
        before.append(less if mode == "SAME_UPPER" else more)
        after.append(more if mode == "SAME_UPPER" else less)
    return before[0], before[1], after[0], after[1]


def grid(steps: Array | None) -> Array | None:
    """One step for each row, where all weights of a row share it."""
    if steps is None:
        return None
    rows = steps.reshape(len(steps), -1)
    return rows[:, 0] if np.all(rows == rows[:, :1]) else None


def gemm(op: Op) -> Value:
    """``alpha A B + beta C``, with B and C constant."""
    if op.attributes.get("transA", 0):
        op.fail("has transA 1, which mixes the images of a batch, supported is 0")
    alpha, beta = (float(op.attributes.get(name, 1.0)) for name in ("alpha", "beta"))
    turn = bool(op.attributes.get("transB", 0))
    bias = beta * op.numbers(2) if op.has(2) else np.zeros(1)
    return dense(op, lambda array: array if turn else array.T, alpha, bias)


def matmul(op: Op) -> Value:
    return dense(op, lambda array: array.T, 1.0, np.zeros(1))


def dense(op: Op, turned: Callable[[Array], Array], alpha: float, bias: Array) -> Value:
    """A matrix product whose columns follow the labels of its input."""
    value = op.value()
    given = op.constant(1)
    if given.array.ndim != 2 or value.labels.ndim != 1:
        op.fail(f"multiplies {('N', *value.labels.shape)} by {given.array.shape}, supported are "
                "(N, features) by a constant matrix; put Flatten before it")  # fmt: skip
    weights = turned(np.asarray(given.array, dtype=np.float64)) * alpha
    outputs, inputs = weights.shape
    if inputs != value.labels.size:
        op.fail(f"has weights for {inputs} inputs, its input has {value.labels.size}")
    size = prod(op.builder.shape(value))
    if size * outputs > MAX_VALUES:
        op.fail(f"has {size * outputs} weights, supported are {MAX_VALUES}")
    ordered = np.zeros((outputs, size))
    ordered[:, value.labels] = weights
    try:
        spread = np.broadcast_to(bias, (1, outputs))[0]
    except ValueError:
        op.fail(f"has a bias of shape {bias.shape} for {outputs} outputs")
    steps = None if given.steps is None else grid(turned(given.steps) * abs(alpha))
    node = Dense(op.name, (value.node,), (outputs, 1, 1), ordered, spread.copy(), steps)
    found = op.builder.add(node)
    return replace(found, labels=found.labels.reshape(-1))


def batch_normalisation(op: Op) -> Value:
    """``scale * (x - mean) / sqrt(var + epsilon) + bias`` per channel."""
    value = op.value()
    if op.attributes.get("training_mode", 0):
        op.fail("is in training mode, supported is inference; export the model in eval mode")
    scale, bias, mean, variance = (op.numbers(index) for index in range(1, 5))
    shape = op.builder.shape(value)
    expected = (shape[0],)
    whole = value.labels.shape in (shape, expected)
    if not whole or not np.array_equal(value.labels.ravel(), np.arange(prod(shape))):
        op.fail("works on other axes than the channels, supported is (N, C, ...) in order")
    if {part.shape for part in (scale, bias, mean, variance)} != {expected}:
        op.fail(f"has parameters of shape {scale.shape}, expected {expected}")
    deviation = np.sqrt(variance + float(op.attributes.get("epsilon", 1e-5)))
    factor = scale / deviation
    node = Affine(op.name, (value.node,), shape, factor, bias - mean * factor)
    return replace(op.builder.add(node), labels=value.labels)


def rounded_up(op: Op, shape: Shape, geometry: Geometry) -> Geometry:
    """With ceil_mode, more padding after the end, so that the last windows are whole."""
    if not op.attributes.get("ceil_mode", 0):
        return geometry
    top, left, bottom, right = geometry.pads
    more = []
    for axis, before, after in ((0, top, bottom), (1, left, right)):
        size, stride, span = shape[axis + 1], geometry.stride[axis], geometry.span[axis]
        windows = ceil((size + before + after - span) / stride)
        if windows * stride >= size + before:  # a window that starts in the padding is left out
            windows -= 1
        more.append(max(0, windows * stride + span - size - before - after))
    return geometry.with_pads((top, left, bottom + more[0], right + more[1]))


def kernel_shape(op: Op) -> Pair:
    given = [int(v) for v in op.attributes.get("kernel_shape", ())]
    if len(given) != 2:
        op.fail(f"has kernel_shape {given}, supported are two numbers")
    return given[0], given[1]


def max_pool(op: Op) -> Value:
    value = op.image()
    if len([name for name in op.proto.output if name]) > 1:
        op.fail("gives indices, supported is one output")
    shape = op.builder.shape(value)
    geometry = rounded_up(op, shape, sliding(op, shape, kernel_shape(op)))
    output = (shape[0], *geometry.output(shape[1:]))
    return op.builder.add(MaxPool(op.name, (value.node,), output, geometry))


def global_max_pool(op: Op) -> Value:
    value = op.image()
    channels, *size = op.builder.shape(value)
    geometry = Geometry((size[0], size[1]))
    return op.builder.add(MaxPool(op.name, (value.node,), (channels, 1, 1), geometry))


def average_pool(op: Op) -> Value:
    """A sum and a factor; where the factor differs at the border, a matrix."""
    value = op.image()
    shape = op.builder.shape(value)
    explicit = sliding(op, shape, kernel_shape(op))
    geometry = rounded_up(op, shape, explicit)
    counted = np.ones((1, 1, *shape[1:]))
    if op.attributes.get("count_include_pad", 0):
        top, left, bottom, right = explicit.pads
        counted = np.pad(counted, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=1)
        beyond = np.subtract(geometry.pads, explicit.pads)
        counts = geometry.with_pads((0, 0, int(beyond[2]), int(beyond[3]))).windows(counted)
    else:
        counts = geometry.windows(counted)
    counts = counts.sum(axis=(4, 5))[0, 0]
    output = (shape[0], *geometry.output(shape[1:]))
    if np.all(counts == counts[0, 0]):
        taps = np.full(geometry.kernel, 1 / counts[0, 0])
        return op.builder.add(Window(op.name, (value.node,), output, taps, geometry))
    size = prod(shape)
    if size * prod(output) > MAX_VALUES:
        op.fail(f"divides by another count at the border and needs {size * prod(output)} weights "
                f"for that, supported are {MAX_VALUES}; use count_include_pad=1")  # fmt: skip
    basis = np.eye(size).reshape(size, *shape)
    sums = geometry.windows(basis).sum(axis=(4, 5)) / counts
    weights = sums.reshape(size, -1).T
    node = Dense(op.name, (value.node,), (len(weights), 1, 1), weights, np.zeros(len(weights)))
    found = op.builder.add(node)
    return replace(found, labels=found.labels.reshape(output))


def global_average_pool(op: Op) -> Value:
    return mean_over_image(op, op.image())


def mean_over_image(op: Op, value: Value) -> Value:
    channels, rows, columns = op.builder.shape(value)
    taps = np.full((rows, columns), 1 / (rows * columns))
    geometry = Geometry((rows, columns))
    return op.builder.add(Window(op.name, (value.node,), (channels, 1, 1), taps, geometry))


def reduce_mean(op: Op) -> Value:
    value = op.image()
    axes = sorted(axis % 4 for axis in op.integers(1, "axes") or [])
    if axes != [2, 3]:
        op.fail(f"is over axes {axes}, supported are 2 and 3: rows and columns")
    found = mean_over_image(op, value)
    keep = op.attributes.get("keepdims", 1)
    return found if keep else replace(found, labels=found.labels.reshape(-1))


HANDLERS: dict[str, Handler] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Gemm": gemm,
    "MatMul": matmul,
    "BatchNormalization": batch_normalisation,
    "MaxPool": max_pool,
    "GlobalMaxPool": global_max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "ReduceMean": reduce_mean,
}
