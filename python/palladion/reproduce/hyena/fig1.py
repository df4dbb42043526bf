"""Figure 1: FHE and hybrid inference of ResNet-20, and the communication of the latter."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from palladion.accelerators.packing_model import (
    LAN,
    Link,
    PackingMachine,
    network_named,
    outputs_of,
)
from palladion.measure.accuracy import Steps
from palladion.reproduce.hyena.paper import ARK_MS, CAPTION_MS, CHEETAH_MS
from palladion.reproduce.hyena.runs import ratio, run_of
from palladion.reproduce.hyena.two_parties import measure
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

ROUND_TRIP: Final = 0.0002
"""Seconds of a round trip in a local network."""


def run(measured: bool, models: Path, steps: Steps) -> Reproduction:
    """The bars as printed, the communication by its model, and on request our own mode here."""
    steps.start_run()
    shapes = network_named("resnet20").shapes
    sent = outputs_of(shapes, PackingMachine.named("hyena"))
    exact = outputs_of(shapes, PackingMachine.named("hyena"), exact=True)
    one_way = 1000 * LAN.seconds(sent.sent)
    waiting = Link(LAN.bits_per_second, ROUND_TRIP)
    both = 1000 * waiting.seconds(2 * exact.sent, len(shapes))
    hyena = 1000 * run_of("resnet20", "hyena").seconds
    mended = 1000 * run_of("resnet20", "hyena", corrected=True).seconds
    fhe, hybrid = sum(ARK_MS.values()), sum(CHEETAH_MS.values())
    communication = CHEETAH_MS["communication (MPC)"]
    rows: list[tuple[Cell, ...]] = [
        *(("ARK, FHE", name, value, None, None) for name, value in ARK_MS.items()),
        ("ARK, FHE", "together", fhe, None, None),
        ("Cheetah, hybrid", "server (HE)", CHEETAH_MS["server (HE)"], None, None),
        ("Cheetah, hybrid", "communication", communication, one_way, ratio(one_way, communication)),
        ("Cheetah, hybrid", "computation (MPC)", CHEETAH_MS["computation (MPC)"], None, None),
        ("Cheetah, hybrid", "together", hybrid, None, None),
        ("Cheetah, hybrid", "in the caption", CAPTION_MS, None, None),
        ("Hyena", "server, published model", None, hyena, None),
        ("Hyena", "server, corrected model", None, mended, None),
        ("Hyena", "both ways, and waiting", None, both, None),
    ]
    here = measure(models, steps) if measured else None
    if here is not None:
        rows += [
            ("Palladion, hybrid, measured", "linear layers", None, here.linear_ms, None),
            ("Palladion, hybrid, measured", "activations", None, here.activation_ms, None),
            ("Palladion, hybrid, measured", "offline", None, here.offline_ms, None),
        ]
    parts = ("server (HE)", "communication", "computation (MPC)")
    series = (
        Series("Cheetah, printed", parts, [*CHEETAH_MS.values()]),
        Series("Hyena, our model as published", parts, [hyena, None, None]),
        Series("Hyena, our model corrected", parts, [mended, None, None]),
        Series("our model of the communication", parts, [None, one_way, None]),
    )
    return Reproduction(
        "Figure 1: ResNet-20, milliseconds",
        (
            *(Column("setup", "setup"), Column("part", "part")),
            *(Column("paper_ms", "paper", ".2f"), Column("ours_ms", "ours", ".2f")),
            Column("ratio", "ratio", ".3f"),
        ),
        rows,
        (
            f"communication: {sent.values:,} results of {len(shapes)} layers are "
            f"{sent.ciphertexts} ciphertexts of 8 KiB, at 2 Gbit/s.",
            f"together: {fhe:g} / {hybrid:g} are {fhe / hybrid:.2f}, near the printed 6.75. The "
            f"caption's {CAPTION_MS:g} ms give {fhe / CAPTION_MS:.2f}.",
            f"both ways: {exact.ciphertexts} ciphertexts with the borders of strided layers, as "
            "many back from the client, and a round trip of 0.2 ms for each layer. The paper "
            "counts one way and no waiting.",
            *(here.notes if here else ()),
        ),
        (Panel("hybrid inference", "ms", series),),
    )
