"""One or many encrypted values: the part that all kinds of values share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from palladion.errors import UsageError
from palladion.schemes.encrypted import Encrypted
from palladion.schemes.tfhe.tfhe_keys import Params, ServerKey, needed

B = TypeVar("B", bound="Batch")


class Batch(Encrypted):
    """Encrypted values of shape ``(k,)``, or one of shape ``()``.

    Operators work on all values at once, on all threads. A single value is combined with all values
    of the other operand. Values do not change: an operation returns new ones. Operations need
    :meth:`with_keys` once. Results computed from ``x`` have the keys of ``x``.
    """

    choices = "decrypt first, or choose encrypted: mux, minimum, maximum, apply_pair"
    comparisons = "decrypt first"
    divisions = "apply a table: x.apply(lambda v: v // 3)"

    __array_ufunc__ = None  # an array on the left leaves the operator to this class
    core: ClassVar[Any]
    native: Any

    def __init__(self, native: Any, single: bool, keys: ServerKey | None = None) -> None:
        self.native = native
        self.single = single
        self.keys = keys

    @property
    def params(self) -> Params:
        """The parameters."""
        return Params(self.native.params_of())

    @property
    def shape(self) -> tuple[int, ...]:
        """``(k,)``, or ``()`` for a single value."""
        return () if self.single else (self.native.count(),)

    def with_keys(self: B, keys: ServerKey) -> B:
        """The same values, with keys for computing on them."""
        return type(self)(self.native, self.single, keys)

    def __len__(self) -> int:
        if self.single:
            self._refuse("no length of, and no loop over", "it is a single value, of shape ()")
        count: int = self.native.count()
        return count

    def __getitem__(self: B, where: int | slice | Sequence[int] | NDArray[Any]) -> B:
        """Values selected as from an array of ``k`` values: by position, slice, list, or mask."""
        places = np.arange(self.native.count())[where]
        if places.ndim > 1:
            raise UsageError(f"positions of shape {places.shape}, expected one dimension or none")
        taken = self.native.take(np.atleast_1d(places).tolist())
        return type(self)(taken, places.ndim == 0, self.keys)

    def __iter__(self: B) -> Iterator[B]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object) -> bool:
        self._refuse("no in on", self.choices)

    def to_bytes(self) -> bytes:
        """The values as bytes, without keys. Fresh values are stored as a seed and a word each."""
        data: bytes = self.native.to_bytes(self.single)
        return data

    @classmethod
    def from_bytes(cls: type[B], params: Params, data: bytes) -> B:
        """Read values. Raises ``FormatError`` if they are damaged or made for other parameters."""
        native, single = cls.core.from_bytes(params.native, data)
        return cls(native, single)

    def __repr__(self) -> str:
        return f"tfhe.{type(self).__name__}(shape={self.shape}, {self.native.params_of()!r})"

    def _comparable(self, other: Any) -> Any:
        """The other operand of a comparison: encrypted values of this kind, or numbers."""
        if other is None or isinstance(other, str | bytes | dict | set):
            self._refuse(f"no comparison with {other!r} of", "compare with values of its kind")
        return other

    def _needed(self, *others: Batch) -> ServerKey:
        return needed(self.keys, *(other.keys for other in others))

    def _of(self: B, native: Any, *others: Batch) -> B:
        """A result from this and other operands."""
        single = self.single and all(other.single for other in others)
        return type(self)(native, single, self._needed(*others))


def join(parts: Iterable[B]) -> B:
    """The values of all parts, one after another. A single value counts as one.

    Raises
    ------
    UsageError
        If there are no parts, or if some have other parameters.
    """
    found = list(parts)
    if not found:
        raise UsageError("no values to join, expected at least one")
    first = found[0]
    native = first.native
    for part in found[1:]:
        if type(part) is not type(first):
            wrong, expected = type(part).__name__, type(first).__name__
            raise UsageError(f"{wrong} to join, expected {expected} as the first is")
        native = native.join(part.native)
    return type(first)(native, False, first.keys)
