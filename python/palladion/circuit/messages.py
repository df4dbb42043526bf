"""Values of circuits of TFHE, with operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from palladion.errors import UsageError
from palladion.schemes.encrypted import Encrypted

if TYPE_CHECKING:
    from palladion.circuit.tfhe_builder import TfheCircuit

Table: TypeAlias = Callable[[int], int] | Sequence[int] | NDArray[Any]
"""Entries for the values from 0 on, or a function of values."""
PairTable: TypeAlias = Callable[[int, int], int] | Sequence[Sequence[int]] | NDArray[Any]
"""Rows of entries, one row per value of the left operand from 0 on, or a function of both."""

V = TypeVar("V", bound="Message")


class Message(Encrypted):
    """The common part of a :class:`Bit` and an :class:`Integer` of a circuit."""

    choices = "choose in the circuit: mux, apply, apply_pair"
    divisions = "apply a table: x.apply(lambda v: v // 3)"

    __array_ufunc__ = None  # refuses an array on the left

    def __init__(self, circuit: TfheCircuit, index: int) -> None:
        self.circuit = circuit
        self.index = index

    def __reduce__(self) -> NoReturn:
        raise UsageError("a value of a circuit is no data of its own: pickle or copy the circuit")

    def _operand(self, other: object) -> int:
        """An operand as the core numbers it."""
        return operand(self.circuit, type(self), other)


class Bit(Message):
    """A bit of a circuit.

    ``&``, ``|``, ``^`` and the gates by name take bits of the same circuit, ``True``, ``False``, 0
    and 1. They cost one bootstrapping, or nothing if the result is constant or equals an operand.
    ``~`` costs nothing, and :meth:`mux` costs two bootstrappings. ``==``, ``!=``, ``<``, ``<=``,
    ``>`` and ``>=`` are gates, too, with False below True.

    Every operation raises

    UsageError
        if an operand is not a bit, or belongs to another circuit.
    """

    def __invert__(self) -> Bit:
        return self._of(self.circuit.builder.negate(self.index))

    def __and__(self, other: Bit | bool) -> Bit:
        return self._gate("and", other)

    __rand__ = __and__

    def __or__(self, other: Bit | bool) -> Bit:
        return self._gate("or", other)

    __ror__ = __or__

    def __xor__(self, other: Bit | bool) -> Bit:
        return self._gate("xor", other)

    __rxor__ = __xor__

    def __eq__(self, other: object) -> Bit:  # type: ignore[override]
        return self.xnor(other)  # type: ignore[arg-type]  # refused by name

    def __ne__(self, other: object) -> Bit:  # type: ignore[override]
        return self._gate("xor", other)

    def __lt__(self, other: Bit | bool) -> Bit:
        return self._gate("not_and", other)

    def __le__(self, other: Bit | bool) -> Bit:
        return ~self._gate("and_not", other)

    def __gt__(self, other: Bit | bool) -> Bit:
        return self._gate("and_not", other)

    def __ge__(self, other: Bit | bool) -> Bit:
        return ~self._gate("not_and", other)

    __hash__ = Message.__hash__

    def nand(self, other: Bit | bool) -> Bit:
        """``~(x & y)``."""
        return ~(self & other)

    def nor(self, other: Bit | bool) -> Bit:
        """``~(x | y)``."""
        return ~(self | other)

    def xnor(self, other: Bit | bool) -> Bit:
        """``~(x ^ y)``: true if the bits are equal."""
        return ~(self ^ other)

    def and_not(self, other: Bit | bool) -> Bit:
        """``x & ~y``."""
        return self._gate("and_not", other)

    def or_not(self, other: Bit | bool) -> Bit:
        """``x | ~y``."""
        return ~self._gate("not_and", other)

    def mux(self, x: Bit | bool, y: Bit | bool) -> Bit:
        """``x`` where this is true, otherwise ``y``: two bootstrappings, or one if it is a gate."""
        choices = self._operand(x), self._operand(y)
        return self._of(self.circuit.builder.choose(self.index, *choices))

    def _gate(self, name: str, other: object) -> Bit:
        return self._of(self.circuit.builder.gate(name, self.index, self._operand(other)))

    def _of(self, made: int) -> Bit:
        return Bit(self.circuit, made)


class Integer(Message):
    """An integer of a circuit, from :attr:`least` to :attr:`largest`.

    ``+``, ``-`` and ``*`` by plain integers are exact, cost no bootstrapping, and may give negative
    integers. A table costs one bootstrapping, and its result has fresh noise. ``==``, ``!=``,
    ``<``, ``<=``, ``>`` and ``>=`` are tables of the difference that give 0 or 1.

    A value that a table reads, and a result, must have at most 2^(``message_bits`` +
    ``carry_bits``) different values. Sums in between may have more.

    Every operation raises

    UsageError
        if an operand is not an integer, or belongs to another circuit; if a table reads too many
        values, or has a wrong number of entries.
    """

    @property
    def least(self) -> int:
        """The smallest value that it can have."""
        return self.circuit.builder.range(self.index)[0]

    @property
    def largest(self) -> int:
        """The largest value that it can have."""
        return self.circuit.builder.range(self.index)[1]

    def __add__(self, other: Integer | int) -> Integer:
        return self._sum(1, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Integer | int) -> Integer:
        return self._sum(1, other, -1)

    def __rsub__(self, other: int) -> Integer:
        return self._sum(-1, other, 1)

    def __neg__(self) -> Integer:
        return self._of(self.circuit.builder.sum(0, [(-1, self.index)]))

    def __mul__(self, factor: int) -> Integer:
        if isinstance(factor, Message):
            raise UsageError("a product of two values, expected apply_pair(other, table)")
        return self._of(self.circuit.builder.sum(0, [(plain("a factor", factor), self.index)]))

    __rmul__ = __mul__

    def apply(self, table: Table) -> Integer:
        """The table's entry at the value, by one bootstrapping.

        ``table`` is a function of the value, or has at least one entry for each value from 0 to
        :attr:`largest`. Entries are integers and may be negative.
        """
        return self.apply_many([table])[0]

    def apply_many(self, tables: Sequence[Table]) -> list[Integer]:
        """The entries of several tables, by one bootstrapping for all of them.

        The more tables share it, the more often it fails: :meth:`TfheCircuit.predict_failure`
        counts it.
        """
        least, largest = self.circuit.builder.range(self.index)
        found = [entries(table, least, largest, self.circuit.params.values) for table in tables]
        return [self._of(x) for x in self.circuit.builder.lookup(self.index, found)]

    def apply_pair(self, other: Integer, table: PairTable) -> Integer:
        """``table[x][y]``, or ``table(x, y)``, by one bootstrapping.

        The numbers of different values of both operands, multiplied, must not exceed the number
        that a table reads.
        """
        right = Integer(self.circuit, self._operand(other))
        low, width = right.least, right.largest - right.least + 1
        if not callable(table):
            table = rows(table, (self.least, self.largest), (right.least, right.largest))
        function = table
        pair = (self - self.least) * width + (right - low)
        base = self.least
        return pair.apply(lambda v: function(base + v // width, low + v % width))

    def __eq__(self, other: object) -> Integer:  # type: ignore[override]
        return self.eq(other)  # type: ignore[arg-type]  # refused by name

    def __ne__(self, other: object) -> Integer:  # type: ignore[override]
        return self.ne(other)  # type: ignore[arg-type]

    __hash__ = Message.__hash__

    def __lt__(self, other: Integer | int) -> Integer:
        return (self - other).apply(lambda v: v < 0)

    def __le__(self, other: Integer | int) -> Integer:
        return (self - other).apply(lambda v: v <= 0)

    def __gt__(self, other: Integer | int) -> Integer:
        return (self - other).apply(lambda v: v > 0)

    def __ge__(self, other: Integer | int) -> Integer:
        return (self - other).apply(lambda v: v >= 0)

    def eq(self, other: Integer | int) -> Integer:
        """1 where two values are equal."""
        return (self - other).apply(lambda v: v == 0)

    def ne(self, other: Integer | int) -> Integer:
        """1 where two values are not equal."""
        return (self - other).apply(lambda v: v != 0)

    def _sum(self, factor: int, other: object, by: int) -> Integer:
        terms = [(factor, self.index), (by, self._operand(other))]
        return self._of(self.circuit.builder.sum(0, terms))

    def _of(self, made: int) -> Integer:
        return Integer(self.circuit, made)


def operand(circuit: TfheCircuit, kind: type[Message], x: object) -> int:
    """A value of the circuit, or a plain one, as the core numbers it."""
    expected = "a bit" if kind is Bit else "an integer"
    if isinstance(x, Message):
        if not isinstance(x, kind):
            found = "a bit" if isinstance(x, Bit) else "an integer"
            raise UsageError(f"{found} as an operand, expected {expected}")
        if x.circuit is not circuit:
            raise UsageError(f"a value of another {x.circuit!r}, expected one of this {circuit!r}")
        return x.index
    if kind is Bit and not (isinstance(x, bool | np.bool_ | int) and x in (0, 1)):
        raise UsageError(f"the operand {x!r}, expected a bit: True, False, 0 or 1")
    return circuit.builder.constant(int(x) if isinstance(x, np.bool_) else plain("an operand", x))


def plain(what: str, x: object) -> int:
    """A plain integer that fits the core's machine words."""
    try:
        found = index(x)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} is {x!r}, expected an integer") from None
    if abs(found) >= 2**48:
        raise UsageError(f"{what} is {found}, expected less than 2^48")
    return found


def entries(table: Table, least: int, largest: int, values: int) -> list[int]:
    """The entries of a table for every value from ``least`` to ``largest``."""
    if callable(table):
        if largest - least >= values:
            raise UsageError(
                f"a table of values of {least} to {largest}, expected at most {values} of them: "
                "use a table on a part of it first"
            )
        return [plain("an entry", table(v)) for v in range(least, largest + 1)]
    if least < 0:
        raise UsageError(f"a list for values of {least} to {largest}, expected a function of them")
    given = list(table)
    if not largest < len(given) <= max(values, largest + 1):
        raise UsageError(
            f"a table of {len(given)} entries for values of {least} to {largest}, "
            f"expected {largest + 1} to {values}"
        )
    return [plain("an entry", entry) for entry in given[least : largest + 1]]


def rows(
    table: Sequence[Sequence[int]] | NDArray[Any], left: tuple[int, int], right: tuple[int, int]
) -> Callable[[int, int], int]:
    """Rows as a function of two values of these ranges."""
    found = [list(row) for row in table]
    if left[0] < 0 or right[0] < 0:
        raise UsageError("rows of entries for values below 0, expected a function of both")
    if len(found) <= left[1] or any(len(row) <= right[1] for row in found):
        lengths = ", ".join(sorted({str(len(row)) for row in found}))
        raise UsageError(
            f"a table of {len(found)} rows of {lengths or 'no'} entries, "
            f"expected at least {left[1] + 1} of {right[1] + 1}"
        )
    return lambda x, y: found[x][y]
