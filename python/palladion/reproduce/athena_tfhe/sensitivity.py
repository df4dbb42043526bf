"""How a whole bootstrapping depends on the figures of the machine that nobody prints."""

from __future__ import annotations

import re
from typing import Final

from palladion.machines import Machine
from palladion.measure.accuracy import Steps
from palladion.reproduce.athena_tfhe.paper import versal
from palladion.reproduce.athena_tfhe.published import SETS
from palladion.reproduce.reproduction import Cell, Column, Reproduction

SET: Final = "II"

KEYS: Final = {
    "efficiency_percent": ("35", "100"),
    "latency_ns": ("125", "500"),
    "buffer_words": ("128", "512"),
    "cycles_per_word": ("1.0", "4.0"),
    "cycles_per_product": ("0.25", "1.0"),
    "megabytes_per_second": ("2500", "10000"),
    "start_us": ("0.0", "100.0"),
}
"""Inferred keys of the machine's file, each with two other values."""


def changed(machine: Machine, key: str, value: str) -> Machine:
    """The machine with another value of a key."""
    text, count = re.subn(rf"(?m)^{key} = [^ \n]+", f"{key} = {value}", machine.text)
    if count != 1:
        raise AssertionError(f"{key} stands {count} times in the machine's file")
    return Machine(text)


def times(machine: Machine) -> tuple[float | None, ...]:
    """Milliseconds of a whole bootstrapping, with the key switch on processor and array."""
    whole = machine.bootstrap(SETS[SET]).whole
    return whole.processor.latency_ms, None if whole.array is None else whole.array.latency_ms


def run(steps: Steps) -> Reproduction:
    """The machine as it is, then with each inferred key changed."""
    steps.start_run()
    machine = versal()
    cases = [(key, value) for key, values in KEYS.items() for value in values]
    rows: list[tuple[Cell, ...]] = [("as in the file", None, *times(machine))]
    for done, (key, value) in enumerate(cases):
        steps.count("simulate", done, len(cases))
        rows.append((key, value, *times(changed(machine, key, value))))
    return Reproduction(
        f"A whole bootstrapping of set {SET} by what is inferred; ms, simulated",
        COLUMNS,
        rows,
        NOTES,
    )


COLUMNS: Final = (
    Column("key", "key"),
    Column("value", "value"),
    Column("processor_ms", "key switch on processor", ".2f"),
    Column("array_ms", "on array", ".2f"),
)
NOTES: Final = (
    "The keys are those of memory and processor in the machine's file that no document prints; "
    "docs/notes/machines.md says where each comes from.",
)
