"""The head of a model: the part before its network, which the client computes on its own input.

Tests of decision trees are an example. A comparison of a feature with a constant of the model is
free before encryption, and exact. Others are one-hot vectors of categories, bins, and the
replacement of missing values. The head is a small ONNX model, like the tail
(:mod:`palladion.nn.ends.tail`), from the model's input to truth values, or to real numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError
from palladion.nn.ends.tail import ALLOWED, Tail

Array = npt.NDArray[Any]

TOGETHER: Final = 1 << 24
"""Number of values that are computed at once."""


@dataclass(frozen=True)
class Head(Tail):
    """The functions of a model's input. Without a model, the input itself."""

    WHAT: ClassVar[str] = "the beginning of the model"
    WHERE: ClassVar[str] = "which the client computes,"
    INPUT: ClassVar[str] = "palladion.input"
    ALLOWED: ClassVar[frozenset[str]] = frozenset(
        ALLOWED - {"Softmax", "LogSoftmax", "Hardmax"}
        | {"MatMul", "Gemm", "Imputer", "OneHot", "OneHotEncoder", "Scaler", "FeatureVectorizer"}
    )

    @property
    def missing(self) -> bool:
        """True if NaN is a value: tests of trees and imputers take it."""
        return bool(self.model)

    def values(self, x: Array) -> Array:
        """The values of shape (N, values), for inputs of the model of shape (N, ...): truth values,
        or finite real numbers.

        Raises
        ------
        NetworkError
            If they cannot be computed.
        """
        first = self._computed(x[:1])
        rows = max(TOGETHER // max(first.shape[1], 1), 1)
        parts = [self._computed(x[i : i + rows]) for i in range(1, len(x), rows)]
        return np.concatenate([first, *parts])

    def _computed(self, x: Array) -> Array:
        found = self.run(x)
        if any(part.dtype.kind not in "bfiu" or len(part) != len(x) for part in found.values()):
            raise NetworkError(f"{self.WHAT} gives no numbers for each input")
        made = np.concatenate([part.reshape(len(x), -1) for part in found.values()], axis=1)
        finite = np.isfinite(made)
        if not finite.all():
            row = int(np.flatnonzero(~finite.all(axis=1))[0])
            raise NetworkError(f"{self.WHAT} gives NaN or infinite numbers, first for input {row} "
                               "of these, expected finite ones: replace NaN where the model has no "
                               "imputer")  # fmt: skip
        return made
