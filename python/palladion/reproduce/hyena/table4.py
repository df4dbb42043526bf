"""Table 4: power and area of the accelerator."""

from __future__ import annotations

from typing import Final

from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import TABLE_4, TOTAL
from palladion.reproduce.hyena.runs import run_of
from palladion.reproduce.reproduction import Cell, Column, Reproduction

GROUPS: Final = {
    "units": ("MAC unit", "NTT", "Rotate (Benes)"),
    "register files": ("IF registers", "W registers", "PSUM registers"),
    "scratchpad": ("IF L2", "W L2", "KSH L2"),
}


def run(steps: Steps) -> Reproduction:
    """The printed parts, their sums, and the parts of the machine ``hyena``."""
    steps.start_run()
    parts = {name: (watts, area) for name, area, watts in Machine.named("hyena").parts()}
    rows: list[tuple[Cell, ...]] = [
        (name, watts, area, None, None) for name, (watts, area) in TABLE_4.items()
    ]
    printed = [sum(column) for column in zip(*TABLE_4.values(), strict=True)]
    rows.append(("sum of the parts", *printed, None, None))
    rows.append(("printed total", *TOTAL, None, None))
    for name, (watts, area) in parts.items():
        rows.append((f"machine: {name}", None, None, watts, area))
    return Reproduction(
        "Table 4: the accelerator, 65 nm, 200 MHz",
        (
            Column("part", "part"),
            *(Column("printed_watts", "W", ".3f"), Column("printed_mm2", "mm2", ".3f")),
            *(Column("watts", "file W", ".3f"), Column("mm2", "file mm2", ".3f")),
        ),
        rows,
        (
            "machine: the parts of crates/sim/machines/hyena.toml, on which `simulate run` runs "
            "traces. Its memory is 3.9 pJ a bit at 64 GB/s, and is not in table 4.",
            f"The printed power is that of a chip whose parts are always busy. The published model "
            f"takes {power(corrected=False):.2f} W on average for ResNet-50 with Hyena, the "
            f"corrected one {power(corrected=True):.2f}, memory included.",
            "MAC unit: 2 x 2 of 256 are 1,024 multipliers; section 6.4 has 2 VMults of 1,024 each, "
            "and the public simulator 2,048 multipliers. W L2: 4 MB are 1,024 polynomials of 4 KB; "
            "section 6.3 prints 4K, the public simulator has 512.",
        ),
    )


def power(*, corrected: bool) -> float:
    """Average watts of ResNet-50 with Hyena."""
    found = run_of("resnet50", "hyena", corrected=corrected)
    return found.joules / found.seconds
