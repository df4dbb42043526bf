"""The results of a run of the packing model, in plain types, and the cost of each correction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings import Packing
from palladion.accelerators.packing_model.shapes import Layers
from palladion.accelerators.packing_model.simulate import Run, simulate
from palladion.errors import UsageError
from palladion.schemes.security import Security
from palladion.support.records import Json


@dataclass(frozen=True)
class Step:
    """The run after one more correction or option. The first one is the published run."""

    name: str
    """A correction's, an option's, or ``published``."""
    correction: Correction | None
    run: Run

    def to_dict(self) -> Json:
        """Time, energy and traffic with this correction and the corrections before it."""
        return {
            "step": self.name,
            "seconds": self.run.seconds,
            "joules": self.run.joules,
            "traffic": self.run.traffic_bytes["total"],
        }


def steps(network: Layers, packing: Packing, machine: PackingMachine, wanted: Run) -> list[Step]:
    """The published run, then one for each correction and option of ``wanted`` that changes it.

    A published run that fails is left out: the corrections mend the cause.
    """
    found: list[Step] = []
    for name, correction, model in models(wanted.model):
        try:
            run = simulate(network, packing, machine, model, wanted.batch)
        except UsageError:
            continue
        if not found or differs(found[-1].run, run):
            found.append(Step(name, correction, run))
    return found


def models(wanted: Model) -> Iterator[tuple[str, Correction | None, Model]]:
    """The published model, then with one more correction or option at a time."""
    model = Model.published()
    yield "published", None, model
    for correction in Correction:
        if wanted.has(correction):
            model = replace(model, corrections=model.corrections | {correction})
            yield correction.value, correction, model
    if wanted.log_tree:
        model = replace(model, log_tree=True)
        yield "log-tree", None, model
    if wanted.memory_bound:
        yield "memory-bound", None, replace(model, memory_bound=True)


def differs(a: Run, b: Run) -> bool:
    """True if two runs differ in time, energy or traffic."""
    return (a.seconds, a.joules, a.traffic_bytes) != (b.seconds, b.joules, b.traffic_bytes)


def security_of(machine: PackingMachine) -> Security:
    """The security of one modulus of a word's bits, without special moduli."""
    return Security.uniform(machine.n.bit_length() - 1, 8 * machine.word_bytes)
