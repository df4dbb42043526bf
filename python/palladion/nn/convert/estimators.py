"""The parts of an estimator, and the library that exports it.

skl2onnx knows scikit-learn's own estimators alone. It is told of boosted trees of XGBoost and
LightGBM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from palladion.errors import UsageError

CONVERTERS: Final = {
    "xgboost": ("onnxmltools.convert.xgboost.operator_converters.XGBoost", "convert_xgboost"),
    "lightgbm": ("onnxmltools.convert.lightgbm.operator_converters.LightGbm", "convert_lightgbm"),
}
"""For each library the converter of its estimators."""

SHAPES: Final = "skl2onnx.common.shape_calculator"


def library_of(estimator: Any) -> str:
    """The library of an estimator's class."""
    return type(estimator).__module__.partition(".")[0]


def converter_of(estimators: Iterable[Any]) -> str:
    """The name of the library that exports them."""
    boosted = any(library_of(estimator) in CONVERTERS for estimator in estimators)
    return "onnxmltools" if boosted else "skl2onnx"


def register(estimators: Iterable[Any]) -> None:
    """Tell skl2onnx the converters of the estimators that are boosted trees.

    Raises
    ------
    UsageError
        If onnxmltools is not installed, which has them.
    """
    for estimator in estimators:
        kind, library = type(estimator), library_of(estimator)
        if library not in CONVERTERS:
            continue
        module, name = CONVERTERS[library]
        try:
            convert = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            raise UsageError(f"from_sklearn needs onnxmltools for the {kind.__name__}: pip install "
                             "onnxmltools") from error  # fmt: skip
        register_one(kind, convert, classifies=hasattr(estimator, "predict_proba"))


def register_one(kind: type, convert: Any, *, classifies: bool) -> None:
    """Tell skl2onnx the converter of one class."""
    from skl2onnx import update_registered_converter

    shapes = import_module(SHAPES)
    options: dict[str, Any] = {"split": None}
    outputs: Any = shapes.calculate_linear_regressor_output_shapes
    if classifies:
        outputs = shapes.calculate_linear_classifier_output_shapes
        options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    update_registered_converter(
        kind, f"Palladion{kind.__name__}", outputs, convert, overwrite=True, options=options
    )


def parts(estimator: Any) -> Iterator[Any]:
    """An estimator and the estimators in it."""
    seen: set[int] = set()
    waiting = [estimator]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting += part
        if not hasattr(part, "get_params") or id(part) in seen or isinstance(part, type):
            continue
        seen.add(id(part))
        yield part
        waiting += [*vars(part).values()]
