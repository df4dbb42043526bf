"""Runs of the packing model that several items show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod

from palladion.accelerators.packing_model import (
    PACKINGS,
    Model,
    PackingMachine,
    Run,
    network_named,
    simulate,
)


@cache
def run_of(
    network: str,
    packing: str,
    *,
    machine: str = "hyena",
    corrected: bool = False,
    without: str = "",
    batch: int = 1,
) -> Run:
    """A run of a network of the package, without the layer ``without``."""
    layers = network_named(network)
    if without:
        shapes = tuple(shape for shape in layers.shapes if shape.name != without)
        layers = replace(layers, shapes=shapes)
    model = Model.corrected() if corrected else Model.published()
    return simulate(layers, PACKINGS[packing], PackingMachine.named(machine), model, batch)


def title(packing: str) -> str:
    """A packing as the paper calls it."""
    return PACKINGS[packing].title


def geometric_mean(values: Sequence[float]) -> float:
    """The root of the product."""
    return float(prod(values) ** (1.0 / len(values)))


def ratio(ours: float, paper: float | None) -> float | None:
    """Ours over the paper's, if the paper prints something."""
    return None if not paper else ours / paper


def claims(values: Mapping[str, float]) -> str:
    """Ratios as text: names and numbers."""
    return ", ".join(f"{name} {value:.3g}" for name, value in values.items())
