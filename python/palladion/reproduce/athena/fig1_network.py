"""The panel of figure 1 with a network: every ReLU of a model in floats is an expansion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from palladion.errors import NetworkError, UsageError
from palladion.measure.accuracy import Steps
from palladion.nn.datasets import dataset
from palladion.nn.datasets.calibration import pixels_of
from palladion.nn.floats.expression import X, apply
from palladion.nn.floats.graph import Activation, Array, Graph
from palladion.reproduce.athena.measured import RECIPES, folder_of

Replacement = Callable[[int, Array], Array]
"""Computes an activation from the place of its node and its values."""

IMAGES: Final = 20
"""Test images unless the caller asks for another number."""
ROOM: Final = 1.1
"""An expansion reaches this much further than the largest value before its ReLU."""


@dataclass(frozen=True)
class Model:
    """A model with its inputs, the probabilities that it gives, and the reach of each ReLU."""

    graph: Graph
    inputs: Array
    probabilities: Array
    reach: dict[int, float]

    def with_expansions(self, expansion: Callable[[Array], Array]) -> Array:
        """Probabilities with ``expansion``, of values of -1 to 1, in the place of every ReLU."""

        def replaced(place: int, values: Array) -> Array:
            return self.reach[place] * expansion(values / self.reach[place])

        return probabilities(evaluate(self.graph, self.inputs, replaced))


def model_of(path: Path, data: Path | None, images: int | None, steps: Steps) -> Model:
    """An ONNX model with test images.

    Raises
    ------
    UsageError
        If there are no images.
    NetworkError
        If the model has no ReLU, or another activation.
    """
    from palladion.nn.importer import load  # needs ONNX

    if data is None:
        raise UsageError("--onnx needs test images: give --data")
    graph = load(path)
    folder = folder_of(int(np.prod(graph.input.shape)), data)
    given = dataset.load(folder, "test", images or IMAGES)
    pixels = pixels_of(graph.input.shape, RECIPES[folder.name].normalisation)
    inputs = pixels.values(given.images.reshape(-1, *graph.input.shape))
    reach: dict[int, float] = {}

    def exact(place: int, values: Array) -> Array:
        node = graph.nodes[place]
        assert isinstance(node, Activation), "activations alone are replaced"
        if node.function != apply("relu", X):
            raise NetworkError(
                f"node {node.name} ({node.function}): the figure expands ReLUs alone"
            )
        reach[place] = ROOM * float(np.abs(values).max())
        return node.evaluate(values)

    with steps.step(f"evaluate {graph.name} in floats"):
        expected = probabilities(evaluate(graph, inputs, exact))
    if not reach:
        raise NetworkError(f"{path} has no ReLU that an expansion could replace")
    return Model(graph, inputs, expected, reach)


def evaluate(graph: Graph, x: Array, replaced: Replacement) -> Array:
    """The outputs of a graph, of shape (N, classes), with other activations."""
    values = [graph.input.evaluate(x.astype(np.float64))]
    for place, node in enumerate(graph.nodes[1:], start=1):
        sources = [values[source] for source in node.sources]
        is_activation = isinstance(node, Activation)
        values.append(replaced(place, *sources) if is_activation else node.evaluate(*sources))
    return values[-1].reshape(len(x), -1)


def probabilities(logits: Array) -> Array:
    """Softmax. Logits without limit, as expansions beyond their reach give, count as 0."""
    finite = np.nan_to_num(logits, posinf=0.0, neginf=0.0)
    powers = np.exp(finite - finite.max(axis=1, keepdims=True))
    softmax: Array = powers / powers.sum(axis=1, keepdims=True)
    return softmax
