"""Table 2: operations and data movement, by the table's formulas and by the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from palladion.accelerators.packing_model import Run, Shape, network_named
from palladion.accelerators.packing_model.work import Work
from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import PACKINGS
from palladion.reproduce.hyena.runs import ratio, run_of, title
from palladion.reproduce.reproduction import Cell, Column, Reproduction

KINDS: Final = ("ROT", "MUL", "NTT", "IF", "WT", "PSUM")
NETWORK: Final = "resnet50"


@dataclass(frozen=True)
class Terms:
    """A layer's sizes, as the table writes them."""

    shape: Shape
    sizes: Mapping[str, int]

    @property
    def weights(self) -> float:
        """R S C K."""
        return float(self.shape.face * self.pairs)

    @property
    def pairs(self) -> int:
        """C K."""
        return self.shape.channels * self.shape.kernels

    @property
    def c(self) -> int:
        """C_t."""
        return self.sizes["channels"]

    @property
    def k(self) -> int:
        """K_t; Ch packs as many kernels as channels."""
        return self.sizes.get("kernels", self.c)

    @property
    def images(self) -> float:
        """X Y / X_t Y_t."""
        return self.shape.pixels / self.sizes["pixels"]


def lola(t: Terms) -> tuple[float, ...]:
    """The row of LoLa."""
    runs = t.images * t.weights
    inputs = t.images * t.pairs / t.c
    return runs, runs, runs, inputs, runs, t.images * (2 * t.pairs / t.c + t.weights)


def channel(t: Terms) -> tuple[float, ...]:
    """The row of Ch."""
    tiles = t.shape.outputs / t.sizes["windows"]
    face, channels = t.shape.face, t.shape.channels / t.c
    runs = tiles * t.weights / t.k
    rotations = tiles * (face * channels + t.pairs / t.k)
    sums = tiles * t.pairs / (t.c * t.k)
    return rotations, runs, tiles * channels * face, tiles * channels, runs, sums


def c2pc(t: Terms) -> tuple[float, ...]:
    """The row of C2PC."""
    tiles = 1.0
    tile = (t.sizes["rows"], t.sizes["columns"])
    for side, kernel, size in zip(t.shape.image, t.shape.kernel, tile, strict=True):
        tiles *= (side - kernel + 1) / (size - kernel + 1)
    runs = tiles * t.pairs / t.c
    return 0.0, runs, 0.0, runs / t.k, runs, tiles * t.shape.kernels / t.k


def activations_weights(t: Terms) -> tuple[float, ...]:
    """The row of A+W."""
    runs = t.images * t.weights / t.c
    loads = t.images * t.pairs / (t.c * t.k)
    return 2 * runs, runs, runs, loads, loads, t.images * t.shape.kernels / t.k


def hyena(t: Terms) -> tuple[float, ...]:
    """The row of Hyena."""
    shape = t.shape
    loads = shape.windows / t.sizes["windows"]
    rows, columns = shape.kernel
    offsets = min((rows - 1) * (columns - 1) // shape.steps + 1, shape.outputs)
    tiles, channels = loads * offsets, shape.channels / t.c
    kernels = shape.kernels / t.k
    rotations = tiles * (t.pairs / t.c + shape.face * t.c * kernels + channels)
    return rotations, tiles * t.pairs / t.c, tiles * channels, loads, loads, tiles * kernels


FORMULAS: Final[dict[str, Callable[[Terms], tuple[float, ...]]]] = {
    "lola": lola,
    "channel": channel,
    "c2pc": c2pc,
    "a+w": activations_weights,
    "hyena": hyena,
}


def by_formula(packing: str, works: Run) -> dict[str, float]:
    """The row of a packing, summed over the layers with the tiles of the model."""
    shapes = {shape.key: shape for shape in network_named(NETWORK).shapes}
    total = dict.fromkeys(KINDS, 0.0)
    for shape, layer in zip(shapes.values(), works.layers, strict=True):
        row = FORMULAS[packing](Terms(shape, layer.work.sizes))
        for kind, value in zip(KINDS, row, strict=True):
            total[kind] += value
    return total


def by_model(found: Run) -> dict[str, float]:
    """The same in the model: there and back of a transform counts as one."""
    counts, machine = found.counts, found.machine
    words: dict[str, int] = dict.fromkeys(("inputs", "weights", "partial_sums"), 0)
    for layer in found.layers:
        work: Work = layer.work
        for kind in words:
            words[kind] += getattr(work.off_chip, kind)
    return {
        "ROT": float(counts["shifts"] + counts["permutations"]),
        "MUL": float(counts["multiplications"]),
        "NTT": float(counts["transforms"]) / 2,
        "IF": words["inputs"] / machine.ciphertext,
        "WT": words["weights"] / machine.plaintext,
        "PSUM": words["partial_sums"] / machine.ciphertext,
    }


def run(steps: Steps) -> Reproduction:
    """ResNet-50 by the formulas, as published, and corrected."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    for done, packing in enumerate(PACKINGS):
        steps.count(packing, done, len(PACKINGS))
        published = run_of(NETWORK, packing)
        printed, ours = by_formula(packing, published), by_model(published)
        mended = by_model(run_of(NETWORK, packing, corrected=True))
        for kind in KINDS:
            each = (printed[kind], ours[kind], ratio(ours[kind], printed[kind]), mended[kind])
            rows.append((title(packing), kind, *each))
    return Reproduction(
        "Table 2: operations, and polynomials that memory passes, of ResNet-50 (batch 1)",
        (
            *(Column("packing", "packing"), Column("what", "what")),
            *(Column("formula", "formula", ",.0f"), Column("published", "published", ",.0f")),
            *(Column("ratio", "ratio", ".3f"), Column("corrected", "corrected", ",.0f")),
        ),
        rows,
        NOTES,
    )


NOTES: Final = (
    "formula: the table's, in exact quotients, with the tiles that the published model chooses. "
    "published: the published model. They differ where the model rounds tiles up or down.",
    "ROT: LoLa's and A+W's agree with figure 3, which counts no rotation of weights for LoLa. NTT: "
    "a transform and its inverse are one. The model has none for Ch on sums; Ch's are those of "
    "inputs.",
    "IF, WT: the table's formulas for Hyena, M / M_t, leave out channels and kernels; the model "
    "loads all of them once for M_t windows, and again what its caches do not hold. WT of LoLa, Ch "
    "and C2PC: each product has its own.",
    "PSUM: the table counts reads for LoLa too. The model writes each sum once.",
)
