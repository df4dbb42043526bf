"""A unit beside its definition, cycle by cycle: the model first, then Verilog beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from palladion_hardware.circuit.model import Cycle, Model
from palladion_hardware.errors import MismatchError
from palladion_hardware.units.unit import Unit, Work


class Report(TypedDict):
    """The outcome of a check, for people and for JSON."""

    unit: str
    lanes: int
    word: int
    degree: int
    latency: int
    vectors: int
    cycles: int
    judges: list[str]


@dataclass(frozen=True)
class Trial:
    """Words that went into a unit, and that its model gave."""

    work: Work
    ports: list[Cycle]
    outputs: list[Cycle]


def try_model(unit: Unit, *, seed: int) -> Trial:
    """Runs the model on extreme and random inputs.

    Raises
    ------
    MismatchError
        If a vector is wrong, early or late.
    """
    work = unit.work(np.random.default_rng(seed))
    ports = work.cycles + [unit.idle() for _ in range(unit.latency + 1)]
    outputs = Model(unit.circuit).run(ports)
    for cycle, output in enumerate(outputs):
        expected = work.expected.get(cycle - unit.latency)
        if bool(output["result_valid"][0]) != (expected is not None):
            raise MismatchError(
                f"{unit.name}, cycle {cycle}: valid is {int(output['result_valid'][0])}; a vector "
                f"that enters in a cycle leaves {unit.latency} cycles later"
            )
        if expected is None:
            continue
        label, words = expected
        if not np.array_equal(output["result"], words):
            lane = int(np.flatnonzero(output["result"] != words)[0])
            raise MismatchError(
                f"{unit.name}, {label}, cycle {cycle}, lane {lane}: {int(output['result'][lane])}, "
                f"by definition {int(words[lane])}"
            )
    return Trial(work, ports, outputs)


def compare(unit: Unit, trial: Trial, outputs: list[Cycle], judge: str) -> None:
    """Every output word of every cycle, valid or not.

    Raises
    ------
    MismatchError
        At the first word that differs.
    """
    for cycle, (model, other) in enumerate(zip(trial.outputs, outputs, strict=True)):
        for port, words in model.items():
            if not np.array_equal(words, other[port]):
                raise MismatchError(
                    f"{unit.name}, cycle {cycle}, port {port}: {judge} has {other[port][:4]}..., "
                    f"the model {words[:4]}..."
                )


def report(unit: Unit, trial: Trial, judges: list[str]) -> Report:
    return Report(
        unit=unit.name,
        lanes=unit.shape.lanes,
        word=unit.shape.word,
        degree=unit.shape.degree,
        latency=unit.latency,
        vectors=len(trial.work.expected),
        cycles=len(trial.ports),
        judges=judges,
    )
