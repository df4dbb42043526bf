"""The integer network as a differentiable function of latent weights and biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from palladion.errors import NetworkError
from palladion.nn.floats import graph as floats
from palladion.nn.floats.graph import Array
from palladion.nn.integers.linear_maps import Conv, Dense, Ints
from palladion.nn.integers.network import IntNetwork, Layer, Term
from palladion.nn.quantisation import Quantised
from palladion.nn.quantisation.plan.planner import Planned
from palladion.nn.training import surrogate
from palladion.nn.training.maps import apply

Params = dict[str, Any]
"""Latent numbers by ``LAYER.TERM`` or ``LAYER.bias``, as fractions of their largest value: all are
in -1 to 1."""

MARGIN: Final = 0.9
"""Fraction of a bound beyond which accumulators are penalised."""


class Scale(NamedTuple):
    """The meaning of a latent number: the integer is ``round(latent * most) * step``."""

    most: float
    step: Any


class Forward(NamedTuple):
    """``accumulators`` of each layer, noise included, of shape (N, K, H, W). The last are the
    logits. ``penalty``: mean over images of the squared excess beyond MARGIN, in units of
    bounds."""

    accumulators: list[jax.Array]
    penalty: jax.Array


class Model:
    """A post-training quantised network whose weights and biases can be trained.

    ``start``: latent parameters from the float network's weights and the quantiser's biases.
    """

    def __init__(self, quantised: Quantised) -> None:
        """Prepare the network that ``quantise`` made.

        Raises
        ------
        NetworkError
            If it has a part that cannot be trained. The message names the node.
        """
        self.network = quantised.network
        self.start: Params = {}
        self.scales: dict[str, Scale] = {}
        planned = quantised.planned
        check(planned)
        for index, (layer, group) in enumerate(zip(planned, quantised.groups, strict=True)):
            entry = self.network.layers[index]
            most = max(entry.bound, int(np.abs(entry.bias).max()))
            self._add(f"{index}.bias", entry.bias, np.ones(len(entry.bias)), most)
            for place, (term, found) in enumerate(zip(layer.form.terms, group.maps, strict=True)):
                if isinstance(term.map, floats.Window):
                    continue
                weights = term.map.weights * (self._scale(term.source) / group.unit.value)
                steps = found.steps.reshape(-1, *[1] * (weights.ndim - 1))
                self._add(f"{index}.{place}", weights / steps, steps, found.most)
        tables = [surrogate.table(layer) for layer in self.network.layers[:-1]]
        self.tables = [(jnp.asarray(t), jnp.asarray(surrogate.slope(t))) for t in tables]

    def integers(self, params: Params) -> Params:
        """Integer weights and biases, in single precision, which holds them exactly."""
        return {
            name: surrogate.straight_round(latent * self.scales[name].most) * self.scales[name].step
            for name, latent in params.items()
        }

    def forward(
        self,
        params: Params,
        inputs: jax.Array,
        noise: Sequence[jax.Array | None],
        key: jax.Array,
    ) -> Forward:
        """Evaluate the network.

        Shape
        -----
        - inputs: (N, C, H, W), the network's integers in single precision
        - noise: for each table, quantiles of :func:`surrogate.noise` from which noise is drawn, or
          None for no noise

        Sums are exact while they stay below 2^24 in absolute value.
        """
        integers = self.integers(params)
        values, accumulators, penalty = [inputs], [], jnp.zeros(())
        for index, layer in enumerate(self.network.layers):
            total = integers[f"{index}.bias"][:, None, None]
            for place, term in enumerate(layer.terms):
                weights = integers.get(f"{index}.{place}", term.linear.weights)
                total = total + apply(term.linear, weights, values[term.source])
            if layer.lut is not None:
                if (quantiles := noise[index]) is not None:
                    own = jax.random.fold_in(key, index)
                    total = total + surrogate.draw(quantiles, own, total.shape)
                values.append(surrogate.look_up(*self.tables[index], total))
            beyond = jax.nn.relu(jnp.abs(total) / layer.bound - MARGIN)
            penalty = penalty + jnp.sum(beyond**2) / len(inputs)
            accumulators.append(total)
        return Forward(accumulators, penalty)

    def trained(self, params: Params) -> IntNetwork:
        """The integer network with these parameters."""
        found = {
            name: np.rint(np.asarray(value)).astype(np.int64)
            for name, value in self.integers(params).items()
        }
        layers = tuple(with_numbers(la, i, found) for i, la in enumerate(self.network.layers))
        ends = self.network.interface
        if ends is not None:  # earlier warnings about the integers no longer hold
            ends = replace(ends, warnings=())
        network = replace(self.network, layers=layers, interface=ends)
        network.check()
        return network

    def _scale(self, source: int) -> float:
        """The real value of the integer 1 in a source."""
        network = self.network
        return network.layers[source - 1].scale if source else network.input.scale

    def _add(self, name: str, values: Array, step: Array, most: int) -> None:
        self.start[name] = jnp.asarray(np.clip(values / most, -1, 1), jnp.float32)
        self.scales[name] = Scale(float(most), jnp.asarray(step, jnp.float32))


def check(layers: Sequence[Planned]) -> None:
    """Refuse parts that cannot be trained."""
    for layer in layers:
        if layer.product is not None:
            raise NetworkError(f"node {layer.name}: a product of two values cannot be trained, "
                               "supported are sums of linear maps")  # fmt: skip
        if layer.function is not None and layer.function.operation == "bipolar":
            raise NetworkError(f"node {layer.name}: gives only a sign, which has no slope to train "
                               "by; supported are functions with more than two values")  # fmt: skip
    if layers[-1].form.shape[1:] != (1, 1):
        shape = "x".join(map(str, layers[-1].form.shape))
        raise NetworkError(f"node {layers[-1].name}: the output has shape {shape}, expected one "
                           "logit for each class")  # fmt: skip
    if all(isinstance(t.map, floats.Window) for layer in layers for t in layer.form.terms):
        raise NetworkError(f"node {layers[-1].name}: nothing before it has weights to train")


def with_numbers(layer: Layer, index: int, found: dict[str, Ints]) -> Layer:
    """A layer with other weights and biases."""
    terms = []
    for place, term in enumerate(layer.terms):
        if isinstance(term.linear, Conv | Dense):
            term = Term(term.source, replace(term.linear, weights=found[f"{index}.{place}"]))
        terms.append(term)
    return replace(layer, terms=tuple(terms), bias=found[f"{index}.bias"])
