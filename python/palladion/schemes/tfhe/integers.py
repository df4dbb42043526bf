"""Small encrypted integers, and tables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from palladion import _native
from palladion.errors import UsageError
from palladion.schemes.tfhe.batch import Batch
from palladion.schemes.tfhe.values import (
    PairTable,
    TableOf,
    array,
    entries,
    natural_bytes,
    pair_entries,
)

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Integers(Batch):
    """Encrypted integers, of shape ``(k,)`` or ``()``.

    A message has ``message_bits`` bits. With the carry bits above them, a value may temporarily be
    larger: up to :attr:`largest`. Sums, differences and products with plain numbers cost next to
    nothing. Differences and negatives are right modulo 2^``message_bits``. Tables and comparisons
    cost one bootstrapping per value, and their results have fresh noise. ``==``, ``!=``, ``<``,
    ``<=``, ``>`` and ``>=`` give 0 or 1. Their other operand may be a plain number, or an array of
    numbers.

    Every operation raises

    MissingKeyError
        if there are no keys;
    NoiseError
        if a sum has more noise than a bootstrapping allows: use :meth:`message` on a part;
    UsageError
        if a value may not fit below 2^(``message_bits`` + ``carry_bits``); if an operand is not an
        integer, has another length, or is of other parameters.
    """

    core = _native.TfheIntegers
    native: _native.TfheIntegers

    @property
    def largest(self) -> int:
        """The largest value that any of them can have."""
        return self.native.largest()

    @property
    def noise(self) -> int:
        """The largest deviation of their noise, in deviations of an output of a bootstrapping."""
        return self.native.noise()

    def __add__(self, other: Integers | ArrayLike) -> Integers:
        if isinstance(other, Integers):
            keys = self._needed(other)
            return self._of(self.native.add(keys.native, other.native), other)
        data, single = natural_bytes(other)
        return self._plain(self.native.add_values(self._needed().native, data), single)

    __radd__ = __add__

    def __sub__(self, other: Integers | ArrayLike) -> Integers:
        if isinstance(other, Integers):
            keys = self._needed(other)
            return self._of(self.native.sub(keys.native, other.native), other)
        data, single = natural_bytes(other)
        numbers = np.frombuffer(data, np.uint64) % np.uint64(self.params.messages)
        negative = (np.uint64(self.params.messages) - numbers) % np.uint64(self.params.messages)
        found = self.native.add_values(self._needed().native, negative.tobytes())
        return self._plain(found, single)

    def __rsub__(self, other: ArrayLike) -> Integers:
        return -self + other

    def __neg__(self) -> Integers:
        return self._of(self.native.negate(self._needed().native))

    def __mul__(self, other: ArrayLike) -> Integers:
        if isinstance(other, Integers):
            raise UsageError("a product of two ciphertexts, expected apply_pair(other, table)")
        data, single = natural_bytes(other)
        return self._plain(self.native.scale(self._needed().native, data), single)

    __rmul__ = __mul__

    def apply(self, table: TableOf) -> Integers:
        """The table's entry at every value, by one bootstrapping each.

        ``table`` has at least one entry for each value from 0 to :attr:`largest`, each below
        2^(``message_bits`` + ``carry_bits``); or it is a function that gives the entries.
        """
        return self.apply_many([table])[0]

    def apply_many(self, tables: Sequence[TableOf]) -> list[Integers]:
        """The entries of several tables at every value, by one bootstrapping per value for all
        tables.

        A few tables can share one. The more tables, the more often it fails:
        ``params.log2_failure_of``.
        """
        all_entries = [entries(t, self.largest, self.params.values) for t in tables]
        return [self._of(x) for x in self.native.apply(self._needed().native, all_entries)]

    def apply_each(self, tables: Sequence[TableOf]) -> Integers:
        """The entry at each value, where each value has its own table."""
        all_entries = [entries(t, self.largest, self.params.values) for t in tables]
        return self._of(self.native.apply_each(self._needed().native, all_entries))

    def apply_pair(self, other: Integers, table: PairTable) -> Integers:
        """``table[x][y]``, or ``table(x, y)``, of two messages, by one bootstrapping each."""
        keys, params = self._needed(other), self.params
        pair = Integers(
            self.native.pair(keys.native, other.native), self.single and other.single, keys
        )
        flat = pair_entries(table, self.largest, params.messages, params.values)
        return pair._of(pair.native.apply(keys.native, [flat])[0])

    def message(self) -> Integers:
        """The values modulo 2^``message_bits``, by one bootstrapping each."""
        return self.apply([v % self.params.messages for v in range(self.params.values)])

    def carry(self) -> Integers:
        """The values divided by 2^``message_bits``, by one bootstrapping each."""
        return self.apply([v // self.params.messages for v in range(self.params.values)])

    def __eq__(self, other: object) -> Integers:  # type: ignore[override]
        return self._compare("==", self._comparable(other))

    def __ne__(self, other: object) -> Integers:  # type: ignore[override]
        return self._compare("!=", self._comparable(other))

    __hash__ = Batch.__hash__

    def __lt__(self, other: Integers | ArrayLike) -> Integers:
        return self._compare("<", other)

    def __le__(self, other: Integers | ArrayLike) -> Integers:
        return self._compare("<=", other)

    def __gt__(self, other: Integers | ArrayLike) -> Integers:
        return self._compare(">", other)

    def __ge__(self, other: Integers | ArrayLike) -> Integers:
        return self._compare(">=", other)

    def eq(self, other: Integers | ArrayLike) -> Integers:
        """1 where two messages are equal."""
        return self._compare("==", other)

    def ne(self, other: Integers | ArrayLike) -> Integers:
        """1 where two messages are not equal."""
        return self._compare("!=", other)

    def _compare(self, comparison: str, other: Integers | ArrayLike) -> Integers:
        if not isinstance(other, Integers):
            return self._compare_plain(COMPARISONS[comparison], other)
        keys = self._needed(other)
        return self._of(self.native.compare(keys.native, comparison, other.native), other)

    def _compare_plain(self, holds: Callable[[int, int], bool], other: ArrayLike) -> Integers:
        """The comparison with plain numbers, as a table for each."""
        numbers = array(other, "integers")
        tables = [[int(holds(v, int(n))) for v in range(self.params.values)] for n in numbers.flat]
        if numbers.ndim == 0:
            return self.apply(tables[0])
        if self.single or len(tables) != len(self):
            raise UsageError(f"{len(tables)} numbers to compare with, expected one or one for each")
        return self.apply_each(tables)

    def _plain(self, native: _native.TfheIntegers, single: bool) -> Integers:
        return Integers(native, self.single and single, self.keys)
