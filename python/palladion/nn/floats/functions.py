"""Operations of expressions: functions of real numbers, element by element.

A table of a network holds a value for every accumulator, so each function here has a value for
every finite ``x``. If the definition has none, as for the logarithm below 0, the value is that of
the nearest place where it has one. Values are the same bits on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from palladion.nn.floats import elementary

Array = npt.NDArray[Any]

LEAST: Final = float(np.finfo(np.float32).tiny)
"""The smallest argument of a logarithm, a division or a negative power."""
MOST: Final = float(np.finfo(np.float32).max)
"""The largest value of a function that grows without bound."""
EXPONENT: Final = 88.0
"""``exp`` of a larger number is beyond float32."""


def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``, written so that nothing overflows."""
    return 0.5 * (1 + elementary.tanh(0.5 * x))


def hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return np.clip(alpha * x + beta, 0, 1)


def gelu(x: Array) -> Array:
    found: Array = 0.5 * x * (1 + elementary.erf(x / math.sqrt(2)))
    return found


def gelu_tanh(x: Array) -> Array:
    found: Array = (
        0.5 * x * (1 + elementary.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    )
    return found


def elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * elementary.expm1(np.minimum(x, 0)))


def selu(x: Array, alpha: float, gamma: float) -> Array:
    return gamma * elu(x, alpha)


def celu(x: Array, alpha: float) -> Array:
    return np.maximum(x, 0) + alpha * elementary.expm1(np.minimum(x, 0) / alpha)


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + elementary.log1p(elementary.exp(-np.abs(x)))


def shrink(x: Array, bias: float, lambd: float) -> Array:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def divide(a: Array, b: Array) -> Array:
    """``a / b``. A divisor too close to 0 is replaced by the smallest number of its sign."""
    nearest = np.where(np.signbit(b), -LEAST, LEAST)
    with np.errstate(over="ignore"):
        found = np.divide(a, np.where(np.abs(b) < LEAST, nearest, b))
    return np.clip(found, -MOST, MOST)


def power(x: Array, exponent: float) -> Array:
    """``x`` to a constant power. Numbers below 0 have only integer powers."""
    base = x if float(exponent).is_integer() else np.maximum(x, 0)
    if exponent < 0:
        return divide(np.ones(()), power(x, -exponent))
    with np.errstate(over="ignore"):
        found: Array = elementary.power(base, exponent)
    return np.clip(found, -MOST, MOST)


def exponential(x: Array) -> Array:
    return elementary.exp(np.minimum(x, EXPONENT))


def logarithm(x: Array) -> Array:
    return elementary.log(np.maximum(x, LEAST))


def within(function: Callable[[Array], Array], low: float, high: float) -> Callable[[Array], Array]:
    """A function with its argument clipped to the range from ``low`` to ``high``."""
    return lambda x: function(np.clip(x, low, high))


def choose(test: Array, x: Array, y: Array) -> Array:
    """``x`` where the test holds, otherwise ``y``."""
    return np.where(np.asarray(test, dtype=bool), x, y)


def on_grid(rounding: Callable[[Array], Array]) -> Callable[..., Array]:
    """Quantise and dequantise: ``lo..hi`` are the integers, ``zero`` is the one that means 0.

    As in QONNX, zero is added before rounding, so an odd zero changes the rounding of halves.
    """

    def quantise(x: Array, scale: float, zero: float, lo: float, hi: float) -> Array:
        return (np.clip(rounding(x / scale + zero), lo, hi) - zero) * scale

    return quantise


def cast(x: Array, kind: float, saturate: float) -> Array:
    """The nearest number of an ONNX type, by the rules of ONNX's own ``Cast``."""
    from onnx.reference.ops.op_cast import cast_to

    with np.errstate(over="ignore", invalid="ignore"):
        to: Any = int(kind)
        found = cast_to(np.asarray(x, dtype=np.float32), to, bool(saturate))
        return np.asarray(found).astype(np.float32).astype(np.float64)


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

SAME: Final = {"HALF_EVEN": "ROUND", "DOWN": "ROUND_TO_ZERO"}
"""Other names in QONNX."""

BELOW_ONE: Final = 1 - 2.0**-24
"""The largest number of float32 below 1."""

OPERATIONS: Final[dict[str, Callable[..., Array]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "max": np.maximum,
    "min": np.minimum,
    "mod": lambda x, y: np.mod(x, y),
    "fmod": lambda x, y: np.fmod(x, y),
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "exp": exponential,
    "log": logarithm,
    "sqrt": lambda x: np.sqrt(np.maximum(x, 0)),
    "reciprocal": lambda x: divide(np.ones(()), x),
    "tanh": elementary.tanh,
    "erf": elementary.erf,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "mish": lambda x: x * elementary.tanh(softplus(x)),
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x, alpha: np.where(x >= 0, x, alpha * x),
    "thresholded_relu": lambda x, alpha: np.where(x > alpha, x, 0),
    "elu": elu,
    "selu": selu,
    "celu": celu,
    "shrink": shrink,
    "clip": np.clip,
    "hard_sigmoid": hard_sigmoid,
    "hard_swish": lambda x: x * hard_sigmoid(x, 1 / 6, 0.5),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "power": power,
    "sin": elementary.sin,
    "cos": elementary.cos,
    "tan": elementary.tan,
    "asin": within(elementary.asin, -1, 1),
    "acos": within(elementary.acos, -1, 1),
    "atan": elementary.atan,
    "sinh": within(elementary.sinh, -EXPONENT, EXPONENT),
    "cosh": within(elementary.cosh, -EXPONENT, EXPONENT),
    "asinh": elementary.asinh,
    "acosh": within(elementary.acosh, 1, np.inf),
    "atanh": within(elementary.atanh, -BELOW_ONE, BELOW_ONE),
    "greater": np.greater,
    "less": np.less,
    "greaterorequal": np.greater_equal,
    "lessorequal": np.less_equal,
    "equal": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
    "where": choose,
    "cast": cast,
    "bipolar": lambda x, scale: np.where(x >= 0, scale, -scale),
    **{f"quantise_{name.lower()}": on_grid(rounding) for name, rounding in ROUNDINGS.items()},
}
"""The operations by name. Comparisons give 1 if they hold and 0 otherwise."""

TESTS: Final = frozenset(
    {"greater", "less", "greaterorequal", "lessorequal", "equal", "and", "or", "xor", "not"}
)
"""Operations whose results are truth values."""
