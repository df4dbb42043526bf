"""Figure 3: rotations and data footprint of packings, ResNet-50 without its dense layer."""

from __future__ import annotations

from typing import Final

from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import FIGURE_3_GB, NO_FC, PACKINGS, PRINTED_GB
from palladion.reproduce.hyena.runs import ratio, run_of, title
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

COLUMNS: Final = (
    Column("packing", "packing"),
    *(Column("shifts", "shifts", ",.0f"), Column("permutations", "permutations", ",.0f")),
    *(Column("over_lola", "/ LoLa", ".2f"), Column("paper_gb", "paper GB")),
    *(Column("published_gb", "ours GB", ".3f"), Column("ratio", "ratio", ".2f")),
    Column("true_gb", "32-bit GB", ".2f"),
    *(Column("corrected_shifts", "mended shifts", ",.0f"), Column("corrected_gb", "GB", ".2f")),
)


def run(steps: Steps) -> Reproduction:
    """Counts and footprints, as published and corrected."""
    steps.start_run()
    rows: list[tuple[Cell, ...]] = []
    shifts, permutations, footprints = [], [], []
    lola = sum(rotations("lola"))
    for packing in PACKINGS:
        found = run_of("resnet50", packing, without=NO_FC)
        mended = run_of("resnet50", packing, without=NO_FC, corrected=True)
        words, corrected = found.words("moved")["total"], mended.words("moved")["total"]
        moved, permuted = rotations(packing)
        shifts.append(moved)
        permutations.append(permuted)
        footprints.append(words / PRINTED_GB)
        printed = FIGURE_3_GB.get(packing)
        rows.append(
            (
                *(title(packing), moved, permuted, (moved + permuted) / lola, printed),
                *(words / PRINTED_GB, ratio(words / PRINTED_GB, printed), 4 * words / 1e9),
                *(mended.counts["shifts"], 4 * corrected / 1e9),
            )
        )
    names = [title(packing) for packing in PACKINGS]
    return Reproduction(
        "Figure 3: ResNet-50 without its dense layer",
        COLUMNS,
        rows,
        notes(dict(zip(PACKINGS, footprints, strict=True))),
        (
            Panel(
                "packing",
                "rotations",
                (Series("shifts", names, shifts), Series("permutations", names, permutations)),
            ),
            Panel(
                "packing",
                "GB as printed",
                (Series("footprint", names, footprints),),
                logarithmic=True,
            ),
        ),
    )


def rotations(packing: str) -> tuple[float, float]:
    """Shifts and permutations as published."""
    counts = run_of("resnet50", packing, without=NO_FC).counts
    return float(counts["shifts"]), float(counts["permutations"])


def notes(gigabytes: dict[str, float]) -> tuple[str, ...]:
    """The statements of the figure's text beside the simulated figures."""
    one = {packing: sum(rotations(packing)) for packing in PACKINGS}
    lola, channel = gigabytes["lola"], gigabytes["channel"]
    less = {
        "a+w": 100 * (1 - one["a+w"] / one["lola"]),
        "hyena": 100 * (1 - one["hyena"] / one["a+w"]),
        "footprint": 100 * (1 - gigabytes["hyena"] / gigabytes["c2pc"]),
    }
    return (
        f"Rotations: the text has A+W 19 % below LoLa and Hyena 67 % below A+W; here "
        f"{less['a+w']:.0f} % and {less['hyena']:.0f} %. Ch has 2.5 times LoLa's; here "
        f"{one['channel'] / one['lola']:.2f}.",
        f"'37 x more data movement' of Ch is over A+W ({channel / gigabytes['a+w']:.1f}), not over "
        f"LoLa ({channel / lola:.1f}, '9 x' in section 7.2).",
        "GB as printed: words over 2^32, so a quarter of a byte for a word. 32-bit words take 16 "
        "times that, in the column beside it.",
        f"'Over 90 % lower footprint than C2PC' of Hyena: {less['footprint']:.0f} % with "
        "key-switch hints; over 90 % takes leaving them out.",
        "mended: the corrected model, whose footprint is in 10^9 bytes.",
    )
