"""Encrypted bits."""

from __future__ import annotations

from numpy.typing import ArrayLike

from palladion import _native
from palladion.schemes.tfhe.batch import Batch
from palladion.schemes.tfhe.tfhe_keys import ServerKey
from palladion.schemes.tfhe.values import bit_bytes


class Bits(Batch):
    """Encrypted bits, of shape ``(k,)`` or ``()``.

    ``&``, ``|``, ``^`` and the gates by name take bits of the same parameters, ``True``, ``False``
    and arrays of them, and cost one bootstrapping per bit. ``~`` costs nothing, and :meth:`mux`
    costs two per bit. ``==``, ``!=``, ``<``, ``<=``, ``>`` and ``>=`` are gates, too, with False
    below True.

    Every operation raises

    MissingKeyError
        if there are no keys;
    UsageError
        if an operand is not a bit, has another length, or is of other parameters.
    """

    core = _native.TfheBits
    native: _native.TfheBits

    def __invert__(self) -> Bits:
        return self._of(self.native.negate(self._needed().native))

    def __and__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("and", other)

    __rand__ = __and__

    def __or__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("or", other)

    __ror__ = __or__

    def __xor__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("xor", other)

    __rxor__ = __xor__

    def __eq__(self, other: object) -> Bits:  # type: ignore[override]
        return self._gate("xnor", self._comparable(other))

    def __ne__(self, other: object) -> Bits:  # type: ignore[override]
        return self._gate("xor", self._comparable(other))

    def __lt__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("andny", self._comparable(other))

    def __le__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("orny", self._comparable(other))

    def __gt__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("andyn", self._comparable(other))

    def __ge__(self, other: Bits | ArrayLike) -> Bits:
        return self._gate("oryn", self._comparable(other))

    __hash__ = Batch.__hash__

    def nand(self, other: Bits | ArrayLike) -> Bits:
        """``~(x & y)``."""
        return self._gate("nand", other)

    def nor(self, other: Bits | ArrayLike) -> Bits:
        """``~(x | y)``."""
        return self._gate("nor", other)

    def xnor(self, other: Bits | ArrayLike) -> Bits:
        """``~(x ^ y)``: true if the bits are equal."""
        return self._gate("xnor", other)

    def and_not(self, other: Bits | ArrayLike) -> Bits:
        """``x & ~y``."""
        return self._gate("andyn", other)

    def or_not(self, other: Bits | ArrayLike) -> Bits:
        """``x | ~y``."""
        return self._gate("oryn", other)

    def mux(self, x: Bits | ArrayLike, y: Bits | ArrayLike) -> Bits:
        """``x`` where this is true, otherwise ``y``, by two bootstrappings per bit."""
        given = [other for other in (x, y) if isinstance(other, Bits)]
        keys = self._needed(*given)
        first, second = bits_of(x, keys), bits_of(y, keys)
        chosen = self.native.mux(keys.native, first.native, second.native)
        return self._of(chosen, first, second)

    def _gate(self, name: str, other: Bits | ArrayLike) -> Bits:
        keys = self._needed(other) if isinstance(other, Bits) else self._needed()
        right = bits_of(other, keys)
        return self._of(self.native.gate(keys.native, name, right.native), right)


def bits_of(values: Bits | ArrayLike, keys: ServerKey) -> Bits:
    """Encrypted bits unchanged, or plain bits as constants, which everyone can read."""
    if isinstance(values, Bits):
        return values
    data, single = bit_bytes(values)
    return Bits(_native.TfheBits.constant(keys.native, data), single, keys)
