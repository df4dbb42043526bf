"""The head of a model: the part before its network, which the client computes on its own input.

Tests of decision trees are an example. A comparison of a feature with a constant of the model is
free before encryption, and exact. The replacement of missing values is another. The head is a small
ONNX model, like the tail (:mod:`palladion.nn.tail`), from the model's input to truth values or to
real numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError
from palladion.nn.tail import ALLOWED, Tail

Array = npt.NDArray[Any]

TOGETHER: Final = 1 << 24
"""Number of values that are computed at once."""


@dataclass(frozen=True)
class Head(Tail):
    """The functions of a model's input. Without a model, the input itself."""

    WHAT: ClassVar[str] = "the beginning of the model"
    WHERE: ClassVar[str] = "up to its imputers or the tests of its trees"
    INPUT: ClassVar[str] = "palladion.input"
    ALLOWED: ClassVar[frozenset[str]] = frozenset(
        ALLOWED - {"Softmax", "LogSoftmax", "Hardmax"} | {"MatMul", "Gemm"}
    )

    @property
    def missing(self) -> bool:
        """Whether NaN is a value: tests of trees and imputers take it."""
        return bool(self.model)

    def values(self, x: Array) -> Array:
        """The network's inputs of shape (N, values), for inputs of the model of shape (N, ...).

        Raises
        ------
        NetworkError
            If they cannot be computed, or are not finite.
        """
        first = self._values(x[:1])
        rows = max(TOGETHER // max(first.shape[1], 1), 1)
        parts = [self._values(x[i : i + rows]) for i in range(1, len(x), rows)]
        return np.concatenate([first, *parts])

    def _values(self, x: Array) -> Array:
        found = self.run(x)
        if any(part.dtype.kind not in "bf" or len(part) != len(x) for part in found.values()):
            raise NetworkError(f"{self.WHAT} gives no numbers for each input")
        values = np.concatenate([part.reshape(len(x), -1) for part in found.values()], axis=1)
        if wrong := int(np.count_nonzero(~np.isfinite(values))):
            raise NetworkError(f"inputs with NaN, of which {wrong} numbers behind the model's "
                               "imputers and trees become NaN or infinite: replace NaN where "
                               "the model has no imputer")  # fmt: skip
        return values
