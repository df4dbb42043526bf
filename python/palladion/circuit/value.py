"""Values of a circuit, with operators."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from numpy.typing import ArrayLike

from palladion.errors import UsageError
from palladion.schemes.arrays import between, natural, rotation
from palladion.schemes.encrypted import Packed

if TYPE_CHECKING:
    from palladion.circuit.builder import Circuit


class Value(Packed):
    """A value of a circuit: a ciphertext of its run, or a plaintext.

    ``+``, ``-`` and ``*`` work slot by slot. They take values of the same circuit, numbers, which
    stand in every slot, and arrays of shape ``(k,)``, padded with zeros. One operand must be
    encrypted. The result of operands of different levels is at the lower one.

    A product takes a level, except a product with an integer in CKKS or with a number in BGV and
    BFV. Sums of products are rescaled together, so ``a * b + c * d`` takes one level, one rescale
    and one relinearisation.

    Every operation raises

    LevelError
        if it needs a level and none is left;
    UsageError
        if an operand is of another circuit, of a wrong type or shape, too long, or not finite; if
        no operand is encrypted.
    """

    __array_ufunc__ = None  # an array on the left leaves the operator to this class

    def __init__(self, circuit: Circuit, index: int) -> None:
        self.circuit = circuit
        self.index = index

    def __reduce__(self) -> NoReturn:
        raise UsageError("a value of a circuit is no data of its own: pickle or copy the circuit")

    @property
    def level(self) -> int | None:
        """Number of levels left; ``None`` for a plaintext."""
        return self.circuit.builder.level(self.index)

    def __add__(self, other: Value | ArrayLike) -> Value:
        if isinstance(other, numbers.Number) and other == 0:
            return self  # Python's sum() begins with 0
        return self._of(self.circuit.builder.add(self.index, self.circuit.operand(other)))

    __radd__ = __add__

    def __sub__(self, other: Value | ArrayLike) -> Value:
        return self._of(self.circuit.builder.sub(self.index, self.circuit.operand(other)))

    def __rsub__(self, other: ArrayLike) -> Value:
        return self._of(self.circuit.builder.sub(self.circuit.operand(other), self.index))

    def __neg__(self) -> Value:
        return self._of(self.circuit.builder.negate(self.index))

    def __mul__(self, other: Value | ArrayLike) -> Value:
        return self._of(self.circuit.builder.mul(self.index, self.circuit.operand(other)))

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Value:
        """``x * x * .. * x``, in the fewest levels: ``ceil(log2(exponent))``."""
        exponent = between("the exponent", exponent, 1)
        return self._of(self.circuit.builder.pow(self.index, exponent))

    def rotate(self, k: int) -> Value:
        """Slot ``i`` of the result is slot ``i + k``, cyclically; in BGV and BFV in each row."""
        return self._of(self.circuit.builder.rotate(self.index, rotation(k)))

    def conjugate(self) -> Value:
        """The complex conjugate of every slot, in CKKS."""
        return self._of(self.circuit.builder.conjugate(self.index))

    def swap_rows(self) -> Value:
        """Swap the two rows of slots, in BGV and BFV."""
        return self._of(self.circuit.builder.swap_rows(self.index))

    def sum(self, stride: int = 1, count: int | None = None) -> Value:
        """Slot ``i`` of the result is the sum of the ``count`` slots ``i``, ``i + stride``, and so
        on.

        By default all slots are summed, in BGV and BFV all slots of each row. This takes at most
        ``2 log2(count)`` rotations and no level.
        """
        if count is None:
            if stride != 1:
                raise UsageError(f"a sum of stride {stride} without a count, expected a count")
            count = self.circuit.row
        at = (rotation(stride), natural("the number of terms", count))
        return self._of(self.circuit.builder.sum(self.index, at))

    def bootstrap(self) -> Value:
        """The same message at a high level, in CKKS. See
        :meth:`palladion.ckks.Params.for_bootstrapping`.

        Slots must be below 1: multiply larger ones by a small number before, and by its inverse
        after. :meth:`Circuit.predict` computes the error that it adds.
        """
        self.circuit.builder.state_bootstrapping()
        return self._of(self.circuit.builder.bootstrap(self.index))

    def rescale(self) -> Value:
        """Rescale a product now, instead of in the operation that reads it.

        In BGV and BFV any value may be rescaled: its modulus and its noise are divided.
        """
        return self._of(self.circuit.builder.rescale(self.index))

    def drop(self, level: int) -> Value:
        """The same message at a lower level: smaller, and faster to compute with."""
        return self._of(self.circuit.builder.drop_to(self.index, natural("the level", level)))

    def __repr__(self) -> str:
        kind = "a plaintext" if self.level is None else f"level {self.level}"
        return f"Value({kind}, of {self.circuit!r})"

    def _of(self, index: int) -> Value:
        return Value(self.circuit, index)


def dot(left: Sequence[Value | ArrayLike], right: Sequence[Value | ArrayLike]) -> Value:
    """``left[0] * right[0] + left[1] * right[1] + ..``, one value in each product encrypted.

    The whole sum takes one level, one rescale and one relinearisation. Numbers are encoded as
    arrays.

    Raises
    ------
    LevelError, UsageError
        As the operators of :class:`Value`, and if the sequences are empty or differ in length.
    """
    if len(left) != len(right) or len(left) == 0:
        raise UsageError(f"{len(left)} and {len(right)} factors, expected equal numbers from 1 on")
    values = [x for x in [*left, *right] if isinstance(x, Value)]
    if not values:
        raise UsageError("a dot product without a value of a circuit, expected one in each term")
    circuit = values[0].circuit
    terms = zip(circuit.operands(left), circuit.operands(right), strict=True)
    return Value(circuit, circuit.builder.dot(list(terms)))
