"""Packed layers on a vector machine: circuits, traces and checked schedules in place of formulas.

The layers come from :mod:`shapes`, the circuits from ``crates/packings``: complete, under CKKS at
128 bits, in words of 32 bits. Nothing is encrypted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from palladion import _native
from palladion.accelerators.packing_model.shapes import Layers, Shape
from palladion.machines import Machine
from palladion.simulation import SimulationReport, simulate
from palladion.support.records import Json


@dataclass(frozen=True)
class Scheduled:
    """A layer in a packing, scheduled whole or in part."""

    name: str
    count: int
    """Equal maps of the layer."""
    taken: Json
    """``layer``, ``part``, ``whole``, ``share``, ``keys``, ``security``."""
    report: SimulationReport
    """The report of :func:`palladion.simulate` for the part."""

    @property
    def times(self) -> float:
        """The factor of the part's figures: maps of the layer, over the part's share."""
        share: float = self.taken["share"]
        return self.count / share

    @property
    def traffic(self) -> dict[str, float]:
        """Bytes by kind. Each key passes memory once for each map, however much work there is:
        hints are the part's times the ratio of distinct keys."""
        bytes_: Mapping[str, int] = self.report.traffic_bytes
        found = {name: self.times * count for name, count in bytes_.items()}
        if "hints" in found:
            keys: float = self.taken["keys"]
            found["hints"] = self.count * keys * bytes_["hints"]
        return found

    @property
    def joules_by_component(self) -> dict[str, float]:
        """By component. Memory's is in proportion to the bytes that pass it."""
        found = {
            name: self.times * value for name, value in self.report.joules_by_component.items()
        }
        scaled = self.times * self.report.traffic_total
        if "memory" in found and scaled:
            found["memory"] *= sum(self.traffic.values()) / scaled
        return found

    def to_dict(self) -> Json:
        """All of it, in plain types."""
        totals = {name: self.times * getattr(self.report, name) for name in ("seconds", "cycles")}
        return {
            "layer": self.name,
            "shape": self.taken["layer"],
            "part": None if self.taken["whole"] else self.taken["part"],
            "share": self.taken["share"],
            "maps": self.count,
            **totals,
            "joules": sum(self.joules_by_component.values()),
            "traffic": sum(self.traffic.values()),
            "tight_gap": self.report.tight_gap,
            "utilisation": self.report.utilisation,
        }


def schedule(
    network: Layers,
    packing: str,
    machine: Machine,
    *,
    batch: int = 1,
    log_n: int = 13,
    most: int = 300,
    hear: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Scheduled]:
    """Schedule every layer of a network. Layers of one shape are scheduled once.

    A layer that takes more than ``most`` products, rotations or ciphertexts is scheduled in part.
    ``hear`` is called with the number of layers done, and of all.

    Raises
    ------
    UsageError
        If a layer does not fit the packing.
    FormatError
        If the machine is no vector machine, or cannot run the instructions.
    """
    known: dict[tuple[int, ...], tuple[Json, SimulationReport]] = {}
    found = []
    for done, shape in enumerate(network.shapes):
        hear(done, len(network.shapes))
        sizes = sizes_of(shape, batch)
        if sizes not in known:
            work, taken = _native.packing_workload(packing, sizes, log_n, most)
            known[sizes] = taken, simulate(work, machine).report
        found.append(Scheduled(shape.name, shape.count, *known[sizes]))
    hear(len(network.shapes), len(network.shapes))
    return found


def sizes_of(shape: Shape, batch: int) -> tuple[int, ...]:
    """A shape as ``crates/packings`` takes it. The image has its padding already."""
    sides = (*shape.image, *shape.kernel, *shape.stride)
    return (batch, shape.channels, shape.kernels, 1, *sides, 1, 1, 0, 0, 0, 0)


def totals(layers: Iterable[Scheduled]) -> Json:
    """Time, energy, cycles and traffic of all layers, one after the other."""
    sums: Counter[str] = Counter()
    joules: Counter[str] = Counter()
    traffic: Counter[str] = Counter()
    for layer in layers:
        for name in ("seconds", "cycles"):
            sums[name] += layer.times * getattr(layer.report, name)
        joules.update(layer.joules_by_component)
        traffic.update(layer.traffic)
    return {
        **sums,
        "joules": sum(joules.values()),
        "traffic": {**traffic, "total": sum(traffic.values())},
        "joules_by_component": dict(joules),
    }
