"""The quality of answers, compared with labels and with the float model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError
from palladion.nn.datasets.labels import check_alike, per_input
from palladion.nn.ends.prediction import Prediction
from palladion.support.records import Json
from palladion.support.text import times

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Score:
    """The score of one kind of evaluation. ``None`` means that there is nothing to compare."""

    name: str
    accuracy: float | None = None
    """Share of inputs whose class equals the label. Of several labels for each input, the share of
    labels."""
    agreement: float | None = None
    """Share of inputs with the float model's class."""
    r2: float | None = None
    """Coefficient of determination against real labels: 1 is perfect, 0 is their mean."""
    error: float | None = None
    """Largest difference from the float model's numbers, as a share of their range."""


@dataclass(frozen=True)
class Scores:
    """A table of scores over ``inputs`` inputs."""

    inputs: int
    rows: tuple[Score, ...]

    def __getitem__(self, name: str) -> Score:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no evaluation {name!r}, there are {', '.join(r.name for r in self.rows)}")

    def to_dict(self) -> Json:
        """As plain data."""
        return {"inputs": self.inputs, "rows": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        kinds = [k for k in ("accuracy", "agreement", "r2", "error")
                 if any(getattr(row, k) is not None for row in self.rows)]  # fmt: skip
        lines = [f"{self.inputs} inputs".ljust(14) + "".join(kind.rjust(12) for kind in kinds)]
        for row in self.rows:
            cells = [cell(kind, getattr(row, kind)) for kind in kinds]
            lines.append(row.name.ljust(14) + "".join(text.rjust(12) for text in cells))
        return "\n".join(lines)


def cell(kind: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if kind == "r2" else f"{value:.2%}"


def scores(found: Mapping[str, Prediction], y: npt.ArrayLike | None) -> Scores:
    """Compare predictions with labels, and with the prediction ``float``, if there are any.

    Raises
    ------
    DataError
        If there is not one label for each input, or if labels are classes and the model has none.
    """
    inputs = len(next(iter(found.values())))
    several = next(iter(found.values())).several
    truth = None if y is None else per_input(y, inputs, 0 if several is None else several.shape[1])
    floats = found.get("float")
    return Scores(inputs, tuple(score(n, p, truth, floats) for n, p in found.items()))


def score(name: str, found: Prediction, truth: Array | None, floats: Prediction | None) -> Score:
    accuracy = r2 = agreement = error = None
    if truth is not None and truth.dtype.kind == "f" and not whole(truth, found):
        r2 = determination(found.values.reshape(len(found), -1), truth.reshape(len(found), -1))
    elif truth is not None and found.several is not None and truth.shape == found.several.shape:
        check_alike(found.several, truth)
        accuracy = float(np.mean(found.several == truth))
    elif truth is not None:
        if truth.ndim == 2:
            raise DataError(f"labels of shape {times(truth.shape)}, expected one class for each "
                            f"input, or for a model with several labels for each as many as it "
                            f"gives: this one gives {shapes(found)}")  # fmt: skip
        if found.classes is None:
            raise DataError("labels are classes, and the model gives none: its outputs have shapes "
                            f"{shapes(found)}; give real labels as floating point")  # fmt: skip
        check_alike(found.classes, truth, found.known)
        accuracy = float(np.mean(found.classes == truth))
    if floats is not None and floats is not found:
        if found.several is not None and truth is not None and truth.shape == found.several.shape:
            agreement = float(np.mean(found.several == floats.several))
        elif found.classes is not None and floats.classes is not None:
            agreement = float(np.mean(found.classes == floats.classes))
        error = farthest(found, floats)
    return Score(name, accuracy, agreement, r2, error)


def shapes(found: Prediction) -> str:
    return ", ".join(times(values.shape) for values in found.outputs.values())


def whole(truth: Array, found: Prediction) -> bool:
    """True if labels of floating point are classes: whole numbers, for a classifier."""
    classes, several = found.classes, found.several
    if several is not None and truth.shape == several.shape:
        return several.dtype.kind in "iu" and bool(np.array_equal(truth, np.rint(truth)))
    return (
        classes is not None and classes.dtype.kind in "iu" and truth.ndim == 1
        and found.values.reshape(len(found), -1).shape[1] > 1
        and bool(np.array_equal(truth, np.rint(truth)))
    )  # fmt: skip


def determination(found: Array, truth: Array) -> float:
    if not np.isfinite(truth).all():
        raise DataError("labels with NaN or infinite numbers, expected finite ones")
    if found.shape != truth.shape:
        raise DataError(f"real labels of shape {times(truth.shape)}, the model gives numbers of "
                        f"{times(found.shape)}: give one for each of them, or classes as "
                        "integers")  # fmt: skip
    spread = float(np.sum((truth - truth.mean(axis=0)) ** 2))
    return 1 - float(np.sum((found - truth) ** 2)) / (spread or 1.0)


def farthest(found: Prediction, floats: Prediction) -> float | None:
    """Largest difference of real outputs, as a share of the float model's range."""
    shares = []
    for name, wanted in floats.outputs.items():
        if wanted.dtype.kind == "f" and wanted.size:
            span = float(np.ptp(wanted)) or 1.0
            shares.append(float(np.abs(found[name] - wanted).max()) / span)
    return max(shares, default=None)
