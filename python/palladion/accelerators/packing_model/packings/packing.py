"""The form of a packing: how it cuts a layer, and which pipelines it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.pipelines import Pipelines
from palladion.accelerators.packing_model.shapes import Shape
from palladion.accelerators.packing_model.work import Work
from palladion.errors import UsageError


@dataclass(frozen=True)
class Given:
    """The arguments on which the work of a layer depends."""

    shape: Shape
    machine: PackingMachine
    model: Model
    batch: int = 1

    def has(self, correction: Correction) -> bool:
        """True if a correction is applied."""
        return self.model.has(correction)

    @property
    def outputs(self) -> int:
        """Positions of the result."""
        exact = self.has(Correction.TILES)
        return self.shape.outputs_exact if exact else self.shape.outputs

    def groups(self, count: int, tile: int) -> int:
        """Groups of ``tile`` that are loaded into a cache before the work starts."""
        exact = self.has(Correction.TILES)
        return -(-count // tile) if exact else count // tile


class WorkOf(Protocol):
    """The work of one map of a layer, and how often the batch takes it."""

    def __call__(self, given: Given) -> Work: ...


class PipelinesOf(Protocol):
    """The pipelines of a packing on a machine."""

    def __call__(self, machine: PackingMachine, model: Model) -> Pipelines: ...


@dataclass(frozen=True)
class Packing:
    """A packing of the paper."""

    name: str
    title: str
    """As the paper calls it."""
    summary: str
    work: WorkOf
    pipelines: PipelinesOf


def check_kernel(given: Given) -> None:
    """Refuse a kernel whose values do not fit the slots of a ciphertext."""
    shape, slots = given.shape, given.machine.slots
    if shape.face > slots:
        raise UsageError(
            f"layer {shape.name} has a kernel of {shape.kernel[0]} x {shape.kernel[1]} values, "
            f"expected at most the {slots} slots of a ciphertext"
        )


def cached(count: int, room: int) -> tuple[int, int]:
    """Of ``count`` polynomials, how many a cache of ``room`` holds, and how many it does not."""
    held = min(count, room)
    return held, count - held
