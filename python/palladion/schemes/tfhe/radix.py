"""Encrypted numbers of several digits."""

from __future__ import annotations

from numpy.typing import ArrayLike

from palladion import _native
from palladion.errors import UsageError
from palladion.schemes.tfhe.batch import Batch
from palladion.schemes.tfhe.integers import Integers
from palladion.schemes.tfhe.tfhe_keys import Params, ServerKey
from palladion.schemes.tfhe.values import natural_bytes

LARGEST_BITS = 64
"""Largest number of bits of a number that is encrypted."""


class Radix(Batch):
    """Encrypted numbers of :attr:`bits` bits, of shape ``(k,)`` or ``()``. Each digit is a message.

    ``+`` and ``-`` are modulo 2^:attr:`bits`, and cost two bootstrappings per digit, half of them
    in sequence. ``<``, ``<=``, ``>``, ``>=``, :meth:`eq` and :meth:`ne` cost one per digit and give
    :class:`Integers` of 0 or 1, as ``==`` and ``!=``. The other operand may be a plain number,
    or an array of numbers. The numbers of a batch are processed at the same time.

    Every operation raises

    MissingKeyError
        if there are no keys;
    UsageError
        if an operand is not a number from 0 to 2^:attr:`bits` - 1, has other digits or another
        length, or is of other parameters.
    """

    core = _native.TfheNumbers
    native: _native.TfheNumbers

    @property
    def digits(self) -> int:
        """Number of digits of each number, with ``message_bits`` bits each."""
        return self.native.blocks()

    @property
    def bits(self) -> int:
        """Number of bits of each number."""
        return self.digits * self.params.message_bits

    def __add__(self, other: Radix | ArrayLike) -> Radix:
        keys, right = self._operand(other)
        return self._of(self.native.add(keys.native, right.native, False), right)

    __radd__ = __add__

    def __sub__(self, other: Radix | ArrayLike) -> Radix:
        keys, right = self._operand(other)
        return self._of(self.native.add(keys.native, right.native, True), right)

    def __rsub__(self, other: ArrayLike) -> Radix:
        keys, left = self._operand(other)
        return left._of(left.native.add(keys.native, self.native, True), self)

    def __lt__(self, other: Radix | ArrayLike) -> Integers:
        return self._compare("<", other)

    def __le__(self, other: Radix | ArrayLike) -> Integers:
        return self._compare("<=", other)

    def __gt__(self, other: Radix | ArrayLike) -> Integers:
        return self._compare(">", other)

    def __ge__(self, other: Radix | ArrayLike) -> Integers:
        return self._compare(">=", other)

    def __eq__(self, other: object) -> Integers:  # type: ignore[override]
        return self._compare("==", self._comparable(other))

    def __ne__(self, other: object) -> Integers:  # type: ignore[override]
        return self._compare("!=", self._comparable(other))

    __hash__ = Batch.__hash__

    def eq(self, other: Radix | ArrayLike) -> Integers:
        """1 where two numbers are equal."""
        return self._compare("==", other)

    def ne(self, other: Radix | ArrayLike) -> Integers:
        """1 where two numbers are not equal."""
        return self._compare("!=", other)

    def min_max(self, other: Radix | ArrayLike) -> tuple[Radix, Radix]:
        """The smaller and the larger number of each pair, by two bootstrappings per digit."""
        keys, right = self._operand(other)
        smaller, larger = self.native.min_max(keys.native, right.native)
        return self._of(smaller, right), self._of(larger, right)

    def minimum(self, other: Radix | ArrayLike) -> Radix:
        """The smaller number of each pair."""
        return self.min_max(other)[0]

    def maximum(self, other: Radix | ArrayLike) -> Radix:
        """The larger number of each pair."""
        return self.min_max(other)[1]

    def _compare(self, comparison: str, other: Radix | ArrayLike) -> Integers:
        keys, right = self._operand(other)
        found = self.native.compare(keys.native, comparison, right.native)
        return Integers(found, self.single and right.single, keys)

    def _operand(self, other: Radix | ArrayLike) -> tuple[ServerKey, Radix]:
        """The keys, and the other operand. Plain numbers become constants, which everyone can
        read."""
        if isinstance(other, Radix):
            return self._needed(other), other
        keys = self._needed()
        data, single = natural_bytes(other)
        native = _native.TfheNumbers.constant(keys.native, data, self.digits)
        return keys, Radix(native, single, keys)


def digits_of(params: Params, bits: int) -> int:
    """Number of digits of a number of ``bits`` bits."""
    if not 1 <= bits <= LARGEST_BITS or bits % params.message_bits != 0:
        raise UsageError(
            f"numbers of {bits} bits, expected a multiple of the {params.message_bits} "
            f"of a message, up to {LARGEST_BITS}"
        )
    return bits // params.message_bits
