"""Figure 4: accumulators against t / 2, and the activations that rounding noise changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.data.digits import mnist_network
from palladion.measure.accuracy import Steps
from palladion.nn.datasets.dataset import Dataset
from palladion.nn.integers.network import IntNetwork
from palladion.reproduce.athena.measured import encrypted as run_encrypted
from palladion.reproduce.athena.measured import images_for, in_integers, share, source
from palladion.reproduce.athena.paper import T
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series
from palladion.support.records import Json

HALF: Final = T // 2
"""The largest accumulator that the plaintext modulus holds."""
AT_MOST: Final = 11
"""Section 3.3: the largest percentage of a layer's data that noise changes."""
IMAGES: Final = 1000
LEVELS: Final = (1, 6, AT_MOST)
"""Percentages. Section 3.3 says that most layers are below the first two, and all below the
last."""


@dataclass(frozen=True)
class Found:
    """A layer: its largest accumulator, and the percentage of outputs that noise changes.

    ``simulated`` counts the layer's own noise. ``encrypted`` counts noise of all layers before too.
    The last layer has no table that would round noise away, so it has neither figure.
    """

    network: str
    layer: str
    largest: int
    bound: int
    beyond: int
    simulated: float | None
    encrypted: float | None

    def row(self) -> tuple[Cell, ...]:
        """The fields in the order of :data:`COLUMNS`."""
        paper = None if self.simulated is None else AT_MOST
        return (
            *(self.network, self.layer, self.largest, share(self.largest, HALF), self.bound),
            *(self.beyond, paper, self.simulated, self.encrypted),
        )


def run(
    networks: tuple[Path, ...],
    data: Path | None,
    images: int | None,
    encrypted: int,
    steps: Steps,
) -> Reproduction:
    """Every layer of the networks. By default that is the packaged MNIST network."""
    loaded = [IntNetwork.load(path) for path in networks] or [mnist_network()]
    found: dict[str, list[Found]] = {}
    notes = list(NOTES)
    for network in loaded:
        given = images_for(network, data, images or IMAGES)
        found[network.name] = measure(network, given, encrypted, steps)
        notes.append(summary(network.name, found[network.name], source(given)))
    return Reproduction(
        "Figure 4: rationality of t, and data changed by e_ms",
        COLUMNS,
        [layer.row() for layers in found.values() for layer in layers],
        notes,
        panels(found),
    )


def measure(network: IntNetwork, given: Dataset, count: int, steps: Steps) -> list[Found]:
    """All layers, in integers with simulated noise, and in ``count`` encrypted runs."""
    clear = in_integers(network, given, steps)["layers"]
    real: list[Json | None] = [None] * len(clear)
    if count:
        real = [*run_encrypted(network, given, count, steps)["layers"]]
    return [
        Found(
            network.name,
            layer.name,
            ours["largest_accumulator"],
            ours["bound"],
            ours["overflows"],
            None if layer.lut is None else share(ours["changed"], ours["values"]),
            None if layer.lut is None or run is None else share(run["changed"], run["values"]),
        )
        for layer, ours, run in zip(network.layers, clear, real, strict=True)
    ]


def summary(network: str, layers: list[Found], images: str) -> str:
    """The number of layers below the levels of the paper."""
    changed = [layer.simulated for layer in layers if layer.simulated is not None]
    below = ", ".join(f"{sum(c <= level for c in changed)} at most {level} %" for level in LEVELS)
    largest = max(share(layer.largest, HALF) for layer in layers)
    return (
        f"{network} ({images}): largest accumulator {largest:.1f} % of t / 2; of {len(changed)} "
        f"layers with a table noise changes {below}; most {max(changed):.2f} %."
    )


def panels(found: dict[str, list[Found]]) -> tuple[Panel, Panel]:
    """Both axes of the figure, over the layers of each network."""

    def lines(value: Callable[[Found], float | None]) -> list[Series]:
        return [
            Series(name, range(1, len(layers) + 1), [value(layer) for layer in layers])
            for name, layers in found.items()
        ]

    return (
        Panel("layer", "largest |MAC|", lines(lambda layer: layer.largest), HALF),
        Panel("layer", "changed, % (simulated)", lines(lambda layer: layer.simulated), AT_MOST),
    )


COLUMNS: Final = (
    Column("network", "network"),
    Column("layer", "layer"),
    Column("largest_accumulator", "max |MAC|"),
    Column("percent_of_half_t", "% of t/2", ".1f"),
    Column("bound", "bound"),
    Column("beyond_bound", "beyond"),
    Column("paper_changed_at_most", "paper <="),
    Column("changed_simulated", "simulated %", ".2f"),
    Column("changed_encrypted", "encrypted %", ".2f"),
)
NOTES: Final = (
    f"max |MAC|: over the test images, noise included, against t / 2 = {HALF}; bound: what the "
    "layer's table was made for; beyond: accumulators outside it.",
    "simulated: outputs that the layer's own noise changes; encrypted: outputs of encrypted runs "
    "that differ from the integer network's, the noise of all layers before included.",
    "The figure's points are not printed; section 3.3 says: every maximum below t / 2, most layers "
    f"below 6 % or even 1 % of data changed, none above {AT_MOST} %.",
)
