"""The entry of an operator: its translation, and its row of docs/operators.md.

Each file of translations ends with its entries. Nothing else lists the operators that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

FREE: Final = "moved for free"
TABLE: Final = "a table"
LINEAR: Final = "a linear map"
MATRIX: Final = "a matrix"
TREE: Final = "a tree of maxima of two: a table for each step"


@dataclass(frozen=True)
class Operator(Generic[T_co]):
    """An operator that is read.

    ``becomes`` and ``limits`` are its row of the page. ``foreign`` are domains in which it occurs
    besides ONNX's own.
    """

    kind: str
    translation: T_co
    becomes: str
    limits: str = ""
    foreign: tuple[str, ...] = ()


def alike(
    kinds: Iterable[str], translation: Callable[[str], T], becomes: str, limits: str = ""
) -> tuple[Operator[T], ...]:
    """Operators with one row, whose translation follows from the name."""
    return tuple(Operator(kind, translation(kind), becomes, limits) for kind in kinds)


def by_kind(entries: Iterable[Operator[T]]) -> dict[str, T]:
    """The translations by the operators' names."""
    return {entry.kind: entry.translation for entry in entries}
