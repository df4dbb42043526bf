"""Figure 8: energy of packings by component."""

from __future__ import annotations

from typing import Final

from palladion.accelerators.packing_model.simulate import COMPONENTS
from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import FIGURE_8, PACKINGS
from palladion.reproduce.hyena.runs import ratio, run_of, title
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

COLUMNS: Final = (
    *(Column("network", "network"), Column("packing", "packing")),
    *(Column("paper_j", "paper J", ".5f"), Column("published_j", "ours J", ".5f")),
    Column("ratio", "ratio", ".3f"),
    *(Column(f"{part}_j", part, ".4f") for part in COMPONENTS),
    *(Column("corrected_j", "corrected J", ".5f"), Column("corrected_ratio", "mended", ".2f")),
)


def run(steps: Steps) -> Reproduction:
    """All bars on Hyena's machine."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    for network, printed in FIGURE_8.items():
        for packing, joules in zip(PACKINGS, printed, strict=True):
            found = run_of(network, packing)
            mended = run_of(network, packing, corrected=True).joules
            parts = found.joules_by_component
            rows.append(
                (
                    *(network, title(packing), joules, found.joules),
                    ratio(found.joules, joules),
                    *(parts[part] for part in COMPONENTS),
                    *(mended, mended / joules),
                )
            )
    names = [title(packing) for packing in PACKINGS]
    panels = [panel(network, names) for network in FIGURE_8]
    return Reproduction(
        "Figure 8: joules of a network on Hyena's machine, published by component",
        COLUMNS,
        rows,
        (
            "paper: outputs that the notebook of the public simulator stores, to five digits. "
            "ours: the published model. mended: the corrected model over the paper.",
            "Additions, and reads of inputs and weights that meet no product, are free in the "
            "published model. It charges a hint for each rotation but of A+W, which gets one in a "
            "layer: this correction alone takes A+W of ResNet-50 from 2.74 J to 4.10.",
            "C2PC loads the hints of all rotations of a layer, and rotates nothing.",
        ),
        panels,
    )


def panel(network: str, names: list[str]) -> Panel:
    """The components of a network's bars."""
    found = [run_of(network, packing).joules_by_component for packing in PACKINGS]
    series = [Series(part, names, [max(each[part], 1e-9) for each in found]) for part in COMPONENTS]
    return Panel(network, "joules", series, logarithmic=True)
