"""Tables 8 and 9: memory, area and power of the accelerator, as printed and as simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from palladion.machines import Machine, SpatialSummary, VectorSummary
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena.simulated import Run, run_of
from palladion.reproduce.reproduction import Cell, Column, Reproduction

MEMORY: Final = {
    "CraterLake": ("256+26", 84.0),
    "ARK": ("512+76", 92.0),
    "BTS": ("512+22", 330.0),
    "SHARP": ("180+18", 72.0),
    "Athena": ("45+15", 180.0),
}
"""MB of scratchpad and register files, and TB/s between them and the units; 1 TB/s of HBM each."""

PARTS: Final = {
    "Automorphism": (3.8, 3.0, ("automorphism",)),
    "PRNG": (1.2, 1.9, ("prng",)),
    "NTT": (4.51, 3.9, ("ntt",)),
    "SE": (0.32, 0.94, ("extraction",)),
    "FRU": (42.6, 89.1, ("fru",)),
    "NoC": (5.9, 7.8, ("network",)),
    "Register files": (8.4, 4.9, ("register files",)),
    "Scratchpad": (20.1, 4.8, ("scratchpad",)),
    "HBM": (29.6, 31.8, ("memory",)),
}
"""Square millimetres, peak watts, and our names."""
PRINTED_SUM: Final = (116.4, 148.1)


def run(models: Path, benchmark: str, steps: Steps) -> Reproduction:
    """Size of the scratchpad and rate of the channels of each machine, and our use of both."""
    found = run_of(benchmark, "w7a7", models, steps)
    summary = {each: Machine.named(each.lower()).summary()
               for each in ("CraterLake", "SHARP", "Athena")}  # fmt: skip
    rows = [memory_row(name, summary.get(name)) for name in MEMORY]
    share = found.found.utilisation
    traffic = found.found.traffic_total
    return Reproduction(
        "Table 8: memories",
        (
            *(Column("accelerator", "accelerator"), Column("paper_mb", "MB")),
            *(Column("paper_tb_s", "TB/s", ".0f"), Column("file_mb", "MB in our file", ".0f")),
            Column("file_hbm_tb_s", "HBM TB/s in our file", ".1f"),
        ),
        rows,
        (
            f"{benchmark} w7a7, our program simulated on athena: {traffic / 1e9:.2f} GB pass HBM, "
            f"which is busy {100 * share['memory']:.0f} % of the time; the network "
            f"{100 * share['network']:.0f} %.",
            "The text gives 330 TB/s to CraterLake (section 5.4); table 8 prints it for BTS.",
            "in our file: scratchpad and memory channel of our machines' files, which hold the "
            "paper's numbers. Nothing is compared. ARK and BTS have no file.",
        ),
    )


def memory_row(name: str, model: SpatialSummary | VectorSummary | None) -> tuple[Cell, ...]:
    megabytes, bandwidth = MEMORY[name]
    if not isinstance(model, VectorSummary):
        return name, megabytes, bandwidth, None, None
    return (
        *(name, megabytes, bandwidth, model.scratchpad_bytes / (1 << 20)),
        model.bytes_per_second / 1e12,
    )


def run_table_9(models: Path, benchmark: str, steps: Steps) -> Reproduction:
    """Area and peak power by component, and the power that our program draws."""
    found = run_of(benchmark, "w7a7", models, steps)
    rows = [part_row(name, found) for name in PARTS]
    area = sum(found.found.area_mm2_by_component.values())
    watts = found.found.joules / found.found.seconds
    rows.append(("Sum", *PRINTED_SUM, area, watts, None))
    return Reproduction(
        "Table 9: area and power by component",
        (
            *(Column("component", "component"), Column("paper_mm2", "mm2", ".2f")),
            *(Column("paper_watts", "peak W", ".2f"), Column("file_mm2", "athena.toml mm2", ".2f")),
            *(
                Column("watts", "simulated mean W", ".2f"),
                Column("energy_percent", "energy %", ".1f"),
            ),
        ),
        rows,
        (
            "The printed parts add up to 116.43 mm2 and 148.14 W. Areas and peak powers of "
            "athena.toml are the printed ones, and nothing is synthesised; FRU is 17 blocks, "
            "automorphism 8 cores.",
            f"simulated mean W: {benchmark} w7a7: peak power times the share of time in which "
            "the part is busy. The text calls this table `Table ??`.",
        ),
    )


def part_row(name: str, found: Run) -> tuple[Cell, ...]:
    area, watts, ours = PARTS[name]
    model = sum(found.found.area_mm2_by_component.get(part, 0.0) for part in ours)
    joules = sum(found.found.joules_by_component.get(part, 0.0) for part in ours)
    return (
        *(name, area, watts, model),
        *(joules / found.found.seconds, found.energy_share(*ours)),
    )
