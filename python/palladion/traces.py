"""Traces: a program or a circuit as instructions on limbs, which machines execute.

They are made by ``lower()``, replayed on ciphertexts, and simulated on machines::

    trace = program.lower()
    trace.counts().instructions
    palladion.simulate(trace, "f1").report.seconds
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from palladion import _native
from palladion.errors import FormatError
from palladion.runs import Progress
from palladion.support import files, records
from palladion.targets import CPU, Replay, Target


@dataclass(frozen=True)
class Counts:
    """The work of a trace."""

    instructions: Mapping[str, int]
    """How often each instruction is executed."""
    passes: Mapping[str, int]
    """Passes over a limb by kind."""

    def to_json(self) -> records.Json:
        """As data for JSON."""
        return records.to_json(self)


@dataclass(frozen=True)
class Replayed:
    """The result of a replay of a trace."""

    answer: bytes
    """The bytes of the answer."""
    raw_digest: str
    """As that of :class:`palladion.RunReport`."""


@dataclass(frozen=True)
class Replayer:
    """A trace on a target."""

    replay: Replay

    def __call__(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
    ) -> Replayed:
        """As :meth:`Trace.replay`."""
        return Replayed(*self.replay(keys, query, progress))


class Trace:
    """Instructions on limbs, as ``docs/programs.md`` describes them. They are public.

    The text is checked when it is replayed, simulated or counted.
    """

    def __init__(
        self,
        text: str | Callable[[], str],
        *,
        counts: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        self._source, self._counts = text, counts

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as its text."""
        return Trace, (self.text,)

    @cached_property
    def text(self) -> str:
        """Instructions, one for each line."""
        return self._source if isinstance(self._source, str) else self._source()

    @cached_property
    def native(self) -> _native.Trace:
        """The verified trace of a compiled network. Circuits have another form."""
        try:
            return _native.Trace.from_text(self.text)
        except FormatError as error:
            raise FormatError(f"{error}; traces of another version are made again, by "
                              "`palladion lower` of the program") from error  # fmt: skip

    @cached_property
    def work(self) -> _native.Workload:
        """The instructions as simulations take them."""
        return _native.Workload(self.text)

    def counts(self) -> Counts:
        """The numbers of instructions, and of passes over limbs.

        Raises
        ------
        FormatError
            If the text is no trace. The message names the line, its content and the expected one.
        """
        return records.read(Counts, self._counts or self.native.counts())

    def verify(self) -> None:
        """Check that the text is the trace of a compiled network.

        Raises
        ------
        FormatError
            The message names the line, its content and the expected one.
        """
        _ = self.native

    def keys(self, data: bytes) -> _native.EvaluationKeys:
        """Read the evaluation keys of the trace's program from their bytes."""
        return _native.EvaluationKeys.from_bytes(self.native, data)

    def query(self, data: bytes) -> _native.Query:
        """Read a query of the trace's program from its bytes."""
        return _native.Query.from_bytes(self.native, data)

    def replay(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        *,
        target: str | Target = CPU,
    ) -> Replayed:
        """Execute every instruction on ciphertexts, one by one.

        Before it is hidden, the answer has the words of :meth:`palladion.CompiledModel.run`, which
        takes less time: the CPU's replay is the definition that other machines are held to.

        Raises
        ------
        FormatError
            If the text is no trace of a compiled network, or needs something that keys or query do
            not have.
        UsageError
            If keys or query are of another program, or this machine has no such device.
        StoppedError
            If ``progress`` returned False.
        """
        return self.prepare(target)(keys, query, progress)

    def prepare(self, target: str | Target = CPU) -> Replayer:
        """Bring the trace to a target, to replay it on any number of queries.

        Raises
        ------
        BudgetError, FormatError, UsageError
            As :meth:`palladion.CompiledModel.prepare`; if the text is no trace; and for several
            devices.
        """
        return Replayer(Target.of(target).prepare_trace(self.native))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text to a file."""
        files.write(Path(path), self.text.encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace that :meth:`save` or ``palladion lower`` wrote.

        Raises
        ------
        DataError
            If the file cannot be read.
        FormatError
            If it is no text.
        """
        file = Path(path)
        data = files.read(file)
        try:
            return cls(data.decode())
        except UnicodeDecodeError as error:
            kind = files.kind(data) or "no text"
            raise FormatError(
                f"{path} is {kind}, expected a trace: `palladion lower` writes one"
            ) from error
