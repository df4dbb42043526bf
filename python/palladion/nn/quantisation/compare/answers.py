"""Compares the answers of the integer network and of the float model on calibration data.

Small errors of many layers can ruin an answer that no single layer ruins. The layers have been
computed on the data already, so the comparison only costs the functions after the last layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from palladion.nn.ends.interface import Interface
from palladion.nn.floats.graph import Array
from palladion.support.records import Json

COMPARED_INPUTS: Final = 256
"""Number of inputs whose answers are compared."""

LEAST_AGREEMENT: Final = 0.97
"""A smaller share of equal classes gives a warning."""

MOST_ERROR: Final = 0.05
"""A larger error of numbers, as a share of their range, gives a warning."""

MOST_LOGIT_ERROR: Final = 0.1
"""The same for numbers of which the largest is the class. The class counts more than they do."""

GOOD_AGREEMENT: Final = 0.985
"""Answers with such a share of equal classes are not improved further."""


@dataclass(frozen=True)
class Answers:
    """The difference between the integer network's and the float model's answers on some inputs."""

    inputs: int
    agreement: float | None
    """Share of inputs with the float model's class, if the model gives classes."""
    error: float | None
    """Largest difference of a number, as a share of the range of its output's numbers."""

    limit: float | None = None
    """The error above which numbers count as wrong. ``None``: numbers are not judged, as
    probabilities are not."""

    @property
    def good(self) -> bool:
        """True if the answers need no improvement."""
        alike = self.agreement is None or self.agreement >= GOOD_AGREEMENT
        return alike and (self.limit is None or (self.error or 0.0) <= self.limit / 2)

    @property
    def quality(self) -> tuple[float, float]:
        """Orders answers, larger is better: no warning, then equal classes, then a small error."""
        beyond = 0.0 if self.limit is None else max((self.error or 0.0) - self.limit / 2, 0.0)
        alike = 1.0 if self.agreement is None else min(self.agreement, 1.0)
        return alike - beyond, -(self.error or 0.0)

    @property
    def differ(self) -> bool:
        """True if the answers differ enough for a warning."""
        unlike = self.agreement is not None and self.agreement < LEAST_AGREEMENT
        return unlike or (self.limit is not None and (self.error or 0.0) > self.limit)

    def __str__(self) -> str:
        words = []
        if self.agreement is not None:
            words.append(f"{self.agreement:.1%} equal classes")
        if self.error == float("inf"):
            words.append("some numbers are NaN or infinite, which they are not in the float model")
        elif self.error is not None:
            words.append(f"numbers off by at most {self.error:.1%} of their range")
        return f"{', '.join(words) or 'nothing to compare'}, on {self.inputs} inputs"

    def to_dict(self) -> Json:
        """As plain data."""
        return asdict(self)


def compare_answers(ends: Interface, integers: Array, reference: Array) -> Answers:
    """Compare the last layer's integers, of shape (N, C, H, W), with its values in the float
    model."""
    rows = np.unique(np.linspace(0, len(integers) - 1, COMPARED_INPUTS).astype(int))
    flat = integers[rows].reshape(len(rows), -1)
    outputs = ends.gives.outputs(ends.gives.real(flat.astype(np.int64)))
    wanted = ends.gives.outputs(ends.gives.ordered(reference[rows].reshape(len(rows), -1)))
    return compare_outputs(ends, outputs, wanted)


def compare_outputs(
    ends: Interface, outputs: Mapping[str, Array], wanted: Mapping[str, Array]
) -> Answers:
    """Compare outputs by name, each of shape (N, ...)."""
    classes, right = ends.classes(outputs), ends.classes(wanted)
    agreement, limit = None, MOST_ERROR
    judged = True
    if classes is not None and right is not None:
        name, kind = ends.deciding(wanted)
        if kind != "number":
            agreement = float(np.mean(classes == right))
            limit = MOST_LOGIT_ERROR
        judged = kind in ("number", "numbers") and not sums_to_one(wanted[name])
    count = len(next(iter(wanted.values())))
    error = max(measure_output_errors(outputs, wanted), default=None)
    return Answers(count, agreement, error, limit if judged and error is not None else None)


def sums_to_one(values: Array) -> bool:
    """True if the numbers of each input are probabilities of classes."""
    flat = values.reshape(len(values), -1)
    several = flat.shape[1] > 1 and flat.min() >= 0
    return bool(several and np.allclose(flat.sum(axis=1), 1, atol=1e-3))


def measure_output_errors(
    outputs: Mapping[str, Array], wanted: Mapping[str, Array]
) -> Iterator[float]:
    """The largest difference of each output of real numbers, as a share of its range.

    If a number is NaN or infinite in one of the two only, the difference is infinite.
    NaN in both is no difference.
    """
    for name, right in wanted.items():
        if right.dtype.kind != "f" or not right.size:
            continue
        output, right = outputs[name].astype(np.float64), right.astype(np.float64)
        known = np.isfinite(right)
        same = (output == right) | (np.isnan(output) & np.isnan(right))
        with np.errstate(invalid="ignore"):
            difference = np.where(same, 0.0, np.abs(output - right))
        span = float(np.ptp(right[known])) if known.any() else 0.0
        span = span or float(np.abs(right[known]).max(initial=0)) or 1.0
        yield float(np.nan_to_num(difference, nan=np.inf).max()) / span
