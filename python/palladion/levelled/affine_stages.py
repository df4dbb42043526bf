"""A network as stages: sums of products with weights, and a polynomial of each sum.

The *variables* of a network are its inputs and the results of polynomials. Each is between -1 and 1
for every input in the stated range: bounds are those of the worst case. Every other value of the
network is an *affine form*: a number and a weight for each variable. So linear layers in a row are
one matrix and take one level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError
from palladion.levelled import polynomial
from palladion.nn.floats import graph as floats
from palladion.nn.floats.graph import Graph, Node

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

LINEAR: Final = (floats.Conv, floats.Dense, floats.Window, floats.Affine, floats.Add)
MOST_WEIGHTS: Final = 1 << 27
"""Most weights of one value's forms: 1 GB."""

MOST_VALUE: Final = 1e9
"""Largest value of a polynomial's argument, in the worst case."""


@dataclass(frozen=True, eq=False)
class Stage:
    """New variables, or the network's outputs: ``p(weights @ variables + bias)``.

    The sums are between -1 and 1 for variables between -1 and 1, and so are the values of ``p``,
    a polynomial without a constant term. Weights are of shape (sums, variables before this stage).
    ``polynomials`` is of shape (sums, degree + 1), and ``None`` for outputs.
    """

    weights: Floats
    bias: Floats
    polynomials: Floats | None = None

    @property
    def levels(self) -> int:
        """Levels that the stage takes."""
        if self.polynomials is None:
            return 1
        return 1 + levels_of(self.polynomials)


def levels_of(polynomials: Floats) -> int:
    """Levels of polynomials of these coefficients, of shape (sums, degree + 1)."""
    degree: int = polynomials.shape[1] - 1
    power = (degree - 1).bit_length()
    return power if is_square(polynomials) else power + 1


def is_square(polynomials: Floats) -> bool:
    """True if all polynomials are ``z^2``."""
    return polynomials.shape[1] == 3 and bool((polynomials == [0, 0, 1]).all())


@dataclass(frozen=True, eq=False)
class Stages:
    """A network as stages. Output ``i`` is ``scale[i]`` times result ``i`` of the last one."""

    inputs: int
    stages: tuple[Stage, ...]
    scale: Floats

    @property
    def depth(self) -> int:
        """Levels of the whole network."""
        return sum(stage.levels for stage in self.stages)

    def evaluate(self, variables: Floats) -> Floats:
        """The outputs for inputs between -1 and 1, of shape (N, inputs), in the clear."""
        known = variables
        for stage in self.stages:
            sums = known[:, : stage.weights.shape[1]] @ stage.weights.T + stage.bias
            if stage.polynomials is None:
                return sums * self.scale
            powers = np.power.outer(sums, np.arange(stage.polynomials.shape[1]))
            known = np.concatenate([known, (powers * stage.polynomials).sum(axis=2)], axis=1)
        raise AssertionError("the last stage gives the outputs")


def of_graph(graph: Graph, low: Floats, high: Floats) -> Stages:
    """The stages of a network whose normalised inputs are between ``low`` and ``high``, for each
    value of the input.

    Raises
    ------
    NetworkError
        If a part is neither linear nor a polynomial. The message names it.
    """
    inputs = low.size
    forms: list[Array] = [input_form(graph, low, high)]
    variables, stages = inputs, []
    for node in graph.nodes[1:]:
        sources = [forms[source] for source in node.sources]
        if isinstance(node, LINEAR):
            check_size(node, variables)
            forms.append(linear(node, sources))
            continue
        stage, form = activation(node, sources[0], variables)
        forms.append(form)
        if stage is not None:
            stages.append(stage)
            variables += len(stage.bias)
    weights, bias = matrix(forms[-1], variables)
    bound = np.abs(weights).sum(axis=1) + np.abs(bias)
    scale = np.where(bound > 0, bound, 1.0)
    last = Stage(weights / scale[:, None], bias / scale)
    return Stages(inputs, (*stages, last), scale)


def is_polynomial(graph: Graph) -> bool:
    """True if all parts of a network are linear or polynomials, and one is not linear."""
    others = [node for node in graph.nodes[1:] if not isinstance(node, LINEAR)]
    return bool(others) and all(polynomial_of(node) is not None for node in others)


def polynomial_of(node: Node) -> Floats | None:
    """The polynomial that a node applies to its source, if it is one."""
    if isinstance(node, floats.Mul) and node.sources[0] == node.sources[1]:
        return np.array([0.0, 0.0, 1.0])
    if isinstance(node, floats.Activation):
        return polynomial.coefficients(node.function)
    return None


def input_form(graph: Graph, low: Floats, high: Floats) -> Array:
    """The input's values as forms: the middle of each range, and half its width times a
    variable."""
    shape, count = graph.input.shape, low.size
    form = np.zeros((1 + count, count))
    form[0] = (high + low) / 2
    form[1:] = np.diag((high - low) / 2)
    return form.reshape(1 + count, *shape)


def linear(node: Node, sources: Sequence[Array]) -> Array:
    """The forms of a linear node, from those of its sources, of shape (1 + variables, *shape)."""
    rows = max(map(len, sources))
    alike = [np.pad(form, [(0, rows - len(form)), (0, 0), (0, 0), (0, 0)]) for form in sources]
    moved = node.evaluate(*alike)
    moved[1:] -= node.evaluate(*(np.zeros_like(form[:1]) for form in alike))
    return moved


def matrix(form: Array, variables: int) -> tuple[Floats, Floats]:
    """Weights of shape (values, variables), and numbers, of a form."""
    flat = form.reshape(len(form), -1)
    weights = np.zeros((flat.shape[1], variables))
    weights[:, : len(form) - 1] = flat[1:].T
    return weights, flat[0].copy()


def activation(node: Node, form: Array, variables: int) -> tuple[Stage | None, Array]:
    """The stage of a polynomial node, if it has one, and the node's forms."""
    coefficients = polynomial_of(node)
    if coefficients is None:
        what = node.describe() or type(node).__name__
        raise NetworkError(f"node {node.name} ({what}) is neither linear nor a polynomial of "
                           f"degree {polynomial.MOST} or less: --squares trains squares in the "
                           "place of ReLUs, and `palladion compile` takes any "
                           "function")  # fmt: skip
    if len(coefficients) <= 2:
        moved = form * (coefficients[1] if len(coefficients) == 2 else 0.0)
        moved[0] += coefficients[0] if len(coefficients) else 0.0
        return None, moved
    check_size(node, variables)
    weights, bias = matrix(form, variables)
    largest = float(np.abs(weights).sum(axis=1).max() + np.abs(bias).max())
    if largest > MOST_VALUE:
        raise NetworkError(f"node {node.name}: its input could reach {largest:.3g}, expected at "
                           f"most {MOST_VALUE:.3g}: no precision would be left; normalise values "
                           "before polynomials, or give calibration data of a smaller "
                           "range")  # fmt: skip
    stage, factor, shift = stage_of(weights, bias, coefficients)
    own = np.zeros((1 + variables + len(bias), len(bias)))
    fixed = ~weights.any(axis=1)  # no variable, but a number
    own[0] = np.where(fixed, np.polyval(coefficients[::-1], bias), shift)
    own[1 + variables :] = np.diag(np.where(fixed, 0.0, factor))
    return stage, own.reshape(len(own), *node.shape)


def stage_of(weights: Floats, bias: Floats, coefficients: Floats) -> tuple[Stage, Floats, Floats]:
    """A polynomial of sums. Its value is ``factor * variable + shift``."""
    degree = len(coefficients) - 1
    if degree == 2:  # c (z + s)^2 + r takes a level less
        bias = bias + coefficients[1] / (2 * coefficients[2])
        rest = coefficients[0] - coefficients[1] ** 2 / (4 * coefficients[2])
        coefficients = np.array([rest, 0.0, coefficients[2]])
    bound = np.abs(weights).sum(axis=1) + np.abs(bias)
    bound = np.where(bound > 0, bound, 1.0)
    factor = polynomial.size(coefficients, bound)
    own = coefficients * np.power.outer(bound, np.arange(degree + 1)) / factor[:, None]
    own[:, 0] = 0.0
    if degree == 2:
        factor, own[:, 2] = factor * np.sign(coefficients[2]), 1.0
    stage = Stage(weights / bound[:, None], bias / bound, own)
    return stage, factor, np.full(len(bias), coefficients[0])


def check_size(node: Node, variables: int) -> None:
    count = int(np.prod(node.shape)) * (variables + 1)
    if count > MOST_WEIGHTS:
        raise NetworkError(f"node {node.name}: {count} weights of its values, expected at most "
                           f"{MOST_WEIGHTS}: the network is too large for levels; `palladion "
                           "compile` takes it, with tables")  # fmt: skip
