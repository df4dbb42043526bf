"""Functions of one real variable, which the tables of a network apply element by element.

An :class:`Expression` is a small tree: the variable, constants, and named operations on them. A
composition such as ``x * sigmoid(x)`` is therefore one function and costs one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.nn.floats.functions import OPERATIONS, ROUNDINGS, SAME, TESTS

__all__ = ["ROUNDINGS", "SAME", "Expression", "Grid", "X", "apply", "constant", "quant_range"]

Array = npt.NDArray[Any]


def quant_range(bits: float, signed: bool, narrow: bool) -> tuple[int, int]:
    """The smallest and the largest integer of QONNX's Quant."""
    span = 2 ** int(bits)
    return (-span // 2 + narrow, span // 2 - 1) if signed else (0, span - 1 - narrow)


@dataclass(frozen=True)
class Grid:
    """Real values ``scale * k`` for the integers ``k`` in ``lo..=hi``."""

    scale: float
    lo: int
    hi: int

    def moved(self, by: float) -> Grid | None:
        """The values with a number added, or ``None`` if that is not a whole number of steps."""
        steps = round(by / self.scale)
        if not isclose(by, steps * self.scale, rel_tol=1e-9):
            return None
        return Grid(self.scale, self.lo + steps, self.hi + steps)


@dataclass(frozen=True)
class Expression:
    """``operation(*arguments, *parameters)``: one of :data:`OPERATIONS`, ``x`` or a constant."""

    operation: str
    arguments: tuple[Expression, ...] = ()
    parameters: tuple[float, ...] = ()

    def __call__(self, x: Array) -> Array:
        """The values at ``x``, any shape."""
        if self.operation == "x":
            return x
        if self.operation == "constant":
            return np.full((), self.parameters[0])
        operation = OPERATIONS[self.operation]
        found = operation(*(argument(x) for argument in self.arguments), *self.parameters)
        return np.asarray(found, dtype=np.float64) if self.operation in TESTS else found

    def __str__(self) -> str:
        if self.operation == "constant":
            return f"{self.parameters[0]:.4g}"
        if self.operation == "x":
            return "x"
        inner = [*map(str, self.arguments), *(f"{p:.4g}" for p in self.parameters)]
        return f"{self.operation}({', '.join(inner)})"

    def affine(self) -> tuple[float, float] | None:
        """``(a, b)`` if this is ``a x + b``, otherwise ``None``."""
        if self.operation == "x":
            return 1.0, 0.0
        if self.operation == "constant":
            return 0.0, self.parameters[0]
        if self.operation not in {"add", "sub", "mul", "div", "neg"}:
            return None
        parts = [argument.affine() for argument in self.arguments]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        (a, b), (c, d) = known[0], known[-1]
        if self.operation == "neg":
            return -a, -b
        if self.operation == "add":
            return a + c, b + d
        if self.operation == "sub":
            return a - c, b - d
        if self.operation == "mul" and a * c == 0:
            return a * d + b * c, b * d
        if self.operation == "div" and c == 0 and d != 0:
            return a / d, b / d
        return None

    def substitute(self, inner: Expression) -> Expression:
        """The composition: this function of ``inner``."""
        if self.operation == "x":
            return inner
        parts = tuple(argument.substitute(inner) for argument in self.arguments)
        return Expression(self.operation, parts, self.parameters)

    def grid(self) -> Grid | None:
        """The grid of the values, if the function ends in one."""
        if self.operation.startswith("quantise_"):
            scale, zero, lo, hi = self.parameters
            return Grid(scale, int(lo - zero), int(hi - zero))
        if self.operation == "bipolar":
            return Grid(self.parameters[0], -1, 1)
        if self.operation == "add" and self.arguments[1].operation == "constant":
            inner = self.arguments[0].grid()
            return inner and inner.moved(self.arguments[1].parameters[0])
        if self.operation == "relu":
            inner = self.arguments[0].grid()
            return inner and Grid(inner.scale, max(inner.lo, 0), max(inner.hi, 0))
        return None

    def rounds_only(self) -> bool:
        """True if this only rounds the variable to a grid."""
        return self.operation.startswith("quantise_") and self.arguments[0] == X


X: Final = Expression("x")


def constant(value: float) -> Expression:
    return Expression("constant", (), (float(value),))


def apply(operation: str, *arguments: Expression, parameters: tuple[float, ...] = ()) -> Expression:
    """An operation applied to other expressions."""
    return Expression(operation, arguments, parameters)
