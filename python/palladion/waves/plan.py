"""The plan of a trace: the stages, waves and instructions of a run, as arrays.

All arrays are views of the core's bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from palladion import _native

Words = np.ndarray[Any, Any]

ZERO: Final = 0
"""The row of zeros."""
SPARE: Final = 1
"""The row for results that no instruction reads."""


class Wave(NamedTuple):
    """Instructions that do not depend on each other."""

    stage: int | None
    """Index of the stage; ``None`` for a load or a store."""
    stores: bool
    """True if the wave stores values."""
    first: int
    """First instruction: index in the stage, among the loads or among the stores."""
    length: int
    """Number of instructions."""
    step: int


@dataclass(frozen=True)
class Stage:
    """A kernel with its numbers of operands and results, and all instructions that run it."""

    kernel: str
    reads: int
    writes: int
    arguments: tuple[str, ...]
    """Names of the words of an instruction."""
    read_rows: Words
    write_rows: Words
    words: Words
    tables: dict[str, Words]
    """The matrices of combinations, or the parts of conversions."""

    @property
    def name(self) -> str:
        """The kernel with the numbers of rows that it reads and writes."""
        return f"{self.kernel} {self.reads} to {self.writes}"

    @staticmethod
    def of(fields: dict[str, Any]) -> Stage:
        """The stage from an entry of :meth:`palladion._native.Waves.stages`."""
        reads, writes = fields["reads"], fields["writes"]
        arguments = tuple(fields["arguments"])
        shapes = {
            "matrices": (writes, reads),
            "from": (reads,),
            "to": (writes,),
            "hat_inverse": (reads,),
            "matrix": (writes, reads + 1),
        }
        return Stage(
            kernel=fields["kernel"],
            reads=reads,
            writes=writes,
            arguments=arguments,
            read_rows=words(fields["read_rows"], np.int32, reads),
            write_rows=words(fields["write_rows"], np.int32, writes),
            words=words(fields["words"], np.uint32, len(arguments)),
            tables={
                name: words(fields[name], np.uint32, *shape)
                for name, shape in shapes.items()
                if name in fields
            },
        )


class Plan:
    """The work of a machine with a store of rows that runs a trace."""

    def __init__(self, native: _native.Waves) -> None:
        self.native = native
        self.n: Final = native.n
        self.rows: Final = native.rows
        """Rows of the store."""
        self.primes: Final = np.array(native.primes, np.uint32)
        self.steps: Final = native.steps
        self.stages: Final = [Stage.of(fields) for fields in native.stages()]
        self.permutations: Final = words(native.permutations(), np.uint32, self.n)
        self.places: Final = words(native.places(), np.int32, self.n)
        self.load_rows: Final = native.load_rows()
        """Rows of each value that is loaded."""
        self.store_rows: Final = native.store_rows()
        """Rows of each value that is stored."""

    @cached_property
    def waves(self) -> list[Wave]:
        """The waves, in order."""
        rows = words(self.native.waves(), np.uint32, 4).tolist()
        return [Wave(kind - 2 if kind > 1 else None, kind == 1, *rest) for kind, *rest in rows]

    def name(self, wave: Wave) -> str:
        """The name of a wave in reports: load, store, or the name of its stage."""
        if wave.stage is None:
            return "store" if wave.stores else "load"
        return self.stages[wave.stage].name

    @property
    def store_bytes(self) -> int:
        """Bytes of the store."""
        return 4 * self.n * self.rows


def words(data: bytes, kind: type[np.generic], *shape: int) -> Words:
    """An array of items of the given shape."""
    return np.frombuffer(data, kind).reshape(-1, *shape)
