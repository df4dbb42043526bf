"""From one's own model to encrypted answers, as a data scientist would."""

from __future__ import annotations

import pickle
import sys
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from onnx import helper
from palladion import (
    BudgetError,
    Client,
    CompiledModel,
    DataError,
    FormatError,
    InputWarning,
    Model,
    NetworkError,
    UsageError,
    _native,
)
from palladion.nn.convert.check_export import check_estimator
from palladion.nn.importer import from_model
from palladion.nn.importer.onnx_file import as_proto
from palladion.support import memory

from tests.models import Array, floats, model, node, reference

FEATURES, CLASSES = 16, 3


def perceptron(rng: np.random.Generator) -> onnx.ModelProto:
    """Three classes from 16 features in their own units, probabilities at the end."""
    held = {
        "mean": np.linspace(-40, 100, FEATURES, dtype=np.float32),
        "std": np.geomspace(0.1, 30, FEATURES, dtype=np.float32),
        "w": floats(rng, FEATURES, 12) / 4, "b": floats(rng, 12) / 4,
        "v": floats(rng, 12, CLASSES), "c": floats(rng, CLASSES),
    }  # fmt: skip
    nodes = [
        node("Sub", ["x", "mean"], "s"), node("Div", ["s", "std"], "d"),
        node("Gemm", ["d", "w", "b"], "h"), node("Relu", ["h"], "r"),
        node("Gemm", ["r", "v", "c"], "l"), node("Softmax", ["l"], "y"),
    ]  # fmt: skip
    return model(["N", FEATURES], nodes, held)


@pytest.fixture(scope="module")
def made() -> onnx.ModelProto:
    return perceptron(np.random.default_rng(3))


@pytest.fixture(scope="module")
def x() -> Array:
    rng = np.random.default_rng(4)
    mean, std = np.linspace(-40, 100, FEATURES), np.geomspace(0.1, 30, FEATURES)
    return (rng.normal(size=(600, FEATURES)) * std + mean).astype(np.float32)


@pytest.fixture(scope="module")
def own(made: onnx.ModelProto, x: Array) -> Model:
    return Model.from_onnx(made, calibrate=x[:500])


@pytest.fixture(scope="module")
def program(own: Model) -> CompiledModel:
    return own.compile(batch=4)


def test_a_model_is_read_from_what_users_have(
    made: onnx.ModelProto, x: Array, own: Model, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(made, str(path))
    wanted = own.network.layers
    for source in (path, str(path), path.read_bytes()):
        found = Model.from_onnx(source, calibrate=x[:500]).network
        assert [layer.bias.tolist() for layer in found.layers] == [w.bias.tolist() for w in wanted]
    own.save(str(tmp_path / "net.json"))
    again = Model.load(str(tmp_path / "net.json"))
    assert again.network.to_json() == own.network.to_json()
    assert (again.predict(x[:9])["y"] == own.predict(x[:9])["y"]).all()
    assert "bound" in str(again.report())
    with pytest.raises(NetworkError, match="is text, expected an ONNX model"):
        Model.from_onnx(b"abcd", calibrate=x)
    with pytest.raises(NetworkError, match=r"nothing\.onnx is missing"):
        Model.from_onnx(tmp_path / "nothing.onnx", calibrate=x)


def test_a_report_has_a_row_for_each_layer(own: Model) -> None:
    report = own.report()
    assert [row["name"] for row in report.layers] == [layer.name for layer in own.network.layers]
    lines = str(report).splitlines()
    assert "bound" in lines[0]
    assert max(map(len, lines)) <= 100


def test_an_evaluation_is_a_table(own: Model, made: onnx.ModelProto, x: Array) -> None:
    y = reference(made, x).argmax(axis=1)
    found = own.evaluate(x[500:], y[500:])
    assert found["float"].accuracy == 1.0
    for name in ("integer", "with noise"):
        row = found[name]
        assert row.accuracy is not None
        assert row.accuracy == row.agreement
        assert row.accuracy >= 0.95
        assert row.error is not None
        assert row.error < 0.1
    text = str(found).splitlines()
    assert text[0].split() == ["100", "inputs", "accuracy", "agreement", "error"]
    assert own.evaluate(x[500:])["integer"].accuracy is None
    with pytest.raises(DataError, match=r"labels of shape 99, expected one for each of 100"):
        own.evaluate(x[500:], y[501:])


def test_an_encrypted_answer_is_the_models(
    own: Model, program: CompiledModel, made: onnx.ModelProto, x: Array, tmp_path: Path
) -> None:
    for word in ("predicted", "keys", "failure", "security"):
        assert word in str(program.facts)
    for word in ("predicted", "memory", "threads"):
        assert word in str(program.costs())
    assert program.costs().here().predicted_wall_seconds == program.costs().wall_seconds() > 0
    client = program.client()
    keys = client.keys()
    chosen = x[500:504]
    query = client.encrypt(chosen)
    answer = program.run(keys, query)
    found = client.decrypt(answer)
    wanted = reference(made, chosen)
    assert np.asarray(found).shape == wanted.shape
    assert np.abs(found["y"] - wanted).max() < 0.15
    assert found.classes is not None
    assert found.classes.tolist() == wanted.argmax(axis=1).tolist()
    assert found.integers is not None
    exact = own.predict(chosen).integers
    assert exact is not None
    # Noise of deviation 8.45 before the one table moves activations by a step or so.
    assert np.abs(found.integers - exact).max() < 0.05 * np.abs(exact).max()
    assert found.margin_bits is not None
    assert found.margin_bits > 5

    # Both halves through files and bytes, as on two machines.
    program.save(str(tmp_path / "program"))
    client.save(tmp_path / "secret")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    server = CompiledModel.load(tmp_path / "program")
    again = server.run(server.keys(keys.to_bytes()), server.query(query.to_bytes()))
    other = Client.load(tmp_path / "program.client", str(tmp_path / "secret"))
    with pytest.raises(UsageError, match="terms of type CompiledModel, expected the path"):
        Client.load(server, str(tmp_path / "secret"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not encrypted lately"):
        other.decrypt(again.to_bytes())
    same = other.decrypt(again.to_bytes(), query)
    assert same.integers is not None
    assert same.integers.tolist() == found.integers.tolist()
    with pytest.raises(FormatError, match="query"):
        client.decrypt(answer, client.encrypt(chosen))


def test_inputs_that_do_not_fit(program: CompiledModel, x: Array) -> None:
    client = program.client()
    with pytest.raises(NetworkError, match="inputs of shape 4x15, expected Nx16"):
        client.encrypt(x[:4, :15])
    with pytest.raises(UsageError, match="5 inputs, expected at most 4 in one run: compile with"):
        client.encrypt(x[:5])
    with pytest.raises(NetworkError, match=r"expected an array of Nx16: give x\[None\]"):
        client.encrypt(x[0])
    with pytest.warns(InputWarning, match="calibrated range"):
        client.encrypt(x[:1] * 1000)
    hidden = np.ma.masked_array(x[:1], mask=np.arange(16)[None] < 3)
    for given in (hidden, [hidden[0]]):
        with pytest.raises(DataError, match="inputs with 3 masked values"):
            client.encrypt(given)
    assert client.encrypt(np.ma.masked_array(x[:1]))  # masks nothing
    with pytest.raises(NetworkError, match="not known what pixels are"):
        client.encrypt_pixels(np.zeros((1, 16), np.uint8))


def test_bad_calibration_and_settings(made: onnx.ModelProto, x: Array) -> None:
    for data, words in (
        (np.array(["a"]), "numbers of shape"),
        (x[0], "numbers of shape"),
        (x[:0], "numbers of shape"),
    ):
        with pytest.raises(DataError, match=words):
            Model.from_onnx(made, calibrate=data)
    with pytest.raises(NetworkError, match="Nx16"):
        Model.from_onnx(made, calibrate=x[:, :3])
    with pytest.raises(UsageError, match="wieghts"):
        Model.from_onnx(made, calibrate=x, wieghts=4)
    with pytest.raises(UsageError, match="9 bits, expected 2 to 8"):
        Model.from_onnx(made, calibrate=x, weights=9)


def test_a_regression_has_real_labels(rng: np.random.Generator) -> None:
    nodes = [
        node("Gemm", ["x", "w"], "h"), node("Tanh", ["h"], "t"), node("Gemm", ["t", "v"], "y"),
    ]  # fmt: skip
    made = model(["N", 5], nodes, {"w": floats(rng, 5, 8), "v": floats(rng, 8, 1)})
    x = floats(rng, 400, 5)
    y = reference(made, x) + 0.1 * floats(rng, 400, 1)
    found = Model.from_onnx(made, calibrate=x).evaluate(x, y)
    assert found["integer"].accuracy is None
    assert found["float"].r2 is not None
    assert found["integer"].r2 is not None
    assert found["float"].r2 > 0.9
    assert abs(found["float"].r2 - found["integer"].r2) < 0.03
    assert "r2" in str(found)


def test_a_linear_model_runs_encrypted(rng: np.random.Generator) -> None:
    """One layer, no table: nothing but the rounding of inputs and weights is lost."""
    made = model(["N", 6], [node("Gemm", ["x", "w", "b"], "l"), node("Sigmoid", ["l"], "y")],
                 {"w": floats(rng, 6, 1), "b": floats(rng, 1)})  # fmt: skip
    x = floats(rng, 200, 6)
    program = Model.from_onnx(made, calibrate=x).compile(batch=8)
    client = program.client()
    found = client.decrypt(program.run(client.keys(), client.encrypt(x[:8])))
    wanted = reference(made, x[:8])
    assert np.abs(found["y"] - wanted).max() < 0.02
    assert found.classes is not None
    assert found.classes.tolist() == (wanted[:, 0] > 0.5).astype(int).tolist()


def test_memory_is_asked_for_before_it_is_needed(
    program: CompiledModel, x: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = program.client()
    query, keys = client.encrypt(x[:1]), client.keys()
    monkeypatch.setattr(memory, "available", lambda _groups=None: 10_000_000)
    with pytest.raises(BudgetError, match=r"making the keys of .* needs .*10.0 MB are left"):
        client.keys()
    with pytest.raises(BudgetError, match=r"a run of .* and 10.0 MB are left: compile with"):
        program.run(keys, query)


def test_memory_of_control_groups(tmp_path: Path) -> None:
    assert memory.available(tmp_path) > 100_000_000
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 500000\n")
    assert memory.available(tmp_path) == 2_500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available(tmp_path) > 100_000_000


def test_a_server_takes_bytes_and_names_what_it_does_not(program: CompiledModel, x: Array) -> None:
    client = program.client()
    keys, query = client.keys(), client.encrypt(x[:1])
    found = client.decrypt(program.run(keys.to_bytes(), bytearray(query.to_bytes())).to_bytes())
    assert found.classes is not None
    assert found.classes.shape == (1,)
    with pytest.raises(UsageError, match=r"keys of type Client, expected keys of Client\.keys"):
        program.run(client, query)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a query of type ndarray"):
        program.run(keys, x[:1])  # type: ignore[arg-type]
    with pytest.raises(FormatError):
        program.run(keys, b"query")


def test_models_and_programs_go_to_other_processes(
    own: Model, program: CompiledModel, x: Array, tmp_path: Path
) -> None:
    copy = pickle.loads(pickle.dumps(own))
    assert np.array_equal(copy.predict(x[:9]).values, own.predict(x[:9]).values)
    assert copy.evaluate(x[:9])["integer"] == own.evaluate(x[:9])["integer"]
    assert deepcopy(own).network.to_json() == own.network.to_json()
    server, client = pickle.loads(pickle.dumps(program)), program.client()
    sent = client.encrypt(x[:1])
    answer = server.run(client.keys(), pickle.loads(pickle.dumps(sent)))
    right = client.decrypt(answer)
    assert np.array_equal(deepcopy(client).decrypt(answer, sent).values, right.values)
    with pytest.raises(UsageError, match=r"a secret key is not pickled.*Client\.save"):
        pickle.dumps(client)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    program.save(tmp_path / "link")
    assert CompiledModel.load(tmp_path / "target").facts.batch == 4
    program.save("/dev/null")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "link", "link.client", "target",
    ]  # fmt: skip


def test_several_labels_for_each_input(rng: np.random.Generator) -> None:
    held = {"w": floats(rng, 8, 3)}
    nodes = [node("MatMul", ["x", "w"], "l"), node("Sigmoid", ["l"], "y")]
    inputs = floats(rng, 200, 8)
    found = Model.from_onnx(model(["N", 8], nodes, held), calibrate=inputs)
    truth = (inputs @ held["w"] > 0).astype(int)
    for labels in (truth, truth.astype(float), np.eye(3, dtype=int)[truth.argmax(axis=1)]):
        marks = found.evaluate(inputs, labels)["float"].accuracy
        assert marks == pytest.approx(np.mean(labels == truth))
    with pytest.raises(DataError, match=r"labels of shape 200x2, expected one class .* 200x3"):
        found.evaluate(inputs, truth[:, :2])


@pytest.mark.filterwarnings("ignore::palladion.InputWarning")
def test_an_export_that_computes_something_else_is_refused(rng: np.random.Generator) -> None:
    """Labels, probabilities and numbers are compared with the estimator's own."""
    pytest.importorskip("skl2onnx")
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = (rng.normal(size=(200, 3)) * [1, 30, 900] + [5, 40, 2000]).astype(np.float32)
    y = (x @ [1.0, 0.03, -0.002] > x.mean(axis=0) @ [1.0, 0.03, -0.002]).astype(int)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(NetworkError, match=r"CalibratedClassifierCV computes .* \d\d\.\d% of the"):
        Model.from_sklearn(CalibratedClassifierCV(inner, cv=2).fit(x, y), x)
    Model.from_sklearn(inner.fit(x, y), x)
    line = LinearRegression().fit(x, y)
    graph = from_model(as_proto(exported(line, x)))
    check_estimator(line, graph, x)
    line.coef_ = line.coef_ * 1.1
    with pytest.raises(NetworkError, match=r"LinearRegression computes .* numbers differ by"):
        check_estimator(line, graph, x)
    forced = LogisticRegression().fit(StandardScaler().fit_transform(x), y)
    graph = from_model(as_proto(exported(forced, x)))
    forced.coef_ = forced.coef_ * 3  # the same labels at an intercept of 0, other probabilities
    with pytest.raises(NetworkError, match="LogisticRegression computes"):
        check_estimator(forced, graph, StandardScaler().fit_transform(x).astype(np.float32))


def exported(estimator: Any, x: Array) -> Any:
    from skl2onnx import to_onnx

    plain = {id(estimator): {"zipmap": False}} if hasattr(estimator, "classes_") else None
    return to_onnx(estimator, x[:1], options=plain)


@pytest.mark.filterwarnings("ignore::palladion.InputWarning")  # test data beyond calibration
def test_scikit_learn(rng: np.random.Generator) -> None:
    pytest.importorskip("skl2onnx")
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_digits(return_X_y=True)
    network = make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=2000, random_state=1))
    network.fit(x[:1300], y[:1300])
    found = Model.from_sklearn(network, calibrate=x[:1300]).evaluate(x[1300:], y[1300:])
    assert found["integer"].agreement is not None
    assert found["integer"].agreement > 0.97

    x, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[:400], names[:400])
    own = Model.from_sklearn(logistic, calibrate=x[:400])
    found = own.evaluate(x[400:], names[400:])
    assert found["integer"].agreement is not None
    assert found["integer"].agreement > 0.97
    assert set(own.predict(x[400:]).classes.tolist()) == {"malignant", "benign"}  # type: ignore[union-attr]

    line = LinearRegression().fit(x[:400, :5], x[:400, 6])
    scored = Model.from_sklearn(line, calibrate=x[:400, :5]).evaluate(x[400:, :5], x[400:, 6])
    assert scored["float"].r2 is not None
    assert scored["integer"].r2 is not None
    assert abs(scored["float"].r2 - scored["integer"].r2) < 0.02


def test_a_perceptron_of_several_targets_keeps_them(rng: np.random.Generator) -> None:
    """skl2onnx puts all targets in one column."""
    pytest.importorskip("skl2onnx")
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = floats(rng, 120, 4)
    y = x @ floats(rng, 4, 3)
    layers = MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0, tol=1.0)
    estimator = make_pipeline(StandardScaler(), layers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(x, y)
    found = Model.from_sklearn(estimator, x).predict(x)["variable"]
    wanted = estimator.predict(x)
    assert found.shape == wanted.shape == (120, 3)
    assert np.abs(found - wanted).max() < 0.05 * np.ptp(wanted)


def test_bins_whose_limits_are_data_and_neighbours(rng: np.random.Generator) -> None:
    """Quantiles are numbers of the data: in single precision these lie on the other side."""
    pytest.importorskip("skl2onnx")
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer

    x = np.round(rng.normal(size=(150, 4)), 1)
    y = (x.sum(axis=1) > 0).astype(int)
    for encode in ("onehot", "ordinal"):
        bins = KBinsDiscretizer(5, encode=encode, strategy="quantile")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = make_pipeline(bins, LogisticRegression()).fit(x, y)
            found = Model.from_sklearn(estimator, x).predict(x)
        assert np.mean(found.classes == estimator.predict(x)) > 0.99
    with pytest.raises(NetworkError, match=r"KNeighborsClassifier compares .* 150 training inputs"):
        Model.from_sklearn(KNeighborsClassifier().fit(x, y), x)


def test_boosted_trees_need_their_converters(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skl2onnx")
    from sklearn.tree import DecisionTreeClassifier

    class Boosted(DecisionTreeClassifier):  # type: ignore[misc]
        __module__ = "xgboost.sklearn"

    x = np.array([[0.0, 1.0], [1.0, 0.0]])
    fitted = Boosted().fit(x, [0, 1])
    monkeypatch.setitem(sys.modules, "onnxmltools", None)
    with pytest.raises(UsageError, match=r"onnxmltools for the Boosted: pip install onnxmltools"):
        Model.from_sklearn(fitted, x)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosted_trees_of_other_libraries(rng: np.random.Generator, library: str) -> None:
    """Not in CI, where these libraries are not installed."""
    pytest.importorskip("onnxmltools")
    module = pytest.importorskip(library)
    x = rng.normal(size=(200, 4))
    y = (x @ [1, -1, 0.5, 0] > 0).astype(int)
    kind = "XGBClassifier" if library == "xgboost" else "LGBMClassifier"
    estimator = getattr(module, kind)(n_estimators=3, max_depth=3).fit(x, y)
    found = Model.from_sklearn(estimator, x).predict(x)
    assert found.classes is not None
    assert np.array_equal(found.classes, estimator.predict(x))


def test_libraries_that_are_missing_are_named(x: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, make in (("torch", Model.from_torch), ("skl2onnx", Model.from_sklearn)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(UsageError, match=f"needs {name}: pip install {name}"):
            make(object(), x)


def test_a_message_names_outputs(rng: np.random.Generator) -> None:
    made = model(["N", 4], [node("Gemm", ["x", "w"], "y")], {"w": floats(rng, 4, 2)})
    made.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    made.graph.node.append(node("Relu", ["y"], "z"))
    found: Any = Model.from_onnx(made, calibrate=floats(rng, 50, 4), outputs="z")
    assert list(found.predict(floats(rng, 2, 4) / 4).outputs) == ["z"]
    assert palladion.Model is Model


def test_a_hidden_model_has_a_flood_for_the_queries_asked_for() -> None:
    x = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)
    made = model(["N", 4], [node("Gemm", ["x", "w"], "y")], {"w": x[:4, :2]})
    own = Model.from_onnx(made, calibrate=x)
    assert own.compile(hide_model=True, queries=1000).facts.flooded_answers == 1000
    assert own.compile(queries=1000).facts.flooded_answers is None
    for queries, words in ((0, "0 queries, expected 1 to 2"), (1.5, "1.5 queries, expected a")):
        with pytest.raises(UsageError, match=words):
            own.compile(hide_model=True, queries=queries)  # type: ignore[arg-type]


def test_words_of_32_bits_hold_every_modulus() -> None:
    own = Model.load(Path(__file__).parent.parent / "models" / "mnist.json")
    assert own.compile(words=32).facts.largest_modulus_bits == 32
    with pytest.raises(UsageError, match="words of 16 bits, expected 32 to 64"):
        own.compile(words=16)
    # A network that words of 32 bits do not hold is at fault, and not this package.
    with pytest.raises(NetworkError, match=r"of 32-bit words do not hold .* without --words 32"):
        _native.compile(own.network.to_json(), batch=1, words=32, failure=-1000)
