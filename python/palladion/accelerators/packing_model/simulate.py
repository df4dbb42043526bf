"""From the work of layers to time, energy and traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from palladion.accelerators.packing_model.corrections import Correction, Model
from palladion.accelerators.packing_model.machine import PackingMachine
from palladion.accelerators.packing_model.packings import Given, Packing
from palladion.accelerators.packing_model.pipelines import (
    Pipelines,
    Stages,
    all_stages,
    charges,
    stage_counts,
)
from palladion.accelerators.packing_model.shapes import Layers, Shape
from palladion.accelerators.packing_model.work import Traffic, Work
from palladion.errors import UsageError
from palladion.support.records import Json

COMPONENTS: Final = ("memory", "caches", "registers", "multipliers", "transforms", "rotation")
"""Where energy goes: HBM, L2 buffers, files of registers, and the functional units."""
COUNTS: Final = (
    *("multiplications", "partial_sums", "inputs"),
    *("key_switches", "transforms", "shifts", "permutations"),
)
LARGEST_BATCH: Final = 10**6


@dataclass(frozen=True)
class Cost:
    """The costs of a layer, for the whole batch."""

    name: str
    work: Work
    count: int
    """Equal maps of the layer."""
    nanoseconds: Fraction
    cycles: Fraction
    memory_nanoseconds: Fraction
    """The time in which memory alone moves the words, at the machine's rate."""
    joules: Mapping[str, float]

    @property
    def times(self) -> Fraction:
        """How often the work is done: by maps of the layer and by the batch."""
        return self.count * self.work.repeats


@dataclass(frozen=True)
class Run:
    """A network under a packing on a machine."""

    network: str
    packing: Packing
    machine: PackingMachine
    model: Model
    batch: int
    layers: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        """Time of the batch."""
        return float(sum(layer.nanoseconds for layer in self.layers) / 10**9)

    @property
    def memory_seconds(self) -> float:
        """Time in which memory alone would move all words."""
        return float(sum(layer.memory_nanoseconds for layer in self.layers) / 10**9)

    @property
    def cycles(self) -> int | float:
        """Runs of pipelines; nanoseconds for packings whose pipelines do not overlap."""
        return number(sum((layer.cycles for layer in self.layers), Fraction(0)))

    @property
    def joules(self) -> float:
        """Energy of the batch."""
        return sum(self.joules_by_component.values())

    @property
    def joules_by_component(self) -> dict[str, float]:
        """Energy by component, in joules."""
        return {name: sum(layer.joules[name] for layer in self.layers) for name in COMPONENTS}

    def words(self, what: str) -> dict[str, int | float]:
        """Words by kind: ``off_chip``, ``on_chip`` or ``moved``, and their ``total``."""
        return traffic((layer.times, getattr(layer.work, what)) for layer in self.layers)

    @property
    def traffic_bytes(self) -> dict[str, int | float]:
        """Bytes that memory passes, by kind."""
        words = self.words("off_chip")
        return {kind: count * self.machine.word_bytes for kind, count in words.items()}

    @property
    def counts(self) -> dict[str, int | float]:
        """Products, rotations and transforms of the whole network."""
        return counts_of(self)

    def to_dict(self, *, layers: bool = False) -> Json:
        """All of it, in plain types."""
        found: Json = {
            "network": self.network,
            "packing": self.packing.name,
            "machine": self.machine.name,
            "batch": self.batch,
            "published": not self.model.corrections,
            "corrections": [each.value for each in Correction if each in self.model.corrections],
            "log_tree": self.model.log_tree,
            "memory_bound": self.model.memory_bound,
            "seconds": self.seconds,
            "memory_seconds": self.memory_seconds,
            "joules": self.joules,
            "cycles": self.cycles,
            "traffic": self.traffic_bytes,
            "traffic_words": self.words("off_chip"),
            "cache_words": self.words("on_chip"),
            "footprint_words": self.words("moved"),
            "joules_by_component": self.joules_by_component,
            "counts": self.counts,
        }
        if layers:
            found["layers"] = [layer_dict(self, layer) for layer in self.layers]
        return found


def simulate(
    network: Layers, packing: Packing, machine: PackingMachine, model: Model, batch: int = 1
) -> Run:
    """Time, energy and traffic of a network.

    Raises
    ------
    UsageError
        If the batch is out of range, or a layer does not fit the packing.
    """
    if not 1 <= batch <= LARGEST_BATCH:
        raise UsageError(f"the batch is {batch}, expected 1 to {LARGEST_BATCH} images")
    pipelines = packing.pipelines(machine, model)
    costs = [
        cost_of(shape, packing.work(Given(shape, machine, model, batch)), machine, model, pipelines)
        for shape in counted_layers(network.shapes, model)
    ]
    return Run(network.name, packing, machine, model, batch, tuple(costs))


def counted_layers(shapes: Sequence[Shape], model: Model) -> list[Shape]:
    """The layers that count: in the published model the last of several of one name and sizes."""
    if model.has(Correction.LAYERS):
        return list(shapes)
    return list({shape.key: shape for shape in shapes}.values())


def cost_of(
    shape: Shape, work: Work, machine: PackingMachine, model: Model, pipelines: Pipelines
) -> Cost:
    """The costs of a layer's work.

    Here counts of real circuits may enter: a :class:`Work` with the products, rotations and words
    that a circuit has, in place of the one that the formulas of a packing give.
    """
    times = shape.count * work.repeats
    cycles, interval = rhythm(work, machine, pipelines)
    moved = work.off_chip.total * machine.word_bytes
    memory = Fraction(moved * 10**9, machine.bytes_per_second)
    each = Fraction(cycles * interval)
    if model.memory_bound:
        each = max(each, memory)
    joules = {
        name: value * float(times) for name, value in energy(work, machine, pipelines).items()
    }
    return Cost(shape.name, work, shape.count, each * times, cycles * times, memory * times, joules)


def rhythm(work: Work, machine: PackingMachine, pipelines: Pipelines) -> tuple[int, int]:
    """Cycles of one map, and nanoseconds of a cycle."""
    if pipelines.interval is not None:
        return work.multiply + work.partial_sums, pipelines.interval
    cycles = work.multiply * all_stages(machine, pipelines.multiply)
    cycles += work.partial_sums * all_stages(machine, pipelines.partial_sums)
    return cycles + work.inputs * pipelines.input_time, int(pipelines.running)


def energy(work: Work, machine: PackingMachine, pipelines: Pipelines) -> dict[str, float]:
    """Joules of one map by component."""
    price, on_chip = machine.nanojoules, work.on_chip
    found = dict.fromkeys(COMPONENTS, 0.0)
    found["memory"] = work.off_chip.total * price["memory"]
    found["caches"] = (
        on_chip.inputs * price["input_cache"]
        + on_chip.weights * price["weight_cache"]
        + on_chip.hints * price["hint_cache"]
    )
    for runs, stages in runs_of(work, pipelines):
        for (component, what), count in charges(machine, stages).items():
            found[component] += runs * count * price[what]
    return {name: value / 1e9 for name, value in found.items()}


def runs_of(work: Work, pipelines: Pipelines) -> list[tuple[int, Stages]]:
    """Runs of each pipeline with its stages."""
    return [
        (work.multiply, pipelines.multiply),
        (work.partial_sums, pipelines.partial_sums),
        (work.inputs, pipelines.inputs),
    ]


def counts_of(run: Run) -> dict[str, int | float]:
    """Products, rotations, key switches and transforms.

    A shift moves all slots alike. A permutation does not, and is done on coefficients.
    """
    pipelines = run.packing.pipelines(run.machine, run.model)
    total = dict.fromkeys(COUNTS, Fraction(0))
    for layer in run.layers:
        work = layer.work
        total["multiplications"] += layer.times * work.multiply
        total["partial_sums"] += layer.times * work.partial_sums
        total["inputs"] += layer.times * work.inputs
        for runs, stages in runs_of(work, pipelines):
            for kind, count in stage_counts(stages).items():
                total[kind] += layer.times * runs * count
    return {name: number(value) for name, value in total.items()}


def traffic(parts: Iterable[tuple[Fraction, Traffic]]) -> dict[str, int | float]:
    """Words by kind, and their total: the words of each part times its number of runs."""
    kinds = ("inputs", "weights", "hints", "partial_sums", "total")
    found = dict.fromkeys(kinds, Fraction(0))
    for times, words in parts:
        for kind in kinds:
            found[kind] += times * getattr(words, kind)
    return {kind: number(value) for kind, value in found.items()}


def number(value: Fraction) -> int | float:
    """An integer if it is one."""
    return value.numerator if value.denominator == 1 else float(value)


def layer_dict(run: Run, layer: Cost) -> Json:
    """A layer in plain types."""
    times = layer.times
    words = {
        kind: number(times * getattr(layer.work.off_chip, kind) * run.machine.word_bytes)
        for kind in ("inputs", "weights", "hints", "partial_sums", "total")
    }
    return {
        "layer": layer.name,
        "maps": layer.count,
        "tile": dict(layer.work.sizes),
        "multiplications": number(times * layer.work.multiply),
        "partial_sums": number(times * layer.work.partial_sums),
        "inputs": number(times * layer.work.inputs),
        "seconds": float(layer.nanoseconds / 10**9),
        "memory_seconds": float(layer.memory_nanoseconds / 10**9),
        "joules": sum(layer.joules.values()),
        "traffic": words,
    }
