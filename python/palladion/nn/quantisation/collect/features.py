"""Normalises features of different ranges, so that one unit serves all of them.

The integers of an input share one unit. If a model has no scaler, a feature of thousands would
leave no resolution for a feature between 0 and 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from palladion.nn.floats.graph import Activation, Add, Affine, Array, Graph, Mul, Node

SIMILAR_RANGES: Final = 4
"""Features stay unchanged if their ranges differ by at most this factor, as colours do."""

LARGEST_BYTE: Final = 255
"""Largest unsigned integer of 8 bits."""


def normalise_features(graph: Graph, data: Array) -> Graph:
    """The same function of inputs whose channels have similar ranges on ``data`` (N, C, H, W).

    The ranges are multiplied into the input's mean and deviation, and divided out of the weights of
    the maps that read the input. Before a function or a product of the input, a factor and a shift
    for each channel restore its numbers. If any other node reads the input, the graph stays
    unchanged.
    """
    model_input = graph.input
    inputs = replace(model_input, grid=None).evaluate(data.astype(np.float64))
    low, high = inputs.min(axis=(0, 2, 3)), inputs.max(axis=(0, 2, 3))
    # Pictures are not shifted: the zeros of a padding would no longer stand for zeros.
    middle = (low + high) / 2 if model_input.shape[1:] == (1, 1) else np.zeros(len(low))
    half = np.maximum(high - middle, middle - low)
    varying = half[half > 0]
    if model_input.grid is not None or not len(varying):
        return graph
    if (
        varying.max() <= SIMILAR_RANGES * varying.min()
        and np.abs(middle).max() <= SIMILAR_RANGES * varying.min()
    ):
        return graph
    half = np.where(half > 0, half, 1.0)
    before = replace(
        model_input, mean=model_input.mean + model_input.std * middle, std=model_input.std * half
    )
    restore = Affine("features", (0,), model_input.shape, half, middle)
    # Small whole numbers stay as they are: a grid holds them, and comparisons must stay exact.
    whole = (
        inputs.min() >= 0
        and inputs.max() <= LARGEST_BYTE
        and np.array_equal(inputs, np.rint(inputs))
    )
    nodes: list[Node] = [before]
    number = {0: 0}
    for index, node in enumerate(graph.nodes[1:], start=1):
        merged: Node | None = replace(node, sources=tuple(number[s] for s in node.sources))
        if 0 in node.sources:
            from palladion.nn.importer.simplify import affine_before  # needs ONNX

            merged = affine_before(replace(graph, nodes=(before, restore)), 1, node)
        if merged is None and isinstance(node, Activation | Add | Mul) and not whole:
            nodes.append(replace(restore, name=f"{node.name}.features"))
            sources = (number[s] if s else len(nodes) - 1 for s in node.sources)
            merged = replace(node, sources=tuple(sources))
        if merged is None:
            return graph
        nodes.append(merged)
        number[index] = len(nodes) - 1
    return replace(graph, nodes=tuple(nodes))
