"""What a run of the packing model says: in plain types, and what each correction costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from palladion.errors import UsageError
from palladion.packing_model.corrections import Correction, Model
from palladion.packing_model.machine import PackingMachine
from palladion.packing_model.packings import Packing
from palladion.packing_model.shapes import Layers
from palladion.packing_model.simulate import Run, simulate
from palladion.security import Security


@dataclass(frozen=True)
class Step:
    """The run after one more correction, or the published one, which has none."""

    correction: Correction | None
    run: Run

    def to_dict(self) -> dict[str, Any]:
        """Time, energy and traffic with this correction and those before it."""
        return {
            "correction": self.correction.value if self.correction else None,
            "seconds": self.run.seconds,
            "joules": self.run.joules,
            "traffic": self.run.traffic_bytes["total"],
        }


def steps(
    network: Layers, packing: Packing, machine: PackingMachine, batch: int = 1
) -> Iterator[Step]:
    """The published run, then one for each correction that changes it, one after the other.

    A published run that fails is left out: the corrections mend what it fails at.
    """
    model = Model.published()
    last: Run | None = None
    for correction in (None, *Correction):
        if correction is not None:
            model = replace(model, corrections=model.corrections | {correction})
        try:
            run = simulate(network, packing, machine, model, batch)
        except UsageError:
            continue
        if last is None or differs(last, run):
            yield Step(correction, run)
        last = run


def differs(a: Run, b: Run) -> bool:
    """Whether two runs differ in time, energy or traffic."""
    return (a.seconds, a.joules, a.traffic_bytes) != (b.seconds, b.joules, b.traffic_bytes)


def security_of(machine: PackingMachine) -> Security:
    """The security of one modulus of a word's bits, without special moduli."""
    return Security.uniform(machine.n.bit_length() - 1, 8 * machine.word_bytes)
