"""Schedules of traces on simulated machines: time, energy, traffic and waits.

``docs/machines.md`` explains the machines and the fields of reports. ``palladion simulate run
--json`` has the same fields.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palladion import _native
from palladion.errors import FormatError, UsageError
from palladion.machines import Machine
from palladion.runs import Progress
from palladion.support import files, records
from palladion.traces import Replayed, Trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from palladion.circuit.predictions import Lowered
    from palladion.circuit.written import Ciphertext, Written
    from palladion.schemes.keys import EvaluationKeys


@dataclass(frozen=True)
class SimulatedStep:
    """A step of a program on a machine."""

    name: str
    cycles: int
    """From the end of all steps before it to its own end."""
    seconds: float
    joules: float
    instructions: int
    traffic_bytes: Mapping[str, int]
    begins: int
    """The first cycle in which something of it works."""
    ends: int
    works_cycles: Mapping[str, int]
    together_cycles: int
    overlap_cycles: int
    """Cycles in which an earlier step works too."""


@dataclass(frozen=True)
class SimulatedComponent:
    """A unit of a machine, or its memory or network."""

    name: str
    instructions: int
    busy_cycles: int
    stalls: int
    stall_cycles: int
    longest_stall: int


@dataclass(frozen=True)
class SimulationReport:
    """Time, energy and traffic of a trace on a vector machine."""

    machine: str
    cycles: int
    seconds: float
    joules: float
    edp: float
    """Energy times time, J s."""
    edap: float
    """Energy times time times area, J s mm2."""
    area_mm2: float
    area_mm2_by_component: Mapping[str, float]
    joules_by_component: Mapping[str, float]
    accesses: Mapping[str, int]
    """Words through each kind of unit, and bytes of the other components but those of time."""
    traffic_bytes: Mapping[str, int]
    traffic_total: int
    traffic_compulsory: int
    utilisation: Mapping[str, float]
    """Share of the time in which each kind of unit is busy."""
    stalls: Mapping[str, float]
    """Shares of the reasons for which instructions waited."""
    instructions: Mapping[str, int]
    works_cycles: Mapping[str, int]
    """Cycles in which each kind of clusters works."""
    together_cycles: int
    """Cycles in which two kinds work."""
    lower_bounds: Mapping[str, int]
    """Cycles that any schedule takes, by the reason."""
    gap: float
    """Cycles over the largest lower bound."""
    tight_bound: int
    """A bound in cycles that counts queues."""
    tight_gap: float
    steps: tuple[SimulatedStep, ...]
    components: tuple[SimulatedComponent, ...]

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Series:
    """Shares of time by equal parts of a run."""

    cycles: int
    """Cycles of a part."""
    busy: Mapping[str, list[float]]
    """By kind of unit."""
    works: Mapping[str, list[float]]
    """By kind of clusters."""
    limbs: list[float]
    """Limbs in the scratchpad."""
    capacity: int
    """Limbs that it can hold."""

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class StreamSize:
    """The size of an instruction stream."""

    name: str
    instructions: int
    size: int
    """Bytes of the instructions in their binary form."""


class Streams:
    """The instruction streams of a schedule: ``docs/machines.md`` has their forms."""

    FILE = "streams.bin"
    """Name of the binary file in a folder of streams."""

    def __init__(self, native: _native.Streams, trace: Trace | None = None) -> None:
        self._native, self._trace = native, trace

    @property
    def sizes(self) -> tuple[StreamSize, ...]:
        """The size of each stream."""
        return tuple(StreamSize(*row) for row in self._native.sizes())

    @property
    def fetched_bytes(self) -> int:
        """Bytes that a machine fetches: each instruction once."""
        return sum(one.size for one in self.sizes)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the binary file and a text for each stream. Returns the paths."""
        texts = self._native.to_texts()
        parts = {self.FILE: self._native.to_bytes()}
        for place, (name, text) in enumerate(texts):
            words = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
            parts[f"{place:03}-{words}.txt"] = text.encode()
        paths = tuple(Path(folder) / name for name in parts)
        for path, content in zip(paths, parts.values(), strict=True):
            files.write(path, content)
        return paths

    @classmethod
    def load(cls, path: str | os.PathLike[str], machine: Machine | str, trace: Trace) -> Streams:
        """Read what :meth:`save` wrote: the binary file, or the texts of a folder.

        Raises
        ------
        DataError
            If a file cannot be read.
        FormatError
            If the streams are malformed, or contradict the machine, the trace or each other.
        """
        of = machine if isinstance(machine, Machine) else Machine.of(machine)
        source = Path(path)
        try:
            if source.is_dir():
                texts = [files.read(text).decode() for text in sorted(source.glob("*.txt"))]
                return cls(_native.Streams.from_texts(of.text, trace.work, texts), trace)
            content = files.read(source)
            return cls(_native.Streams.from_bytes(of.text, trace.work, content), trace)
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{path} has a file that is no text, expected texts of streams"
            ) from error
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from error

    def run(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
    ) -> Replayed:
        """Execute the streams on ciphertexts, in the order of cycles.

        Every operand is read from the row or register that the streams name. The answer has the
        words of :meth:`palladion.CompiledModel.run` if the schedule is right.

        Raises
        ------
        FormatError
            If a place is read before it was written, or has another limb than the trace says; and
            for traces of circuits, which :meth:`run_circuit` executes.
        UsageError
            If keys or query are of another program, or the streams have no trace.
        StoppedError
            If ``progress`` returned False.
        """
        if self._trace is None:
            raise UsageError("the streams are of a workload, expected those of a `Trace`: "
                             "only it names the values of keys and query")  # fmt: skip
        return Replayed(*self._native.execute(self._trace.native, keys, query, progress))

    def run_circuit(
        self,
        circuit: Written,
        lowered: Lowered,
        inputs: Mapping[str, Ciphertext | ArrayLike],
        keys: EvaluationKeys,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """As :meth:`run`, of the trace of a circuit.

        The ciphertexts have the same bytes as from the circuit's own ``run``. Inputs that are
        plaintexts have the values with which the circuit was lowered.

        Raises
        ------
        FormatError
            As :meth:`run`, and if the streams are not those of the lowered circuit.
        MissingKeyError, UsageError
            As the circuit's own ``run``.
        StoppedError
            If ``progress`` returned False.
        """
        own = {name: circuit.given(name, value) for name, value in inputs.items()}
        of = (circuit.native, circuit.params.native)
        outside = _native.WavesOutside.of_circuit(*of, own, keys.native)
        self._native.execute_circuit(lowered.circuit, outside, progress)
        return {name: circuit.made(one, keys) for name, one in outside.outputs().items()}


class Simulation:
    """A schedule of a trace on a machine, which an independent checker has accepted."""

    def __init__(self, native: _native.Simulation, trace: Trace | None = None) -> None:
        self._native, self._trace = native, trace

    @cached_property
    def report(self) -> SimulationReport:
        """Time, energy, traffic, bounds, steps and components."""
        return records.read(SimulationReport, self._native.report())

    def series(self, parts: int) -> Series:
        """The use of each part of the machine over time, in equal parts of the run."""
        return records.read(Series, self._native.series(parts))

    def timeline(self, window: tuple[int, int] | None = None) -> bytes:
        """A file for Perfetto: of all cycles, or from the first cycle given to before the second.

        Raises
        ------
        UsageError
            If the window is empty, or has more slices than a viewer opens.
        """
        return self._native.timeline(window)

    @cached_property
    def streams(self) -> Streams:
        """The instruction streams, with rows and registers."""
        return Streams(self._native.streams(), self._trace)

    def run(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
    ) -> Replayed:
        """As :meth:`Streams.run`, of the own streams."""
        return self.streams.run(keys, query, progress)


def simulate(
    trace: Trace | _native.Workload,
    machine: Machine | str,
    progress: Callable[[str, float, float], None] | None = None,
    *,
    order: str = "hints",
    eviction: str = "belady",
) -> Simulation:
    """Schedule a trace on a vector machine, cycle by cycle.

    Parameters
    ----------
    trace
        A trace, from ``lower()`` of a compiled network or a circuit.
    machine
        A machine, or the name or file of one: :meth:`palladion.Machine.of`.
    progress
        Called with the name of a pass, the amount done, and the total.
    order
        Order of operations: ``program``, or ``hints``: operations that share a key-switch hint
        together.
    eviction
        The value that leaves a full scratchpad: ``belady``, the one read last, or ``lru``.

    Raises
    ------
    FormatError
        If the text is no trace, or no vector machine.
    UsageError
        If the trace does not fit the machine.
    """
    of = machine if isinstance(machine, Machine) else Machine.of(machine)
    work = trace.work if isinstance(trace, Trace) else trace
    own = trace if isinstance(trace, Trace) else None
    return Simulation(work.simulate(of.text, (order, eviction), progress), own)
