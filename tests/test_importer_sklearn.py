"""Models of scikit-learn as skl2onnx writes them, through to integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from palladion import Model
from palladion.errors import NetworkError
from palladion.nn.importer import from_model
from palladion.nn.quantisation import quantise

from tests.models import floats, model, node
from tests.test_importer import agrees
from tests.test_importer_models import Tensors, ints


def test_a_tree_as_matrix_products(rng: np.random.Generator) -> None:
    """The GEMM strategy: features, thresholds, paths, leaves; comparisons become signs."""
    tree = pytest.importorskip("sklearn.tree")
    data = pytest.importorskip("sklearn.datasets")
    x, labels = data.load_iris(return_X_y=True)
    x = x.astype(np.float32)
    fitted = tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, labels)
    nodes = [
        node("MatMul", ["x", "features"], "a"),
        node("LessOrEqual", ["a", "thresholds"], "b"),
        node("Cast", ["b"], "c", to=TensorProto.FLOAT),
        node("MatMul", ["c", "paths"], "d"),
        node("Equal", ["d", "lefts"], "e"),
        node("Cast", ["e"], "f", to=TensorProto.FLOAT),
        node("MatMul", ["f", "leaves"], "y"),
    ]
    graph = agrees(model(["N", 4], nodes, matrices(fitted.tree_)), x)
    network = quantise(graph, x).network
    for sigma in (None, 8.45):
        logits = network.evaluate(network.inputs(x), sigma).logits
        assert np.mean(network.classes(logits) == fitted.predict(x)) > 0.98


def matrices(tree: Any) -> Tensors:
    """A decision tree's tests, the paths to its leaves, and what the leaves give."""
    inner = [i for i in range(tree.node_count) if tree.children_left[i] >= 0]
    leaves = [i for i in range(tree.node_count) if tree.children_left[i] < 0]
    found: Tensors = {
        "features": np.eye(tree.n_features, dtype=np.float32)[:, tree.feature[inner]],
        "thresholds": tree.threshold[inner].astype(np.float32),
        "paths": np.zeros((len(inner), len(leaves)), np.float32),
        "lefts": np.zeros(len(leaves), np.float32),
        "leaves": tree.value[leaves, 0].astype(np.float32),
    }
    waiting: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
    while waiting:
        place, path = waiting.pop()
        if place in leaves:
            for test, side in path:
                found["paths"][test, leaves.index(place)] = side
            found["lefts"][leaves.index(place)] = sum(side > 0 for _, side in path)
            continue
        number = inner.index(place)
        waiting.append((tree.children_left[place], [*path, (number, 1)]))
        waiting.append((tree.children_right[place], [*path, (number, -1)]))
    return found


def learned() -> dict[str, tuple[Any, str]]:
    """Models of scikit-learn, and which data they are fitted to."""
    linear = pytest.importorskip("sklearn.linear_model")
    networks = pytest.importorskip("sklearn.neural_network")
    scaling = pytest.importorskip("sklearn.preprocessing")
    svm = pytest.importorskip("sklearn.svm")
    join = pytest.importorskip("sklearn.pipeline").make_pipeline
    return {
        "logistic, three classes": (
            join(scaling.StandardScaler(), linear.LogisticRegression()), "words"),
        "logistic, two classes": (
            join(scaling.StandardScaler(), linear.LogisticRegression()), "two"),
        "perceptron, three classes": (
            join(scaling.StandardScaler(), networks.MLPClassifier((16,), max_iter=300)), "words"),
        "perceptron, two classes": (
            join(scaling.MinMaxScaler(), networks.MLPClassifier((9,), activation="tanh")), "two"),
        "perceptron, regression": (
            join(scaling.StandardScaler(), networks.MLPRegressor(activation="logistic")), "real"),
        "support vectors": (svm.LinearSVC(), "words"),
        "lasso": (join(scaling.RobustScaler(), linear.Lasso()), "real"),
        "regression": (linear.LinearRegression(), "real"),
        "ridge classifier": (linear.RidgeClassifier(), "words"),
        "gradient descent": (linear.SGDClassifier(), "three"),
    }  # fmt: skip


NAMES = ["logistic, three classes", "logistic, two classes", "perceptron, three classes",
         "perceptron, two classes", "perceptron, regression", "support vectors", "lasso",
         "regression", "ridge classifier", "gradient descent"]  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of fits that have not converged
@pytest.mark.parametrize("name", NAMES)
def test_scikit_learn(name: str) -> None:
    """Labels are scikit-learn's own, words too; probabilities and numbers are as near as floats."""
    convert = pytest.importorskip("skl2onnx").to_onnx
    data = pytest.importorskip("sklearn.datasets")
    estimator, kind = learned()[name]
    if kind == "real":
        x, target = data.load_diabetes(return_X_y=True)
    else:
        x, target = (data.load_breast_cancer if kind == "two" else data.load_iris)(return_X_y=True)
        target = (
            np.array(["setosa", "versicolor", "virginica"])[target] if kind == "words" else target
        )
    x = x.astype(np.float32)
    estimator.fit(x, target)
    graph = from_model(convert(estimator, x[:1]))
    assert graph.input.shape == (x.shape[1], 1, 1)
    first, *others = graph.outputs(x).values()
    if kind == "real":
        np.testing.assert_allclose(first[:, 0], estimator.predict(x), rtol=1e-3, atol=1e-2)
        return
    assert np.mean(first == estimator.predict(x)) > 0.99
    if hasattr(estimator, "predict_proba"):
        np.testing.assert_allclose(others[0], estimator.predict_proba(x), rtol=1e-2, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_out_of_reach() -> None:
    convert = pytest.importorskip("skl2onnx").to_onnx
    made = pytest.importorskip("sklearn.svm").SVC()
    x, target = pytest.importorskip("sklearn.datasets").load_iris(return_X_y=True)
    made.fit(x, target)
    with pytest.raises(NetworkError, match="support vectors"):
        from_model(convert(made, x[:1].astype(np.float32)))


def learning(kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(kind, inputs, outputs, name=kind, domain="ai.onnx.ml", **attributes)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_linear_classifiers(rng: np.random.Generator, transform: str, rows: int) -> None:
    """Against the reference, with one row of weights for two classes too."""
    labels = ["a", "b"] if rows < 3 else ["a", "b", "c"]
    made = model(["N", 4], [learning(
        "LinearClassifier", ["x"], ["label", "y"], post_transform=transform,
        coefficients=floats(rng, rows * 4).tolist(), intercepts=floats(rng, rows).tolist(),
        classlabels_strings=labels)])  # fmt: skip
    made.graph.output.insert(0, helper.make_tensor_value_info("label", TensorProto.STRING, None))
    x = floats(rng, 6, 4)
    found = from_model(made).outputs(x)
    expected: list[Any] = [*ReferenceEvaluator(made).run(["label", "y"], {"x": x})]
    assert np.array_equal(found["label"].astype(str), expected[0].astype(str))
    np.testing.assert_allclose(found["y"], expected[1], rtol=1e-4, atol=1e-6)


def test_small_operators_of_scikit_learn(rng: np.random.Generator) -> None:
    nodes = [
        learning("Imputer", ["x"], ["i"], imputed_value_floats=[0.0], replaced_value_float=np.nan),
        learning("ArrayFeatureExtractor", ["i", "places"], ["p"]),
        learning("Scaler", ["p"], ["s"], offset=[0.5, 1.0, 0.1], scale=[2.0, 1.0, 3.0]),
        learning("Binarizer", ["s"], ["b"], threshold=0.2),
        node("MatMul", ["b", "w"], "y"),
    ]
    tensors: Tensors = {"places": ints(2, 0, 2), "w": floats(rng, 3, 2)}
    x = floats(rng, 6, 4)
    x[1, 0], x[2] = np.nan, np.nan
    found = from_model(model(["N", 4], nodes, tensors)).outputs(x)["y"]
    x = np.nan_to_num(x)
    scaled = (x[:, [2, 0, 2]] - [0.5, 1.0, 0.1]) * [2.0, 1.0, 3.0]
    np.testing.assert_allclose(found, (scaled > 0.2) @ tensors["w"], rtol=1e-5)


def test_imputers_take_missing_values_of_any_mark(rng: np.random.Generator) -> None:
    """The client replaces them. Columns beside it without an imputer take none."""
    nodes = [
        learning("ArrayFeatureExtractor", ["x", "first"], ["p"]),
        learning("ArrayFeatureExtractor", ["x", "last"], ["q"]),
        learning("Imputer", ["p"], ["i"], imputed_value_floats=[2.0, 3.0],
                 replaced_value_float=-999.0),
        node("Concat", ["i", "q"], "c", axis=1),
        node("MatMul", ["c", "w"], "y"),
    ]  # fmt: skip
    tensors: Tensors = {"first": ints(0, 1), "last": ints(2), "w": floats(rng, 3, 2)}
    made = model(["N", 3], nodes, tensors)
    x = floats(rng, 200, 3)
    x[::3, 0] = x[::7, 1] = -999
    wanted = np.where(x == -999, [2, 3, 0], x) @ tensors["w"]
    found = Model.from_onnx(made, x)
    assert np.abs(found.predict(x)["y"] - wanted).max() < 0.03 * np.ptp(wanted)
    x[0, 2] = np.nan
    with pytest.raises(NetworkError, match="replace NaN where the model has no imputer"):
        found.predict(x)


@pytest.mark.parametrize(("made", "reason"), [
    (learning("LinearRegressor", ["x"], ["y"], coefficients=[1.0] * 4, post_transform="PROBIT"),
     "post_transform PROBIT"),
    (learning("Imputer", ["x"], ["y"], imputed_value_floats=[np.nan], replaced_value_float=1.0),
     "replaces missing values by"),
    (learning("OneHotEncoder", ["h"], ["n"], cats_int64s=[1]), "before encryption"),
    (learning("Normalizer", ["h"], ["n"], norm="L2"), "each input"),
    (learning("LabelEncoder", ["h"], ["n"], classes_strings=["a"]), "at the end"),
], ids=["regressor", "imputer", "encoder", "normalizer", "labels"])  # fmt: skip
def test_refusals_of_scikit_learn(rng: np.random.Generator, made: Any, reason: str) -> None:
    nodes = [node("MatMul", ["x", "w"], "h"), made]
    if "y" not in made.output:
        nodes.append(node("MatMul", [made.output[0], "w"], "y"))
    with pytest.raises(NetworkError, match=reason):
        from_model(model(["N", 4], nodes, {"w": floats(rng, 4, 4)}))
