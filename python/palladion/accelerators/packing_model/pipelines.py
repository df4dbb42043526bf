"""Pipelines of functional units: the time of a run, and its charges.

A stage is a kind of work on one file of registers, such as ``("benes", "partial_sums")``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine

Stage = tuple[str, str]
Stages = tuple[Stage, ...]

MULTIPLY: Stages = (("multiply", "inputs"),)
SWITCH_SUMS: Stages = (("switch_sums", "partial_sums"),)
SWITCH_INPUTS: Stages = (("switch_inputs", "inputs"),)
MOVES = ("benes", "shift", "transpose")


@dataclass(frozen=True)
class Pipelines:
    """The stages of a run of each pipeline, and its time.

    ``interval`` is the nanoseconds from one run to the next where runs overlap. It is ``None``
    where they do not: then each run takes all its stages, and rotations of inputs, which overlap
    with themselves, take their slowest.
    """

    multiply: Stages
    partial_sums: Stages = ()
    inputs: Stages = ()
    interval: int | None = None
    input_time: int = 0
    """Nanoseconds of a rotation of inputs where runs do not overlap."""
    running: bool = True
    """False if the published model forgot the length of a cycle."""


def permutation(machine: PackingMachine, file: str) -> Stages:
    """Slots change places."""
    if machine.rotation == "benes":
        return (("benes", file),)
    return (("shift", file), ("transpose", file)) * 2


def transform(machine: PackingMachine, file: str, *, transposing: bool = False) -> Stages:
    """A transform: two halves, and a transposition between them.

    With ``transposing`` it is charged as F1's, whatever the machine has.
    """
    middle = "transpose" if transposing or machine.rotation != "benes" else "benes"
    return (("half_transform", file), (middle, file), ("half_transform", file))


def permutation_of_inputs(machine: PackingMachine, model: Model) -> Stages:
    """Inputs change places as coefficients: from the evaluation domain and back, then a hint."""
    # The published model charges F1's transpositions here, on a Benes network too.
    published = not model.has(Correction.ROTATION)
    there = transform(machine, "inputs", transposing=published)
    return there + permutation(machine, "inputs") + there + SWITCH_INPUTS


def accumulation(machine: PackingMachine) -> Stages:
    """A partial sum whose slots have no order joins another one: it changes places as
    coefficients."""
    there = transform(machine, "partial_sums")
    return there + permutation(machine, "partial_sums") + there + SWITCH_SUMS


def stage_counts(stages: Stages) -> dict[str, int]:
    """Key switches, whole transforms, and rotations of a run.

    A file that changes places between transforms is permuted, on coefficients. Another one is
    shifted.
    """
    kinds = [kind for kind, _ in stages]
    transformed = {file for kind, file in stages if kind == "half_transform"}
    moved = {file for kind, file in stages if kind in MOVES}
    return {
        "key_switches": sum(kind.startswith("switch") for kind in kinds),
        "transforms": kinds.count("half_transform") // 2,
        "shifts": len(moved - transformed),
        "permutations": len(moved & transformed),
    }


def slowest(machine: PackingMachine, stages: Stages) -> int:
    """Nanoseconds of the slowest stage."""
    return max(duration(machine, kind) for kind, _ in stages)


def all_stages(machine: PackingMachine, stages: Stages) -> int:
    """Nanoseconds of all stages, one after the other."""
    return sum(duration(machine, kind) for kind, _ in stages)


def duration(machine: PackingMachine, kind: str) -> int:
    """Nanoseconds of a stage."""
    if kind == "half_transform":
        return machine.half_steps * machine.nanoseconds["butterfly"]
    return machine.nanoseconds["switch" if kind.startswith("switch") else kind]


Charges = Counter[tuple[str, str]]
"""Words or events by component and by charge."""


def charges(machine: PackingMachine, stages: Sequence[Stage]) -> Charges:
    """The charges of a run of these stages.

    Additions and reads of weights and inputs outside products are free, as in the published model.
    """
    found: Charges = Counter()
    for kind, file in stages:
        words = machine.plaintext if file == "weights" else machine.ciphertext
        CHARGES[kind](machine, words, found)
    return found


def _multiply(machine: PackingMachine, words: int, found: Charges) -> None:
    found["registers", "input_file"] += words
    found["registers", "weight_file"] += machine.plaintext
    found["multipliers", "multipliers"] += machine.ciphertext


def _half_transform(machine: PackingMachine, words: int, found: Charges) -> None:
    # Each step reads two words and writes one; the whole is copied in and out.
    found["transforms", "buffer_file"] += (2 + 3 * machine.half_steps) * words
    found["transforms", "twiddle_file"] += machine.half_steps * machine.plaintext
    found["multipliers", "multipliers"] += machine.half_steps * machine.ciphertext


def _switch_sums(machine: PackingMachine, words: int, found: Charges) -> None:
    found["registers", "buffer_file"] += words
    found["registers", "hint_file"] += words
    found["registers", "partial_sum_file"] += 2 * words
    found["multipliers", "multipliers"] += machine.ciphertext


def _switch_inputs(machine: PackingMachine, words: int, found: Charges) -> None:
    found["registers", "buffer_file"] += 2 * words
    found["registers", "hint_file"] += words
    found["multipliers", "multipliers"] += machine.ciphertext


def _move(event: str) -> Callable[[PackingMachine, int, Charges], None]:
    def charge(_machine: PackingMachine, words: int, found: Charges) -> None:
        found["rotation", "buffer_file"] += 2 * words
        found["rotation", event] += 1

    return charge


CHARGES: dict[str, Callable[[PackingMachine, int, Charges], None]] = {
    "multiply": _multiply,
    "half_transform": _half_transform,
    "switch_sums": _switch_sums,
    "switch_inputs": _switch_inputs,
    **{event: _move(event) for event in MOVES},
}
