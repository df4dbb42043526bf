"""Table 5: private inference of ResNet-20."""

from __future__ import annotations

from pathlib import Path

from palladion.accelerators.packing_model import LAN, PackingMachine, network_named, outputs_of
from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import CHEETAH_MS, HE_MS, MPC_MS, TABLE_5, TOTAL
from palladion.reproduce.hyena.runs import run_of
from palladion.reproduce.hyena.two_parties import measure
from palladion.reproduce.reproduction import Cell, Column, Reproduction


def run(measured: bool, models: Path, steps: Steps) -> Reproduction:
    """The printed works, Hyena by the model, and on request our two-party mode here."""
    steps.start_run()
    watts, mm2 = TOTAL
    sent = outputs_of(network_named("resnet20").shapes, PackingMachine.named("hyena"))
    mpc = 1000 * LAN.seconds(sent.sent) + CHEETAH_MS["computation (MPC)"]
    rows: list[tuple[Cell, ...]] = [
        (work, None, None, total, area, power, memory)
        for work, total, area, power, memory in TABLE_5
    ]
    rows.append(("Hyena, printed", HE_MS, MPC_MS, HE_MS + MPC_MS, mm2, watts, 15.02))
    for name, corrected in (("published model", False), ("corrected model", True)):
        found = 1000 * run_of("resnet20", "hyena", corrected=corrected).seconds
        rows.append((f"Hyena, {name}", found, mpc, found + mpc, mm2, watts, None))
    here = measure(models, steps) if measured else None
    if here is not None:
        online = (here.linear_ms, here.activation_ms, here.linear_ms + here.activation_ms)
        rows.append(("Palladion, online, measured", *online, None, None, None))
        offline = here.offline_ms
        rows.append(("Palladion, offline, measured", None, None, offline, None, None, None))
    return Reproduction(
        "Table 5: ResNet-20, milliseconds",
        (
            *(Column("work", "work"), Column("he_ms", "HE", ".3f")),
            *(Column("mpc_ms", "MPC", ".2f"), Column("total_ms", "total", ",.2f")),
            *(Column("mm2", "mm2", ".1f"), Column("watts", "W", ".1f")),
            Column("megabytes", "MB", ".2f"),
        ),
        rows,
        (
            "Other works' rows are printed. They are exact schedules of another network, or "
            "measurements, at N = 2^16 with bootstrapping, and 128 bits of security where they say "
            "so. Hyena's (N, log Q) = (1024, 32) is below 128 bits: INSECURE.",
            "MPC: communication by the model of figure 1, one way, and the 1.7 ms of computation "
            "that the notebook adds without a source.",
            "The network is the public simulator's: 15 layers of ResNet-20's 20.",
            *(here.notes if here else ()),
        ),
    )
