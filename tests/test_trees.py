"""Decision trees and forests: the client makes the tests, the network finds leaves and adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from palladion import IntNetwork, Model, NetworkError, UsageError
from palladion.nn.importer import from_model, trees
from palladion.nn.quantisation import quantise
from palladion.nn.quantisation.settings import NOISE, ROOM

from tests.models import Array, floats, node

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
NUMBERS = np.array([-2.5, -1, 0, 0.1, 0.3, 1, 1000], np.float32)
"""Thresholds and features, so that they are often equal."""

Attributes = dict[str, Any]


def ensemble(rng: np.random.Generator, counts: tuple[int, int, int], word: str) -> Attributes:
    """Random trees: how many, of how many features, with how many targets; leaves give a word."""
    count, features, targets = counts
    columns = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    found: Attributes = {f"nodes_{name}": [] for name in columns}
    found |= {f"{word}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        size, place = 2 * int(rng.integers(0 if tree else 1, 9)) + 1, 0  # inner nodes and leaves
        children = iter(range(1, size))
        open_ends = size // 2
        for place in range(size):
            leaf = place >= open_ends
            row = (
                tree, place, "LEAF" if leaf else str(rng.choice(MODES)),
                int(rng.integers(features)), float(rng.choice(NUMBERS)),
                0 if leaf else next(children), 0 if leaf else next(children),
            )  # fmt: skip
            for name, value in zip(columns, row, strict=True):
                found[f"nodes_{name}"].append(value)
            for target in range(targets) if leaf else ():
                entry = (tree, place, target, float(np.round(rng.normal(), 2)))
                for name, value in zip(
                    ("treeids", "nodeids", "ids", "weights"), entry, strict=True
                ):
                    found[f"{word}_{name}"].append(value)
    return found


def learned(
    kind: str, attributes: Attributes, outputs: dict[str, int], features: int, **settings: Any
) -> onnx.ModelProto:
    """A model of one operator of ai.onnx.ml, from ``x``."""
    version = 5 if kind == "TreeEnsemble" else 3
    made = helper.make_node(kind, ["x"], [*outputs], name="trees", domain="ai.onnx.ml",
                            **attributes, **settings)  # fmt: skip
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", features])]
    found = [helper.make_tensor_value_info(name, type_, None) for name, type_ in outputs.items()]
    graph = helper.make_graph([made], "test", given, found)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def same(made: onnx.ModelProto, x: Array, tolerance: float = 1e-5) -> None:
    """Floats as ONNX's reference has them; integers near, and untouched by noise."""
    wanted = ReferenceEvaluator(made).run(None, {"x": x})
    graph = from_model(made)
    for found, expected in zip(graph.outputs(x).values(), wanted, strict=True):
        expected = np.asarray(expected)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)
        else:
            assert (found == expected).mean() > 0.98  # scores in another order of adding up
    assert graph.largest is not None
    network = quantise(graph, x).network
    real = graph.evaluate(graph.arranged(x)).reshape(len(x), -1)
    integers = network.evaluate(network.inputs(x))
    assert network.interface is not None
    apart = np.abs(network.interface.gives.real(integers.logits) - real).max()
    assert apart <= 2e-3 * max(graph.largest, 1)
    noisy = network.evaluate(network.inputs(x), network.sigmas())
    assert (noisy.logits == integers.logits).all()


def inputs(rng: np.random.Generator, count: int, features: int) -> Array:
    near = rng.choice(NUMBERS, (count, features))
    found: Array = np.where(rng.random(near.shape) < 0.5, near, floats(rng, *near.shape))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE"])
def test_random_regressors(seed: int, aggregate: str) -> None:
    """All modes, thresholds that features are equal to, trees of one leaf among others."""
    rng = np.random.default_rng(seed)
    targets = 1 + seed % 3
    attributes = ensemble(rng, (1 + seed, 4, targets), "target")
    base = {"base_values": floats(rng, targets).tolist()} if seed % 2 else {}
    made = learned("TreeEnsembleRegressor", attributes, {"y": TensorProto.FLOAT}, 4,
                   n_targets=targets, aggregate_function=aggregate, **base)  # fmt: skip
    same(made, inputs(rng, 80, 4))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_random_classifiers(columns: int, transform: str) -> None:
    """With one column of weights for two classes too, and a base for each."""
    rng = np.random.default_rng(columns)
    base = floats(rng, max(columns, 2)).tolist()
    words = ["a", "b", "c"][: max(columns, 2)]
    attributes = ensemble(rng, (4, 5, columns), "class")
    made = learned(
        "TreeEnsembleClassifier", attributes, {"label": TensorProto.STRING, "y": TensorProto.FLOAT},
        5, classlabels_strings=words, post_transform=transform, base_values=base,
    )  # fmt: skip
    same(made, inputs(rng, 60, 5))


def tensor(*numbers: float, kind: type = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(numbers, kind))


def tree_of_members(**settings: Any) -> onnx.ModelProto:
    """x[0] in {1, 3}: leaf 0, else x[1] >= 0: leaf 1, else leaf 2."""
    attributes = {
        "tree_roots": [0], "nodes_modes": tensor(6, 2, kind=np.uint8),
        "nodes_featureids": [0, 1], "nodes_splits": tensor(0, 0),
        "nodes_truenodeids": [0, 1], "nodes_trueleafs": [1, 1],
        "nodes_falsenodeids": [1, 2], "nodes_falseleafs": [0, 1],
        "leaf_targetids": [0, 1, 0], "leaf_weights": tensor(1.5, -2, 0.25),
        "membership_values": tensor(1, 3, np.nan), "n_targets": 2, **settings,
    }  # fmt: skip
    return learned("TreeEnsemble", attributes, {"y": TensorProto.FLOAT}, 2)


def test_members_of_a_set() -> None:
    x = np.array([[1, 5], [3, -5], [2, 0], [2, -0.1], [0, 7]], np.float32)
    same(tree_of_members(), x)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: tree_of_members(aggregate_function=2), "MIN, supported are SUM and AVERAGE"),
        (lambda: tree_of_members(membership_values=tensor(1, 3)), "members of more sets than"),
        (lambda: tree_of_members(post_transform=4), "post_transform PROBIT, supported"),
        (lambda: stump(nodes_modes=["BRANCH_SAME", "LEAF", "LEAF"]), "mode BRANCH_SAME, supported"),
        (lambda: stump(target_weights=[0.0, 0.0]), "gives the same for every input"),
        (lambda: stump(nodes_truenodeids=[0, 0, 0]), "form no trees"),
        (lambda: stump(nodes_truenodeids=[7, 0, 0]), "cannot be read: KeyError"),
        (lambda: stump(nodes_featureids=[4, 0, 0]), "cannot be computed"),
    ],
)
def test_what_is_refused(made: Any, words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        from_model(made())


def stump(**changes: Any) -> onnx.ModelProto:
    """One test of one feature of two."""
    attributes: Attributes = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2],
        "target_ids": [0, 0], "target_weights": [1.0, 3.0], "n_targets": 1,
    }  # fmt: skip
    return learned("TreeEnsembleRegressor", attributes | changes, {"y": TensorProto.FLOAT}, 2)


def test_too_large_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_LEAVES", 1)
    with pytest.raises(NetworkError, match="has 2 leaves in all trees, the most are 1: fit it with "
                                           "fewer trees or smaller ones"):  # fmt: skip
        from_model(stump())


def beside(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """The stump with other nodes around it."""
    made = stump()
    tree = made.graph.node[0]
    tree.input[0], tree.output[0] = "features", "t"
    del made.graph.node[:]
    made.graph.node.extend([nodes[0], tree, *nodes[1:]])
    made.graph.initializer.append(numpy_helper.from_array(np.eye(2, dtype=np.float32), "w"))
    return made


def test_what_stands_before_trees() -> None:
    """Matrices and scalers are the client's; anything else, and a second way, are refused."""
    made = beside(node("MatMul", ["x", "w"], "features"), node("Neg", ["t"], "y"))
    found = from_model(made).outputs(np.array([[0.4, 9], [0.6, 9]], np.float32))
    assert found["y"].tolist() == [[-1], [-3]]
    with pytest.raises(NetworkError, match=r"\(Softmax\): stands before decision trees"):
        from_model(beside(node("Softmax", ["x"], "features"), node("Neg", ["t"], "y")))
    made = beside(node("Neg", ["x"], "features"), node("Neg", ["t"], "y"))
    made.graph.output.append(helper.make_tensor_value_info("features", TensorProto.FLOAT, None))
    with pytest.raises(NetworkError, match="an output of the model: reads features beside"):
        from_model(made)
    with pytest.raises(NetworkError, match=r"\(Add\): reads x beside decision trees"):
        from_model(beside(node("Neg", ["x"], "features"), node("Add", ["t", "x"], "y")))


def test_several_ensembles() -> None:
    """Each has tests of its own; what reads their sums is a part of the network."""
    made, other = stump(nodes_values=[0.1, 0, 0]), stump(nodes_values=[7.0, 0, 0]).graph.node[0]
    other.name, other.output[0] = "others", "b"
    made.graph.node[0].output[0] = "a"
    made.graph.node.extend([other, node("Mul", ["a", "b"], "y")])
    x = np.array([[0, 0], [1, 0], [8, 0]], np.float32)
    found = Model.from_onnx(made, x)
    assert found.network.inputs(x).tolist() == [[1, 1], [0, 1], [0, 0]]
    np.testing.assert_allclose(found.predict(x)["y"].ravel(), [1, 3, 9], rtol=0.02)


def test_doubles_are_compared_as_such() -> None:
    made = stump(nodes_values=[0.1, 0, 0])
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    number = float(np.float32(0.1))
    x = np.array([[number, 0], [np.nextafter(number, 1), 0]])
    assert Model.from_onnx(made).network.inputs(x).tolist() == [[1], [0]]


def test_the_interface_makes_the_tests() -> None:
    """It travels in the network's file; features are compared in the model's own precision."""
    found = Model.from_onnx(stump(nodes_values=[0.1, 0, 0]))
    network = IntNetwork.from_json(found.network.to_json())
    x = np.array([[0.1, 1], [np.nextafter(np.float32(0.1), 1), 1], [np.float64(0.1), 1]])
    assert network.inputs(x).tolist() == [[1], [0], [1]]
    assert network == found.network
    assert found.predict(x)["y"].ravel().tolist() == [1, 3, 1]
    for wrong, words in (([[np.inf, 1]], "infinite"), ([[1.0]], "expected Nx2")):
        with pytest.raises(NetworkError, match=words):
            network.inputs(wrong)
    with pytest.raises(UsageError, match="arrays, not pictures"):
        Model.from_onnx(stump(), pixels=(0.5, 0.5))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tracks", [0, 1])
def test_missing_values_are_data(mode: str, tracks: int) -> None:
    """NaN passes no comparison but that of being unlike, unless the node says that it passes."""
    made = stump(nodes_modes=[mode, "LEAF", "LEAF"], nodes_missing_value_tracks_true=[tracks, 0, 0])
    passes = bool(tracks) or mode == "BRANCH_NEQ"
    found = Model.from_onnx(made).predict(np.array([[np.nan, 0], [np.nan, 1]], np.float32))["y"]
    assert found.ravel().tolist() == [1.0 if passes else 3.0] * 2


def fitted(name: str) -> tuple[Any, Array, Array]:
    """A small estimator of scikit-learn, fitted, with test data."""
    ensembles = pytest.importorskip("sklearn.ensemble")
    data = pytest.importorskip("sklearn.datasets")
    tree = pytest.importorskip("sklearn.tree")
    join = pytest.importorskip("sklearn.pipeline").make_pipeline
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    components = pytest.importorskip("sklearn.decomposition").PCA(3)
    seeded: Attributes = {"random_state": 1}
    small = ensembles.RandomForestClassifier(5, max_depth=5, **seeded)
    made, load = {
        "tree": (tree.DecisionTreeClassifier(**seeded), data.load_digits),
        "forest": (ensembles.RandomForestClassifier(20, **seeded), data.load_breast_cancer),
        "extra trees": (ensembles.ExtraTreesClassifier(8, max_depth=5, **seeded), data.load_iris),
        "boosting, two classes": (
            ensembles.GradientBoostingClassifier(n_estimators=15, **seeded),
            data.load_breast_cancer,
        ),
        "boosting, three classes": (
            ensembles.GradientBoostingClassifier(n_estimators=6, **seeded), data.load_iris),
        "scaled": (join(scaler, small), data.load_breast_cancer),
        "components": (join(components, small), data.load_iris),
        "regression tree": (tree.DecisionTreeRegressor(max_depth=6, **seeded), data.load_diabetes),
        "regression forest": (
            ensembles.RandomForestRegressor(10, max_depth=5, **seeded), data.load_diabetes),
        "boosting, regression": (
            ensembles.GradientBoostingRegressor(n_estimators=40, **seeded), data.load_diabetes),
    }[name]  # fmt: skip
    x, y = load(return_X_y=True)
    x = x * np.geomspace(1e-3, 1e3, x.shape[1])  # ranges a million apart
    if name == "extra trees":
        y = np.array(["setosa", "versicolor", "virginica"])[y]
    return made.fit(x[::2], y[::2]), x[1::2], y[1::2]


CLASSIFIERS = ["tree", "forest", "extra trees", "boosting, two classes", "boosting, three classes",
               "scaled", "components"]  # fmt: skip
REGRESSORS = ["regression tree", "regression forest", "boosting, regression"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_of_scikit_learn(name: str) -> None:
    """Floats are scikit-learn's own answers; integers differ where probabilities are a tie."""
    pytest.importorskip("skl2onnx")
    estimator, x, y = fitted(name)
    made = Model.from_sklearn(estimator, calibrate=x)
    assert not made.network.warnings
    found = made.evaluate(x, y)
    wanted = np.mean(estimator.predict(x) == y)
    assert found["float"].accuracy == pytest.approx(wanted, abs=0.014)
    for row in ("integer", "with noise"):
        assert (found[row].agreement or 0) >= 0.99
        assert (found[row].error or 0) < 2e-3
    probabilities = made.predict(x)["probabilities"]
    apart = np.abs(probabilities - estimator.predict_proba(x)).max(axis=1)
    assert np.mean(apart < 2e-3) > 0.98  # single precision may carry a component over a test


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_of_scikit_learn(name: str) -> None:
    pytest.importorskip("skl2onnx")
    estimator, x, _ = fitted(name)
    made = Model.from_sklearn(estimator, calibrate=x)
    wanted = estimator.predict(x)
    for noise in (False, True):
        found = made.predict(x, noise=noise).values[:, 0]
        assert np.abs(found - wanted).max() < 2e-3 * np.ptp(wanted)


def test_noise_stays_away_from_steps() -> None:
    """By so many deviations that 2^35 values pass."""
    pytest.importorskip("skl2onnx")
    estimator, x, _ = fitted("forest")
    graph = from_model(as_onnx(estimator, x))
    leaves, total = quantise(graph, x).layers
    assert leaves.distance is not None
    assert leaves.distance > ROOM * NOISE
    assert leaves.changed < 2.0**-75
    assert (leaves.differing, total.beyond) == (0, 0)
    assert quantise(graph).network.to_json() == quantise(graph, x).network.to_json()


def as_onnx(estimator: Any, x: Array) -> onnx.ModelProto:
    convert = pytest.importorskip("skl2onnx").to_onnx
    found: onnx.ModelProto = convert(
        estimator, x[:1].astype(np.float32), options={id(estimator): {"zipmap": False}}
    )
    return found


def test_an_encrypted_tree() -> None:
    made = Model.from_onnx(tree_of_members())
    x = np.array([[1, 5], [3, -5], [2, 0], [2, -0.1]], np.float32)
    program = made.compile(len(x))
    client = program.client()
    answer = client.decrypt(program.run(client.keys(), client.encrypt(x)))
    np.testing.assert_array_equal(answer.integers, made.predict(x).integers)
    wanted = np.array([[1.5, 0], [1.5, 0], [0, -2], [0.25, 0]])
    np.testing.assert_allclose(answer["y"], wanted, atol=1e-3)
