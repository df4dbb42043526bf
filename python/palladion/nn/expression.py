"""Functions of one real variable, as the tables of a network apply them, element by element.

An :class:`Expression` is a small tree: the variable, constants, and named operations on them. A
composition such as ``x * sigmoid(x)`` is therefore one function and costs one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: Array) -> Array:
    """The error function, in double precision."""
    return np.asarray(_erf(np.asarray(x, dtype=np.float64)), dtype=np.float64)


def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``, written so that nothing overflows."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return np.clip(alpha * x + beta, 0, 1)


def gelu(x: Array) -> Array:
    found: Array = 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return found


def gelu_tanh(x: Array) -> Array:
    found: Array = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return found


def elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def on_grid(rounding: Callable[[Array], Array]) -> Callable[..., Array]:
    """Quantise and dequantise: ``lo..hi`` are the integers, ``zero`` the one that means 0.

    As QONNX has it: zero is added before rounding, so that an odd one turns where halves go.
    """

    def quantise(x: Array, scale: float, zero: float, lo: float, hi: float) -> Array:
        return (np.clip(rounding(x / scale + zero), lo, hi) - zero) * scale

    return quantise


ROUNDINGS: Final[dict[str, Callable[[Array], Array]]] = {
    "ROUND": np.rint,  # halves to even
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "ROUND_TO_ZERO": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
}
"""Rounding modes of QONNX's Quant."""

OPERATIONS: Final[dict[str, Callable[..., Array]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "tanh": np.tanh,
    "erf": erf,
    "sigmoid": sigmoid,
    "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x, alpha: np.where(x >= 0, x, alpha * x),
    "elu": elu,
    "clip": np.clip,
    "hard_sigmoid": hard_sigmoid,
    "hard_swish": lambda x: x * hard_sigmoid(x, 1 / 6, 0.5),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "power": lambda x, exponent: np.power(x, exponent),
    "bipolar": lambda x, scale: np.where(x >= 0, scale, -scale),
    **{f"quantise_{name.lower()}": on_grid(rounding) for name, rounding in ROUNDINGS.items()},
}


def quant_range(bits: float, signed: bool, narrow: bool) -> tuple[int, int]:
    """Smallest and largest integer of QONNX's Quant."""
    span = 2 ** int(bits)
    return (-span // 2 + narrow, span // 2 - 1) if signed else (0, span - 1 - narrow)


@dataclass(frozen=True)
class Grid:
    """Real values ``scale * k`` for the integers ``k`` in ``lo..=hi``."""

    scale: float
    lo: int
    hi: int


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
        return operation(*(argument(x) for argument in self.arguments), *self.parameters)

    def __str__(self) -> str:
        if self.operation == "constant":
            return f"{self.parameters[0]:.4g}"
        if self.operation == "x":
            return "x"
        inner = [*map(str, self.arguments), *(f"{p:.4g}" for p in self.parameters)]
        return f"{self.operation}({', '.join(inner)})"

    def affine(self) -> tuple[float, float] | None:
        """``(a, b)`` where this is ``a x + b``, otherwise nothing."""
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
        """This function of ``inner``."""
        if self.operation == "x":
            return inner
        parts = tuple(argument.substitute(inner) for argument in self.arguments)
        return Expression(self.operation, parts, self.parameters)

    def grid(self) -> Grid | None:
        """The grid that the values lie on, if the function ends in one."""
        if self.operation.startswith("quantise_"):
            scale, zero, lo, hi = self.parameters
            return Grid(scale, int(lo - zero), int(hi - zero))
        if self.operation == "bipolar":
            return Grid(self.parameters[0], -1, 1)
        if self.operation == "relu":
            inner = self.arguments[0].grid()
            return inner and Grid(inner.scale, max(inner.lo, 0), max(inner.hi, 0))
        return None

    def rounds_only(self) -> bool:
        """Whether this is the variable put on a grid and nothing else."""
        return self.operation.startswith("quantise_") and self.arguments[0] == X


X: Final = Expression("x")


def constant(value: float) -> Expression:
    return Expression("constant", (), (float(value),))


def apply(operation: str, *arguments: Expression, parameters: tuple[float, ...] = ()) -> Expression:
    """One more operation on top of others."""
    return Expression(operation, arguments, parameters)
