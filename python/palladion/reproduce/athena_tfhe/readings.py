"""Table V's times of ATHENA, read in two ways: as the blind rotation alone, or as a whole
bootstrapping."""

from __future__ import annotations

from typing import Final

from palladion.machines import Bootstrapping, WholeBootstrapping
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena_tfhe.paper import ATHENA
from palladion.reproduce.athena_tfhe.published import SETS, published
from palladion.reproduce.athena_tfhe.table5 import simulated
from palladion.reproduce.reproduction import Cell, Column, Reproduction


def milliseconds(whole: WholeBootstrapping) -> list[float]:
    """A whole bootstrapping by parts: words on the processor, starts, rotation, key switch."""

    def of(*names: str) -> float:
        return float(sum(part.us for part in whole.parts if part.name in names)) / 1000

    return [
        of("modulus switch", "accumulator", "extraction"),
        of("starts", "starts of the key switch"),
        of("blind rotation"),
        of("key switch"),
    ]


def rows(name: str, found: Bootstrapping) -> list[tuple[Cell, ...]]:
    """The readings of a set."""
    paper = ATHENA[name].latency

    def row(
        reading: str, parts: list[Cell], run: Bootstrapping | WholeBootstrapping
    ) -> tuple[Cell, ...]:
        ratio = run.latency_ms / paper
        return (name, reading, *parts, run.latency_ms, paper, ratio, run.energy_mj)

    alone: list[Cell] = [None, None, found.latency_ms, None]
    wholes = found.whole.places().items()
    return [
        row("rotation alone", alone, found),
        *(row(f"whole, {place}", [*milliseconds(run)], run) for place, run in wholes),
    ]


def run(steps: Steps) -> Reproduction:
    """Both sets, by three readings."""
    found = simulated(steps)
    notes = [line for name, given in SETS.items() for line in published(given, found[name])[:3]]
    return Reproduction(
        "Table V by what its times may contain; ms and mJ, simulated",
        COLUMNS,
        [row for name in SETS for row in rows(name, found[name])],
        (*notes, *published(SETS["I"], found["I"])[3:], *NOTES),
    )


COLUMNS: Final = (
    Column("set", "set"),
    Column("reading", "reading"),
    Column("words_ms", "words", ".3f"),
    Column("starts_ms", "starts", ".2f"),
    Column("rotation_ms", "rotation", ".2f"),
    Column("switch_ms", "key switch", ".2f"),
    Column("simulated_ms", "ours", ".2f"),
    Column("paper_ms", "paper", ".2f"),
    Column("ratio", "ratio", ".3f"),
    Column("simulated_mj", "fit mJ", ".1f"),
)
NOTES: Final = (
    "fit mJ: the simulated time times the power that was fitted to the paper's.",
    "whole: from LWE sample in to LWE sample out, with the key switch on the processor, as in the "
    "paper's code, or on the array, which is ours. words: modulus switch, first accumulator and "
    "extraction on the processor; starts: of channels and graph, by the processor.",
    "rotation alone: every key is there when a channel sends it. In a whole, keys come from the "
    "memory behind the logic.",
    "What the processor takes is inferred, since the paper prints nothing of it: `reproduce "
    "athena-tfhe sensitivity`.",
)
