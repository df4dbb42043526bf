"""Machines as data, and what programs and programmable bootstrapping take on them.

A machine is a TOML file, or the name of one that comes with the package. ``docs/machines.md`` says
what its keys mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palladion import _native, files
from palladion.errors import UsageError


@dataclass(frozen=True)
class Machine:
    """A machine's file. It is checked when something is simulated on it."""

    text: str

    @classmethod
    def named(cls, name: str) -> Machine:
        """A machine that comes with the package.

        Raises
        ------
        UsageError
            If there is none of this name.
        """
        return cls(_native.machine_file(name))

    @classmethod
    def load(cls, path: Path) -> Machine:
        """A machine of a file of one's own.

        Raises
        ------
        UsageError
            If the file is no text.
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
        of a pass, how much of it is done, and how much there is.
        """
        return _native.simulate_trace(self.text, trace, (order, eviction), progress)


@dataclass(frozen=True)
class BootstrapSet:
    """Sizes of a programmable bootstrapping as published, and what is said of their security."""

    name: str
    lwe_dimension: int
    rank: int
    n: int
    base_log: int
    levels: int
    security: str

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """As the core takes them."""
        return self.lwe_dimension, self.rank, self.n, self.base_log, self.levels

    @property
    def products(self) -> int:
        """Products of polynomials in an iteration."""
        return (self.rank + 1) ** 2 * self.levels


SETS: Final = {
    "I": BootstrapSet("I", 586, 2, 512, 8, 2, "INSECURE: 110.1 bits (128 by the paper)"),
    "II": BootstrapSet(
        "II", 500, 1, 1024, 10, 3, "INSECURE: 115.0 bits (110 by the paper, 80 by its code)"
    ),
}
"""Table I of ATHENA; security is that of ``crates/tfhe``. Set II has 3 digits in the paper's code
and text, and so it has here; the table says 2."""

SET_II_AS_PRINTED: Final = BootstrapSet("II, l = 2", 500, 1, 1024, 10, 2, SETS["II"].security)
