"""Questions that Python asks of every object, and an encrypted value cannot answer."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

E = TypeVar("E", bound="Encrypted")


class Encrypted:
    """An encrypted value, or a value of a circuit. Nobody but the key's owner can see it.

    For this reason ``if x:``, ``max(x, y)``, ``sorted``, ``x in [..]``, ``int(x)``, ``hash(x)`` and
    their like raise ``TypeError`` with the way out. A comparison that the scheme does not have
    raises it too.
    """

    comparisons = (
        "decrypt first, or compare in palladion.tfhe, whose comparisons give encrypted bits"
    )
    """The way out in place of a comparison."""
    choices = "decrypt first, or multiply by masks: m * x + (1 - m) * y"
    """The way out in place of a decision on the value."""
    divisions = "multiply by the inverse of a plain number"
    """The way out in place of a division."""

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise TypeError(f"{what} an encrypted value ({type(self).__qualname__}): {instead}")

    def __bool__(self) -> bool:
        self._refuse("no if, and, or, not, in, min, max or sorted on", self.choices)

    def __hash__(self) -> int:
        self._refuse("no hash of", "keep it in a list, or in a dict under a name")

    def __eq__(self, other: object) -> Any:
        self._refuse("no == of", self.comparisons)

    def __ne__(self, other: object) -> Any:
        self._refuse("no != of", self.comparisons)

    def __lt__(self, other: Any) -> Any:
        self._refuse("no < of", self.comparisons)

    def __le__(self, other: Any) -> Any:
        self._refuse("no <= of", self.comparisons)

    def __gt__(self, other: Any) -> Any:
        self._refuse("no > of", self.comparisons)

    def __ge__(self, other: Any) -> Any:
        self._refuse("no >= of", self.comparisons)

    def __int__(self) -> int:
        self._refuse("no int() of", "decrypt it with the secret key")

    def __float__(self) -> float:
        self._refuse("no float() of", "decrypt it with the secret key")

    def __complex__(self) -> complex:
        self._refuse("no complex() of", "decrypt it with the secret key")

    def __index__(self) -> int:
        self._refuse("no index and no number of things from", "decrypt it with the secret key")

    def __truediv__(self, other: object) -> Any:
        self._refuse("no division of", self.divisions)

    def __matmul__(self, other: object) -> Any:
        self._refuse("no @ behind", "in CKKS write matrix.T @ x, with the matrix on the left")

    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__
    __rmatmul__ = __matmul__

    def __copy__(self: E) -> E:
        return self  # it never changes

    def __deepcopy__(self: E, memo: object) -> E:
        return self


class Packed(Encrypted):
    """A value whose slots are encrypted together."""

    def __getitem__(self, where: object) -> Any:
        self._refuse("no slots by position of", "rotate, and multiply by an array of 0 and 1")

    def __iter__(self) -> Any:
        self._refuse("no slots one by one of", "rotate, and multiply by an array of 0 and 1")

    def __contains__(self, value: object) -> bool:
        self._refuse("no in on", self.choices)
