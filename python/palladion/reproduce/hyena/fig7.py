"""Figure 7: times of packings on Hyena's machine and on F1's rotation."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import CLAIMS, CNNS, FIGURE_7, PACKINGS, SERVER_MS
from palladion.reproduce.hyena.runs import claims, geometric_mean, ratio, run_of, title
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

COLUMNS: Final = (
    *(Column("network", "network"), Column("machine", "machine"), Column("packing", "packing")),
    *(Column("paper_s", "paper s", ".5f"), Column("published_s", "ours s", ".9f")),
    *(Column("ratio", "ratio", ".3f"), Column("corrected_s", "corrected s", ".6f")),
    *(Column("corrected_ratio", "mended", ".2f"), Column("memory_s", "memory s", ".4f")),
)


def run(steps: Steps) -> Reproduction:
    """All bars, and Gala beside them."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    for done, ((network, machine), printed) in enumerate(FIGURE_7.items()):
        steps.count(f"{network} on {machine}", done, len(FIGURE_7))
        for packing, seconds in zip(PACKINGS, printed, strict=True):
            if packing == "c2pc" and machine == "f1":
                continue  # no rotation, so both machines are one
            published = run_of(network, packing, machine=machine).seconds
            mended = run_of(network, packing, machine=machine, corrected=True)
            rows.append(
                (
                    *(network, machine, title(packing), seconds, published),
                    *(ratio(published, seconds), mended.seconds),
                    *(ratio(mended.seconds, seconds), mended.memory_seconds),
                )
            )
    names = [title(packing) for packing in PACKINGS]
    panels = [panel(network, names) for network in CNNS]
    return Reproduction("Figure 7: seconds of a network", COLUMNS, rows, notes(), panels)


def panel(network: str, names: list[str]) -> Panel:
    """The bars of a network on Hyena's machine."""
    runs = {
        kind: [run_of(network, packing, corrected=kind == "corrected") for packing in PACKINGS]
        for kind in ("published", "corrected")
    }
    series = [Series("paper", names, FIGURE_7[network, "hyena"])]
    series += [Series(kind, names, [run.seconds for run in found]) for kind, found in runs.items()]
    return Panel(f"{network}, Hyena's machine", "seconds", series, logarithmic=True)


def gains(*, corrected: bool) -> dict[str, float]:
    """The ratios that the paper claims, of geometric means."""
    means = {}
    for packing in PACKINGS:
        runs = [run_of(network, packing, corrected=corrected) for network in CNNS]
        means[title(packing), "time"] = geometric_mean([run.seconds for run in runs])
        means[title(packing), "energy"] = geometric_mean([run.joules for run in runs])
    found = {}
    for claim in CLAIMS:
        names, what = claim.split(", ")
        above, below = names.split(" / ")
        found[claim] = means[above, what] / means[below, what]
    return found


def notes() -> tuple[str, ...]:
    """The claims, and the bars that the public simulator no longer gives."""
    server = {
        network: 1000 * run_of(network, "hyena").seconds for network in ("resnet50", "mobilenetv2")
    }
    return (
        "paper: outputs that the notebook of the public simulator stores. ours: the published "
        "model, with all digits. ratio: ours over the paper's; mended: the corrected model over "
        "it. memory: what memory alone takes at 64 GB/s, corrected.",
        f"Claims, of geometric means over three networks: {claims(CLAIMS)}.",
        f"By the published model: {claims(gains(corrected=False))}.",
        f"By the corrected model: {claims(gains(corrected=True))}.",
        f"Server-side times: {server['resnet50']:.2f} ms of ResNet-50 are the printed "
        f"{SERVER_MS['resnet50']}; {server['mobilenetv2']:.2f} of MobileNetV2 are not the printed "
        f"{SERVER_MS['mobilenetv2']}.",
        "C2PC: the notebook has 30 ns for a product, the public simulator 15, the text 5. 'A+W / "
        "Hyena, energy 11' holds for the published model. C2PC's dense layer of ResNet-50 has the "
        "tile of 1 x 1, which no kernel fits; the corrected model mends this, packs N coefficients "
        "and not N / 2, and takes 64 ns for a product.",
        "Ch on F1's machine: the public simulator now takes cycles of 0 ns, so the stored bars "
        "cannot be had from it. Corrected cycles are 1 ns.",
    )
