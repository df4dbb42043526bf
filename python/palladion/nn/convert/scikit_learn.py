"""Estimators of scikit-learn as ONNX models."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from palladion.errors import NetworkError, UsageError
from palladion.nn.convert import estimators
from palladion.nn.convert.estimators import parts

if TYPE_CHECKING:
    import onnx

OPSETS: Final = {"": 18, "ai.onnx.ml": 3}
"""Versions of operators that every converter of skl2onnx knows."""


def exported(estimator: Any, example: npt.NDArray[np.float32]) -> onnx.ModelProto:
    """A fitted estimator or pipeline as an ONNX model of one input, with one row as its example.

    Raises
    ------
    UsageError
        If it is no fitted estimator, or if skl2onnx is not installed.
    NetworkError
        If skl2onnx cannot export it.
    """
    try:
        from skl2onnx import to_onnx
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted
    except ModuleNotFoundError as error:
        raise UsageError(f"from_sklearn needs {error.name}: pip install skl2onnx") from error
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        name = type(estimator).__name__
        raise UsageError(f"the {name} is not fitted: call its fit first") from error
    except TypeError as error:
        raise UsageError(f"{estimator!r} is no estimator of scikit-learn, expected a fitted "
                         "one") from error  # fmt: skip
    refuse_neighbours(estimator)
    estimators.register(parts(estimator))
    prepared = plain(estimator)
    # Not every classifier of skl2onnx has the first option. Others have one of the rest.
    last = prepared.steps[-1][1] if hasattr(prepared, "steps") else prepared
    attempts: list[dict[int, Any] | None] = [
        {id(prepared): {"zipmap": False}}, None, {id(last): {"raw_scores": True}}
    ]  # fmt: skip
    failed: list[Exception] = []
    for options in attempts if hasattr(prepared, "classes_") else attempts[1:2]:
        try:
            made: onnx.ModelProto = to_onnx(
                prepared, example, options=options, target_opset=dict(OPSETS)
            )
        except Exception as error:  # any error of a converter
            failed.append(error)
            continue
        if any(getattr(part, "n_outputs_", 1) > 1 for part in parts(prepared)):
            keep_targets(made)
        return made
    words = str(failed[0]).partition("\n")[0]
    raise NetworkError(f"skl2onnx could not export the {type(estimator).__name__}: {words}"
                       f"{way_out(prepared)}") from failed[0]  # fmt: skip


NEIGHBOURS: Final = ("KNeighbors", "RadiusNeighbors", "LocalOutlierFactor", "NearestNeighbors")
"""Beginnings of the names of estimators that compare an input with all training inputs."""


def refuse_neighbours(estimator: Any) -> None:
    """Refuse estimators that keep their training inputs.

    Raises
    ------
    NetworkError
        The message has the way out.
    """
    for part in parts(estimator):
        kind = type(part).__name__
        if kind.startswith(NEIGHBOURS):
            count = getattr(part, "n_samples_fit_", "all")
            raise NetworkError(
                f"the {kind} compares each input with its {count} training inputs and takes the "
                "nearest ones: a sorting of as many distances, which an encrypted run cannot do. "
                "Train a perceptron or trees in its place, or group the inputs by KMeans"
            )


def keep_targets(made: onnx.ModelProto) -> None:
    """Mend the export of perceptrons of several targets: skl2onnx puts them all in one column."""
    from onnx import numpy_helper

    graph = made.graph
    held = {tensor.name: tensor for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    ends = {entry.name: entry for entry in graph.output}
    for node in graph.node:
        if node.op_type != "Reshape" or node.input[1] not in held:
            continue
        shape = numpy_helper.to_array(held[node.input[1]]).tolist()
        added = makers.get(node.input[0])
        biases = [held[name] for name in added.input if name in held] if added else []
        if shape != [-1, 1] or added is None or added.op_type != "Add" or len(biases) != 1:
            continue
        targets = biases[0].dims[-1]
        name = f"{node.input[1]}.{targets}"
        if name not in held:
            held[name] = numpy_helper.from_array(np.array([-1, targets]), name)
            graph.initializer.append(held[name])
        node.input[1] = name
        if node.output[0] in ends:
            ends[node.output[0]].type.tensor_type.shape.dim[-1].dim_value = targets


def way_out(estimator: Any) -> str:
    """The way out for an estimator that no converter exports, if one is known."""
    for part in parts(estimator):
        kind = type(part).__name__
        if kind == "QuantileTransformer" and part.output_distribution == "normal":
            return "; use output_distribution='uniform', or a PowerTransformer"
    return ""


def plain(estimator: Any) -> Any:
    """A copy of the estimator without settings that converters refuse and inference does not need.

    Columns are named by their places, since the exported model has one matrix as its input.
    """
    found = deepcopy(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    for part in parts(found):
        if getattr(part, "encode", None) == "onehot":  # the export has no sparse matrices
            part.encode = "onehot-dense"
        if hasattr(part, "flatten_transform"):
            part.flatten_transform = False
        if hasattr(part, "transformers_"):
            own = list(getattr(part, "feature_names_in_", () if names is None else names))
            part.transformers_ = [(name, step, places(columns, own))
                                  for name, step, columns in part.transformers_]  # fmt: skip
        if "feature_names_in_" in vars(part):
            del part.feature_names_in_
    return found


def places(columns: Any, names: list[str]) -> Any:
    """Columns by their places, if they are given by their names."""
    if isinstance(columns, str):
        return [names.index(columns)]
    if isinstance(columns, list | tuple | np.ndarray) and len(columns):
        return [names.index(c) if isinstance(c, str) else c for c in columns]
    return columns
