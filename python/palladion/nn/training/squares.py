"""Networks with squares in the place of ReLUs, trained in floats before they are quantised.

A two-party run computes a square with one product on shares, and the requantisation after it as
after any function. A square in the place of every ReLU needs training: it grows faster, so values
are normalised before it, per channel, and the normalisation becomes part of the linear map when
training ends.

Source: Park, Kim, Park, Choi, "AESPA: Accuracy Preserving Low-degree Polynomial Activation for
Private Inference", 2022 (https://arxiv.org/abs/2201.06699): Hermite polynomials on normalised
values. Of the expansion of ReLU up to degree 2 this module takes the square ``a (z + h)^2``. Its
constant is left out, since the next layer's bias adds it, and ``h`` is trained for each channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax

from palladion.errors import NetworkError
from palladion.nn.floats import graph as floats
from palladion.nn.floats.expression import X, apply, constant
from palladion.nn.floats.graph import Array, Graph, Node
from palladion.nn.training.augment import augment
from palladion.nn.training.fit import Progress, Settings, batches, check
from palladion.nn.training.precision import single_precision

HALF: Final = 0.5
"""Coefficient of ``z`` in the Hermite expansion of ReLU."""
FACTOR: Final = 1 / (math.sqrt(2) * math.sqrt(4 * math.pi))
"""Coefficient of ``z^2``: that of the normalised polynomial ``(z^2 - 1) / sqrt(2)``."""
REACH: Final = 4.0
"""Normalised values beyond this are penalised: a square there takes most of a table's range."""
PENALTY: Final = 0.01
"""Loss for a value that lies one beyond the reach, relative to the number of values."""
EPSILON: Final = 1e-5
"""Added to variances."""
RATE: Final = 2e-3
"""Adam's rate at the start. It falls to 0 as a cosine."""
MEASURED: Final = 4_096
"""Number of images on which the final means and deviations are measured."""

Params = dict[str, Any]
RELU: Final = apply("relu", X)
SQUARE: Final = apply("mul", constant(FACTOR), apply("power", X, parameters=(2.0,)))


@single_precision()
def with_squares(
    graph: Graph,
    images: Array,
    labels: Array,
    settings: Settings | None = None,
    blank: Array | None = None,
    progress: Progress | None = None,
) -> Graph:
    """The graph with squares in the place of ReLUs, trained from its own weights.

    ``images`` are the model's inputs of shape (N, C, H, W), as its first node takes them, and
    ``blank`` is the number that fills the sides of shifted images, for each channel. The rate and
    the noise of the settings are for integers and not used here.

    Raises
    ------
    NetworkError
        If the graph has no ReLU, or a node that cannot be trained. The message names the node.
    DataError
        If there are fewer images than a batch has, or if labels are not classes of the network.
    """
    settings = settings or Settings()
    refuse(graph)
    check(images, labels, graph.nodes[-1].shape[0], settings)
    given = graph.input.evaluate(images.astype(np.float32))
    sides = np.zeros((1, given.shape[1], 1, 1)) if blank is None else blank.reshape(1, -1, 1, 1)
    around = jnp.asarray(graph.input.evaluate(np.broadcast_to(
        sides.astype(np.float32), (1, *images.shape[1:])))[0, :, 0, 0])  # fmt: skip
    total = settings.epochs * (len(given) // settings.batch)
    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(RATE, total))
    )
    params = start(graph)
    state = optimiser.init(params)
    step = jax.jit(stepper(graph, optimiser, around, settings))
    key = jax.random.key(settings.seed)
    recent: list[Any] = []
    for done, chosen in enumerate(batches(len(given), settings), start=1):
        key_of_step = jax.random.fold_in(key, done)
        params, state, loss = step(params, state, given[chosen], labels[chosen], key_of_step)
        recent = [*recent[-99:], loss]
        if progress:
            progress(done, total, float(np.mean(recent)))
    moments = jax.jit(lambda p, x: forward(graph, p, x).moments)
    return folded(graph, params, moments(params, given[:MEASURED]))


def refuse(graph: Graph) -> None:
    """Refuse graphs without a ReLU, or with nodes that have no derivative here."""
    known = (floats.Input, floats.Conv, floats.Dense, floats.Window, floats.Affine, floats.Add,
             floats.MaxPool)  # fmt: skip
    found = False
    for node in graph.nodes:
        relu = isinstance(node, floats.Activation) and node.function == RELU
        found = found or relu
        if not relu and not isinstance(node, known):
            what = node.describe() or type(node).__name__
            raise NetworkError(f"node {node.name} ({what}): cannot be trained with squares; "
                               "supported are convolutions, matrix products, sums, poolings and "
                               "ReLU")  # fmt: skip
    if not found:
        raise NetworkError("the model has no ReLU that a square could replace")


def start(graph: Graph) -> Params:
    """The graph's weights, and for each ReLU a gain of 1 and the expansion's ``h``."""
    params: Params = {}
    for index, node in enumerate(graph.nodes):
        if isinstance(node, floats.Conv | floats.Dense):
            params[f"{index}.weights"] = jnp.asarray(node.weights, jnp.float32)
            params[f"{index}.bias"] = jnp.asarray(node.bias, jnp.float32)
        elif isinstance(node, floats.Activation):
            channels = node.shape[0]
            params[f"{index}.gain"] = jnp.ones(channels)
            params[f"{index}.shift"] = jnp.full(channels, HALF / (2 * FACTOR))
    return params


@dataclass(frozen=True)
class Forward:
    """The last node's values, the moments before each square, and the mean penalty."""

    logits: Any
    moments: dict[str, tuple[Any, Any]]
    penalty: Any


def forward(graph: Graph, params: Params, x: Any) -> Forward:
    """Evaluate the graph with squares, normalised by the batch, on the input's values."""
    values: list[Any] = [x]
    moments: dict[str, tuple[Any, Any]] = {}
    penalty: Any = jnp.zeros(())
    for index, node in enumerate(graph.nodes[1:], start=1):
        sources = [values[source] for source in node.sources]
        if isinstance(node, floats.Activation):
            (u,) = sources
            mean, variance = u.mean((0, 2, 3)), u.var((0, 2, 3))
            deviation = jnp.sqrt(variance + EPSILON)
            moments[str(index)] = (mean, deviation)
            z = (u - spread(mean)) / spread(deviation)
            v = spread(params[f"{index}.gain"]) * z + spread(params[f"{index}.shift"])
            penalty = penalty + jnp.mean(jax.nn.relu(jnp.abs(v) - REACH) ** 2)
            values.append(FACTOR * v**2)
        else:
            values.append(linear(node, params, index, sources))
    return Forward(values[-1], moments, penalty)


def spread(of_channels: Any) -> Any:
    return of_channels[None, :, None, None]


def linear(node: Node, params: Params, index: int, sources: list[Any]) -> Any:
    """The value of a node that is no activation."""
    x = sources[0]
    if isinstance(node, floats.Dense):
        weights, bias = params[f"{index}.weights"], params[f"{index}.bias"]
        return (x.reshape(len(x), -1) @ weights.T + bias)[:, :, None, None]
    if isinstance(node, floats.Conv):
        found = convolve(x, params[f"{index}.weights"], node.geometry, node.groups)
        return found + spread(params[f"{index}.bias"])
    if isinstance(node, floats.Window):
        channels = x.shape[1]
        taps = jnp.broadcast_to(
            jnp.asarray(node.taps, jnp.float32), (channels, 1, *node.taps.shape)
        )
        found = convolve(x, taps, node.geometry, channels)
        after = node.shape[0] - node.first - channels
        return jnp.pad(found, ((0, 0), (node.first, after), (0, 0), (0, 0)))
    if isinstance(node, floats.Affine):
        return spread(jnp.asarray(node.scale)) * x + spread(jnp.asarray(node.shift))
    if isinstance(node, floats.Add):
        return sum(sign * value for sign, value in zip(node.signs, sources, strict=True))
    assert isinstance(node, floats.MaxPool), "other nodes are refused"
    geometry = node.geometry
    return jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 1, *geometry.kernel), (1, 1, *geometry.stride),
        pads(geometry), window_dilation=(1, 1, *geometry.dilation),
    )  # fmt: skip


def pads(geometry: Any) -> list[tuple[int, int]]:
    top, left, bottom, right = geometry.pads
    return [(0, 0), (0, 0), (top, bottom), (left, right)]


def convolve(x: Any, weights: Any, geometry: Any, groups: int) -> Any:
    return jax.lax.conv_general_dilated(
        x, weights, geometry.stride, pads(geometry)[2:], rhs_dilation=geometry.dilation,
        feature_group_count=groups,
    )  # fmt: skip


def stepper(
    graph: Graph, optimiser: Any, blank: Any, settings: Settings
) -> Callable[..., tuple[Params, Any, Any]]:
    """One step of the optimiser as a function to compile."""

    def loss(params: Params, images: Any, labels: Any) -> Any:
        found = forward(graph, params, images)
        logits = found.logits[:, :, 0, 0]
        entropy = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return entropy.mean() + PENALTY * found.penalty

    def step(params: Params, state: Any, images: Any, labels: Any, key: Any) -> Any:
        changed = augment(images, blank, key, shift=settings.shift, flip=settings.flip)
        value, slopes = jax.value_and_grad(loss)(params, changed, labels)
        updates, state = optimiser.update(slopes, state, params)
        return optax.apply_updates(params, updates), state, value

    return step


def folded(graph: Graph, params: Params, moments: dict[str, tuple[Any, Any]]) -> Graph:
    """The graph with the trained numbers. A normalisation is a map of each channel before its
    square."""
    nodes: list[Node] = []
    places: list[int] = []  # of the old nodes
    for index, node in enumerate(graph.nodes):
        node = replace(node, sources=tuple(places[source] for source in node.sources))
        if isinstance(node, floats.Conv | floats.Dense):
            node = replace(
                node, weights=numbers(params[f"{index}.weights"]),
                bias=numbers(params[f"{index}.bias"]), steps=None,
            )  # fmt: skip
        elif isinstance(node, floats.Activation):
            mean, deviation = (numbers(part) for part in moments[str(index)])
            scale = numbers(params[f"{index}.gain"]) / deviation
            shift = numbers(params[f"{index}.shift"]) - scale * mean
            name = f"{node.name}.normalised"
            nodes.append(floats.Affine(name, node.sources, node.shape, scale, shift))
            node = floats.Activation(node.name, (len(nodes) - 1,), node.shape, SQUARE)
        nodes.append(node)
        places.append(len(nodes) - 1)
    count = len(moments)
    note = f"{count} ReLU{'s' * (count != 1)} replaced by squares, and trained"
    return replace(graph, nodes=tuple(nodes), notes=(*graph.notes, note), largest=None)


def numbers(of: Any) -> Array:
    return np.asarray(of, dtype=np.float64)
