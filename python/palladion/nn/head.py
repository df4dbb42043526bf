"""The head of a model: the part before its network, which the client computes on its own input.

Tests of decision trees are an example. A comparison of a feature with a constant of the model is
free before encryption, and exact. The head is a small ONNX model, like the tail
(:mod:`palladion.nn.tail`), from the model's input to truth values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError
from palladion.nn.tail import ALLOWED, Tail

Array = npt.NDArray[Any]

TOGETHER: Final = 1 << 24
"""Number of truth values that are computed at once."""


@dataclass(frozen=True)
class Head(Tail):
    """The functions of a model's input. Without a model, the input itself."""

    WHAT: ClassVar[str] = "the beginning of the model"
    WHERE: ClassVar[str] = "up to the tests of its trees"
    INPUT: ClassVar[str] = "palladion.input"
    ALLOWED: ClassVar[frozenset[str]] = frozenset(
        ALLOWED - {"Softmax", "LogSoftmax", "Hardmax"} | {"MatMul", "Gemm"}
    )

    def tests(self, x: Array) -> Array:
        """The truth values of shape (N, tests), for inputs of the model of shape (N, ...).

        Raises
        ------
        NetworkError
            If they cannot be computed.
        """
        first = self._tested(x[:1])
        rows = max(TOGETHER // max(first.shape[1], 1), 1)
        parts = [self._tested(x[i : i + rows]) for i in range(1, len(x), rows)]
        return np.concatenate([first, *parts])

    def _tested(self, x: Array) -> Array:
        found = self.run(x)
        if any(part.dtype != np.bool_ or len(part) != len(x) for part in found.values()):
            raise NetworkError(f"{self.WHAT} gives no truth values for each input")
        return np.concatenate([part.reshape(len(x), -1) for part in found.values()], axis=1)
