"""Machines as data, and the cost of programs and programmable bootstrapping on them.

A machine is a TOML file, or the name of one that comes with the package. ``docs/machines.md``
explains its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palladion import _native, files
from palladion.errors import UsageError


@dataclass(frozen=True)
class Machine:
    """A machine's file. It is checked when a simulation uses it."""

    text: str

    @classmethod
    def named(cls, name: str) -> Machine:
        """A machine that comes with the package.

        Raises
        ------
        UsageError
            If there is no machine of this name.
        """
        return cls(_native.machine_file(name))

    @classmethod
    def load(cls, path: Path) -> Machine:
        """A machine from a file.

        Raises
        ------
        UsageError
            If the file is not text.
        """
        try:
            return cls(files.read(path).decode())
        except UnicodeDecodeError:
            raise UsageError(f"{path} is no machine: TOML is text in UTF-8") from None

    def parts(self) -> list[tuple[str, float, float]]:
        """Components of a vector machine: names, square millimetres, watts if always busy."""
        return _native.machine_parts(self.text)

    def products(self, n: int, elements: int) -> dict[str, float]:
        """Microseconds of products of polynomials: ``latency_us`` and ``interval_us``."""
        return _native.simulate_products(self.text, n, elements)

    def bootstrap(self, given: BootstrapSet) -> dict[str, Any]:
        """Tiles, time, power and energy of a blind rotation."""
        return _native.simulate_pbs(self.text, given.sizes)

    def summary(self) -> dict[str, Any]:
        """Its ``family``, ``name`` and sizes.

        Raises
        ------
        FormatError
            If the text is no machine.
        """
        return _native.machine_summary(self.text)

    def varied(self, values: Mapping[str, int]) -> Machine:
        """The machine with other integers at these paths, and the areas and watts that follow.

        Raises
        ------
        FormatError
            If the text is no vector machine, a path names none of its integers, or a value is out
            of range.
        """
        return Machine(_native.machine_varied(self.text, [*values.items()]))

    def scaling(self) -> str:
        """With which powers of what areas and watts grow in :meth:`varied`."""
        return _native.machine_scaling(self.text)

    def simulate(
        self,
        work: _native.Workload,
        progress: Callable[[str, float, float], None] | None = None,
        *,
        order: str = "hints",
        eviction: str = "belady",
    ) -> _native.Simulation:
        """A checked schedule of a workload, as :meth:`run` makes it."""
        return work.simulate(self.text, (order, eviction), progress)

    def run(
        self,
        trace: str,
        progress: Callable[[str, float, float], None] | None = None,
        *,
        order: str = "hints",
        eviction: str = "belady",
    ) -> dict[str, Any]:
        """Time, energy and traffic of a trace on a vector machine.

        ``trace`` is the text that ``palladion lower`` writes. ``progress`` is called with the name
        of a pass, the amount done, and the total.
        """
        work = _native.Workload(trace)
        return self.simulate(work, progress, order=order, eviction=eviction).report()


@dataclass(frozen=True)
class BootstrapSet:
    """Sizes of a published programmable bootstrapping, and its security."""

    name: str
    lwe_dimension: int
    rank: int
    n: int
    base_log: int
    levels: int
    security: str

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """The sizes in the order of the core."""
        return self.lwe_dimension, self.rank, self.n, self.base_log, self.levels

    @property
    def products(self) -> int:
        """Number of products of polynomials in an iteration."""
        return (self.rank + 1) ** 2 * self.levels


SETS: Final = {
    "I": BootstrapSet("I", 586, 2, 512, 8, 2, "INSECURE: 110.1 bits (128 by the paper)"),
    "II": BootstrapSet(
        "II", 500, 1, 1024, 10, 3, "INSECURE: 115.0 bits (110 by the paper, 80 by its code)"
    ),
}
"""Table I of ATHENA. The security is that of ``crates/tfhe``. Set II has 3 digits, as in the
paper's code and text. The table says 2."""

SET_II_AS_PRINTED: Final = BootstrapSet("II, l = 2", 500, 1, 1024, 10, 2, SETS["II"].security)
