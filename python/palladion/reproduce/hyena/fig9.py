"""Figure 9: batches of ResNet-50."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import BATCHES, FIGURE_9
from palladion.reproduce.hyena.runs import run_of, title
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

NETWORK: Final = "resnet50"
COLUMNS: Final = (
    *(Column("packing", "packing"), Column("batch", "batch")),
    *(Column("paper_s", "paper s", ".5f"), Column("published_s", "ours s", ".6f")),
    *(Column("ratio_s", "ratio", ".3f"), Column("corrected_s", "corrected s", ".4f")),
    *(Column("paper_j", "paper J", ".5f"), Column("published_j", "ours J", ".5f")),
    *(Column("ratio_j", "ratio J", ".3f"), Column("corrected_j", "corrected J", ".4f")),
)


def run(steps: Steps) -> Reproduction:
    """Time and energy of a whole batch."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    for done, (packing, (times, energies)) in enumerate(FIGURE_9.items()):
        steps.count(packing, done, len(FIGURE_9))
        for batch, seconds, joules in zip(BATCHES, times, energies, strict=True):
            found = run_of(NETWORK, packing, batch=batch)
            mended = run_of(NETWORK, packing, batch=batch, corrected=True)
            rows.append(
                (
                    *(title(packing), batch, seconds, found.seconds, found.seconds / seconds),
                    *(mended.seconds, joules, found.joules, found.joules / joules),
                    mended.joules,
                )
            )
    panels = [
        Panel("batch", f"{what}, {model}", bars(what, corrected=corrected), logarithmic=True)
        for what in ("seconds", "joules")
        for model, corrected in (("published", False), ("corrected", True))
    ]
    return Reproduction(
        "Figure 9: batches of ResNet-50 on Hyena's machine", COLUMNS, rows, notes(), panels
    )


def bars(what: str, *, corrected: bool) -> list[Series]:
    """Bars of each packing, by batch."""
    batches = [str(batch) for batch in BATCHES]
    return [
        Series(
            title(packing),
            batches,
            [
                getattr(run_of(NETWORK, packing, batch=b, corrected=corrected), what)
                for b in BATCHES
            ],
        )
        for packing in FIGURE_9
    ]


def notes() -> tuple[str, ...]:
    """The section's claims at a batch of 512, as published and corrected."""
    said = []
    for corrected in (False, True):
        plus, wise = (
            run_of(NETWORK, packing, batch=512, corrected=corrected)
            for packing in ("hyena+", "batchwise+")
        )
        said.append((wise.seconds / plus.seconds, wise.joules / plus.joules))
    return (
        "Section 7.3: at 512 images Hyena+ is 1.09 times as fast as BatchWise+ and takes 9.25 "
        f"times less energy. Published model: {said[0][0]:.3f} and {said[0][1]:.2f}. Corrected "
        f"model: {said[1][0]:.3f} and {said[1][1]:.2f}.",
        "Times are those of a whole batch. Hyena+ is scaled by the images that fit a ciphertext, "
        "in fractions as published, and in whole runs corrected. Corrected, kernels of Hyena+ fit "
        "beside the batch too, and all offsets are computed.",
    )
