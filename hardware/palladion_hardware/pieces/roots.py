"""Powers of a root of unity as words of a multiplier, and memories of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from palladion_hardware.circuit import Circuit, Node
from palladion_hardware.circuit.nodes import Words
from palladion_hardware.units.numbers import root_of_unity


@dataclass(frozen=True)
class Roots:
    """The powers of a root of order 2 N modulo q, times the R that a multiplier divides by."""

    q: int
    order: int
    radix: int
    """R modulo q."""

    @cached_property
    def psi(self) -> int:
        return root_of_unity(self.q, self.order)

    @cached_property
    def _table(self) -> list[int]:
        table = [self.radix]
        for _ in range(self.order - 1):
            table.append(table[-1] * self.psi % self.q)
        return table

    def power(self, exponent: int, *, scale: int = 1) -> int:
        """R scale psi^exponent modulo q."""
        return self._table[exponent % self.order] * scale % self.q


def read_row(c: Circuit, rows: Words, address: Node, *, bits: int, time: int) -> Node:
    """A row of a memory of roots, there at ``time``. Its address is there before."""
    return c.memory(rows, bits=bits, address=c.at(address, time - 1))
