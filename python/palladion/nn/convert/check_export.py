"""The comparison of a converter's export with the model.

Converters are programs of others, and some exports compute something else than the model without
an error. The comparison is on calibration data, in floating point, before any quantisation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.convert.estimators import converter_of, parts
from palladion.nn.floats.graph import Array, Graph

ROWS: Final = 256
"""Number of inputs that are compared."""

ALIKE: Final = 0.98
"""The least share of equal labels. Single precision turns ties of double precision, and few inputs
lie that near to a boundary."""

APART: Final = 0.01
"""The largest difference of a number, as a share of the range of its output's numbers, that 99 of
100 numbers may have. Single precision makes a thousandth of it."""


def some(data: Array) -> Array:
    """Inputs to compare, spread over the data."""
    chosen: Array = data[np.unique(np.linspace(0, len(data) - 1, ROWS).astype(int))]
    return chosen


def check_estimator(
    estimator: Any, graph: Graph, data: Array, precise: Array | None = None
) -> None:
    """Compare an imported export of scikit-learn's ``estimator`` with the estimator itself.

    ``precise`` are the data in the precision in which they were given. The estimator has seen such
    numbers: in single precision, some lie on the other side of a limit that is one of them.

    Raises
    ------
    NetworkError
        If labels or numbers differ by more than single precision explains. The message has the
        number.
    """
    rows = some(data)
    found = graph.outputs(rows)
    rows = rows if precise is None else some(precise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of columns
        labels = answer(estimator, "predict", rows)
        numbers = [answer(estimator, name, rows) for name in METHODS]
    converter = converter_of(parts(estimator))
    name = f"{converter}'s export of the {type(estimator).__name__}"
    own, deciding = graph.ends.deciding(found)[1], graph.ends.classes(found)
    if labels is not None and own == "label" and deciding is not None:
        check_labels(name, deciding, labels)
    elif labels is not None and labels.dtype.kind == "f":
        numbers.insert(0, labels)
    check_numbers(name, found, [part for part in numbers if part is not None])


METHODS: Final = ("predict_proba", "transform")
"""Methods whose numbers an export may have as an output."""


def answer(estimator: Any, method: str, rows: Array) -> Array | None:
    """The result of an estimator's method, if it has the method and that takes the rows."""
    try:
        return np.asarray(getattr(estimator, method)(rows))
    except Exception:  # the model's own errors, as of a method that its settings lack
        return None


def check_labels(name: str, found: Array, wanted: Array) -> None:
    """Compare labels, numbers or words, of shape (N,)."""
    if wanted.size != len(found):
        return
    same = float(np.mean(found.astype(str) == as_words(wanted.ravel(), found)))
    if same < ALIKE:
        raise NetworkError(
            f"{name} computes something else than the model: {same:.1%} of the "
            f"labels of {len(found)} calibration inputs are the model's. {WAY_OUT}"
        )


WAY_OUT: Final = (
    "This is a fault of the converter, or of its version: try another version, or export the "
    "parts of the model that count, such as the estimator inside"
)


def as_words(wanted: Array, found: Array) -> Array:
    """Labels as words in the form of ``found``: 1.0 and True are 1 if ``found`` has integers."""
    if found.dtype.kind in "iu" and wanted.dtype.kind in "fb":
        return wanted.astype(np.int64).astype(str)
    return wanted.astype(str)


def check_numbers(name: str, found: Mapping[str, Array], wanted: Sequence[Array]) -> None:
    """Compare each array of ``wanted`` with the output of its size that is nearest to it."""
    outputs = [part for part in found.values() if part.dtype.kind == "f"]
    for right in wanted:
        apart = [difference(part, right) for part in outputs if part.size == right.size]
        if right.dtype.kind in "fiub" and apart and not min(apart) <= APART:
            raise NetworkError(
                f"{name} computes something else than the model: numbers differ by "
                f"{min(apart):.1%} of their range, on {len(right)} calibration inputs. {WAY_OUT}"
            )


def difference(found: Array, wanted: Array) -> float:
    """The difference, as a share of the range, that 99 of 100 numbers have at most."""
    right = wanted.astype(np.float64).reshape(found.shape)
    known = np.isfinite(right) & np.isfinite(found)
    if not known.all():  # both may be infinite, as the logarithm of a probability of 0
        known |= np.asarray(found == right) | (np.isnan(found) & np.isnan(right))
        if not known.all():
            return float("inf")
        known = np.isfinite(right)
    if not known.any():
        return 0.0
    span = float(np.ptp(right[known])) or float(np.abs(right[known]).max()) or 1.0
    return float(np.quantile(np.abs(found - right)[known], 0.99)) / span


def check_module(module: Any, graph: Graph, data: Array) -> None:
    """Compare an imported export of a ``torch`` module, in evaluation mode, with the module itself.

    Raises
    ------
    NetworkError
        As :func:`check_estimator`.
    """
    import torch

    rows = some(data)
    with torch.no_grad():
        given = module(torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)))
    parts = given if isinstance(given, tuple | list) else [given]
    arrays = [part.detach().cpu().numpy() for part in parts if isinstance(part, torch.Tensor)]
    found = {name: part for name, part in graph.outputs(rows).items() if part.dtype.kind == "f"}
    name = f"torch's export of the {type(module).__name__}"
    check_numbers(name, found, [part for part in arrays if part.dtype.kind == "f"])
