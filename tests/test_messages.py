"""Mistakes of users in their first hour: every message names the cause and the way out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import palladion
import pytest
from onnx import TensorProto, helper
from palladion import Model, PalladionError
from palladion.nn.importer import from_model, load

from tests.conftest import Said, Say
from tests.models import Array, floats, model, node

FEATURES, CLASSES = 16, 3


def refused(found: Said, *words: str) -> None:
    assert 2 <= found.status <= 8, found
    assert "Traceback" not in found.err
    for word in words:
        assert word in found.err, found.err


def raises(make: Callable[[], object], *words: str) -> None:
    with pytest.raises(PalladionError) as error:
        make()
    for word in words:
        assert word in str(error.value)


def perceptron(kind: type = np.float32, first: Any = "N") -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    held: dict[str, Array] = {
        "w": floats(rng, FEATURES, 8).astype(kind), "b": floats(rng, 8).astype(kind),
        "v": floats(rng, 8, CLASSES).astype(kind),
    }  # fmt: skip
    nodes = [node("Gemm", ["x", "w", "b"], "h"), node("Relu", ["h"], "r"),
             node("MatMul", ["r", "v"], "y")]  # fmt: skip
    made = model([first, FEATURES], nodes, held)
    for end in (made.graph.input[0], made.graph.output[0]):
        end.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    return made


def convolution(*shape: Any) -> onnx.ModelProto:
    rng = np.random.default_rng(2)
    nodes = [node("Conv", ["x", "w"], "c", strides=[2, 2]), node("Relu", ["c"], "r"),
             node("GlobalAveragePool", ["r"], "y")]  # fmt: skip
    return model([*shape], nodes, {"w": floats(rng, 4, 3, 3, 3)})


X = np.random.default_rng(3).normal(size=(64, FEATURES)).astype(np.float32)
Y = np.arange(64) % CLASSES


@pytest.fixture(scope="module")
def made() -> Model:
    return Model.from_onnx(perceptron(), X)


@pytest.fixture(scope="module")
def pair(made: Model) -> palladion.CompiledModel:
    """The model's program for two inputs."""
    return made.compile(batch=2)


@dataclass(frozen=True)
class Folder:
    """The files of a user: a model, its network and program, data, and others."""

    path: Path

    def __truediv__(self, name: str) -> Path:
        return self.path / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, made: Model) -> Folder:
    found = Folder(tmp_path_factory.mktemp("first"))
    onnx.save(perceptron(), found / "m.onnx")
    made.save(found / "net.json")
    program = made.compile()
    program.save(found / "program")
    program.client().save(found / "secret.key")
    return found


# Files of models


def external(path: Path) -> None:
    onnx.save(perceptron(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    (path.parent / "w.bin").unlink()


MODELS: Mapping[str, tuple[bytes | Callable[[Path], None] | None, list[str]]] = {
    "empty": (b"", ["is an empty file", "expected an ONNX model", "export"]),
    "text": (b"hello\n", ["is text", "expected an ONNX model"]),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\n",
        ["pointer of Git LFS", "git lfs pull"],
    ),
    "array": (b"\x93NUMPY\1\0", ["is an .npy file", "expected an ONNX model"]),
    "torch": (b"PK\3\4", ["torch.save", "torch.onnx.export"]),
    "network": (b'{"format": 3}', ["JSON", "quantised already", "palladion compile"]),
    "program": (b"PALLADIOPROG", ["is a program", "palladion keygen"]),
    "cut": (perceptron().SerializeToString()[:200], ["only a part", "200 bytes", "again"]),
    "folder": (Path.mkdir, ["is a folder", "expected the ONNX file"]),
    "missing": (None, ["is missing", "expected an ONNX model"]),
    "external": (external, ["w.bin, which is missing", "must lie beside"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_file_that_is_no_model(name: str, tmp_path: Path, say: Say) -> None:
    content, words = MODELS[name]
    path = tmp_path / "m.onnx"
    if callable(content):
        content(path)
    elif content is not None:
        path.write_bytes(content)
    raises(lambda: Model.from_onnx(path, X), *words)
    raises(lambda: load(str(path)), *words)
    found = say("import", path)
    refused(found, *(["is a directory"] if name == "folder" else words))
    if isinstance(content, bytes):
        raises(lambda: Model.from_onnx(content, X), *words)


def test_a_model_is_named_by_words_or_by_a_path(folder: Folder) -> None:
    path = folder / "m.onnx"
    assert load(path).name == load(str(path)).name == "m"
    assert Model.from_onnx(str(path), X).network.name == "m"
    assert Model.load(str(folder / "net.json")).network.name == "test"


def test_what_is_no_model_at_all() -> None:
    raises(lambda: Model.from_onnx(3, X), "type int", "path of an ONNX file")  # type: ignore[arg-type]
    raises(lambda: Model.from_onnx(onnx.ModelProto(), X), "ir_version")
    newer = perceptron()
    newer.ir_version = 99
    raises(lambda: from_model(newer), "ir_version 99", "pip install --upgrade onnx")


# Models


def attention() -> onnx.ModelProto:
    rng = np.random.default_rng(4)
    return model(["N", 5, 8], [
        node("MatMul", ["x", "q"], "a"), node("MatMul", ["x", "k"], "b"),
        node("Transpose", ["b"], "t", perm=[0, 2, 1]), node("MatMul", ["a", "t"], "p"),
        node("Softmax", ["p"], "s"), node("MatMul", ["s", "a"], "y"),
    ], {"q": floats(rng, 8, 8), "k": floats(rng, 8, 8)})  # fmt: skip


def normalised(kind: str, inputs: list[str], **attributes: Any) -> onnx.ModelProto:
    rng = np.random.default_rng(5)
    held = {"g": floats(rng, 4), "w": floats(rng, 16, 2)}
    nodes = [node(kind, inputs, "n", **attributes), node("Flatten", ["n"], "f"),
             node("MatMul", ["f", "w"], "y")]  # fmt: skip
    return model(["N", 4, 2, 2], nodes, held, opset=21)


def recurrent() -> onnx.ModelProto:
    """As PyTorch writes it with batch_first: the Transpose is the first that would be refused."""
    rng = np.random.default_rng(6)
    lstm = helper.make_node("LSTM", ["t", "w", "r"], ["", "h"], name="lstm", hidden_size=4)
    nodes = [node("Transpose", ["x"], "t", perm=[1, 0, 2]), lstm, node("Squeeze", ["h", "a"], "y")]
    held = {"w": floats(rng, 1, 16, 8), "r": floats(rng, 1, 16, 4), "a": np.array([0])}
    return model(["N", 5, 8], nodes, held)


def two_inputs() -> onnx.ModelProto:
    found = model(["N", 4], [node("Add", ["x", "z"], "y")])
    found.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 4]))
    return found


REFUSED: list[tuple[str, Callable[[], onnx.ModelProto], list[str]]] = [
    ("transformer", attention, ["p_node (MatMul)", "attention", "encrypted matrices", "constant"]),
    ("group norm", lambda: normalised("GroupNormalization", ["x", "g", "g"], num_groups=2),
     ["divides by a deviation that is computed from each input", "BatchNormalization"]),
    ("lstm", recurrent, ["lstm (LSTM)", "recurrence is out of reach", "Conv"]),
    ("two inputs", two_inputs, ["2 inputs (x, z)", "supported is one", "Slice"]),
    ("large images", lambda: convolution("N", 3, 224, 224),
     ["224 x 224", "one ciphertext holds 32768", "would fit", "smaller images"]),
    ("open sides", lambda: convolution("N", 3, "H", "W"), ["(N, 3, H, W)", "sides fixed"]),
    ("nameless sides", lambda: convolution("N", 3, None, None), ["(N, 3, ?, ?)", "sides fixed"]),
    ("strange operator",
     lambda: model(["N", 4], [node("Mine", ["x"], "y", domain="com.mine")]),
     ["y_node (Mine)", "domain com.mine", "ONNX's own operators"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "words"), [case[1:] for case in REFUSED],
                         ids=[case[0] for case in REFUSED])  # fmt: skip
def test_a_model_out_of_reach(make: Callable[[], onnx.ModelProto], words: list[str]) -> None:
    raises(lambda: from_model(make()), *words)


@pytest.mark.parametrize("first", ["N", "batch_size", None, 1, 4])
def test_a_batch_axis_may_be_open_or_not(first: str | int | None) -> None:
    assert from_model(perceptron(first=first)).input.shape == (FEATURES, 1, 1)


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_models_of_other_precisions(kind: type) -> None:
    found = Model.from_onnx(perceptron(kind), X).evaluate(X, Y)
    assert found["integer"].agreement is not None
    assert found["integer"].agreement > 0.9


def test_models_that_older_versions_refused(rng: np.random.Generator) -> None:
    """A signal of one dimension, a label and no logits, a transposed convolution, a function."""
    signal = model(["N", 3, 20], [
        node("Conv", ["x", "w"], "c"), node("Relu", ["c"], "r"), node("Flatten", ["r"], "f"),
        node("MatMul", ["f", "v"], "l"), node("ArgMax", ["l"], "y", axis=1, keepdims=0),
    ], {"w": floats(rng, 2, 3, 3), "v": floats(rng, 36, 3)})  # fmt: skip
    x = floats(rng, 16, 3, 20)
    assert from_model(signal).outputs(x)["y"].shape == (16,)
    larger = model(["N", 3, 8, 8], [node("ConvTranspose", ["x", "w"], "y", strides=[2, 2])],
                   {"w": floats(rng, 3, 2, 2, 2)})  # fmt: skip
    assert from_model(larger).outputs(floats(rng, 2, 3, 8, 8))["y"].shape == (2, 2, 16, 16)
    own = perceptron()
    opsets = [helper.make_opsetid("", 20)]
    body = [helper.make_node("Relu", ["a"], ["b"])]
    own.functions.append(helper.make_function("mine", "F", ["a"], ["b"], body, opsets))
    own.graph.node[1].CopyFrom(helper.make_node("F", ["h"], ["r"], domain="mine"))
    own.opset_import.append(helper.make_opsetid("mine", 1))
    wanted, found = (from_model(m).outputs(X)["y"] for m in (perceptron(), own))
    np.testing.assert_array_equal(found, wanted)


def test_one_logit_is_decided_by_its_threshold() -> None:
    made = model(["N", 2], [node("MatMul", ["x", "w"], "y")], {"w": np.eye(2, 1, dtype=np.float32)})
    found = Model.from_onnx(made, np.array([[-1, 0], [1, 0]], np.float32))
    assert found.predict([[-1, 0], [1, 0]]).classes.tolist() == [0, 1]  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore")
def test_estimators() -> None:
    pytest.importorskip("skl2onnx")
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    labels = (X[:, 0] > 0).astype(int)
    vectors = SVC().fit(X, labels)
    raises(lambda: Model.from_sklearn(vectors, X), "support vectors", "perceptrons and trees")
    network = MLPClassifier((4,), max_iter=30)
    raises(lambda: Model.from_sklearn(network, X), "MLPClassifier is not fitted", "fit first")
    raises(lambda: Model.from_sklearn(MLPClassifier, X), "no estimator", "fitted")
    binary = Model.from_sklearn(network.fit(X, labels), X)  # a label and two probabilities
    assert [values.shape for values in binary.predict(X).outputs.values()] == [(64,), (64, 2)]


# Data


def test_arrays_that_do_not_fit(made: Model) -> None:
    bad = X.copy()
    bad[5, 2], bad[7, 1] = np.nan, np.inf
    objects: Any = X.astype(object)
    for x, words in (
        (X[0], ["one input of shape 16", "x[None]"]),
        (X[:, :9], ["shape 64x9", "expected Nx16"]),
        (X.T, ["shape 16x64", "expected Nx16", "give x.T"]),
        (X[:, :, None, None], ["64x16x1x1", "x.reshape(-1, 16)"]),
        (X[:0], ["shape 0x16", "there is none"]),
        (bad, ["NaN or infinite", "2 of 1024", "in input 5"]),
        (objects, ["type object", "astype"]),
        (X.astype(str), ["type <U", "real numbers"]),
        ([[1, 2], [3]], ["no array", "rows of one length"]),
    ):
        raises(lambda x=x: made.predict(x), *words)  # type: ignore[misc]
    with pytest.warns(palladion.InputWarning, match="outside the calibrated range.* expected"):
        made.predict(X * 1000)
    colours = convolution("N", 3, 8, 8)
    last = np.zeros((4, 8, 8, 3), np.float32)
    raises(lambda: Model.from_onnx(colours, last), "4x8x8x3", "give x.transpose(0, 3, 1, 2)")


def test_bytes_where_numbers_are_expected() -> None:
    colours = convolution("N", 3, 8, 8)
    pixels = np.arange(4 * 3 * 8 * 8, dtype=np.uint8).reshape(4, 3, 8, 8)
    on_pixels = Model.from_onnx(colours, pixels)
    assert any("as pixels are" in note for note in on_pixels.report().notes)
    told = Model.from_onnx(colours, pixels / 255, pixels=(0, 1))
    raises(
        lambda: told.predict(pixels), "inputs of bytes", "(p / 255 - mean) / std", "floating point"
    )
    raises(
        lambda: on_pixels.network.inputs_of_pixels(pixels), "not known what pixels are", "--mean"
    )


def test_features_need_no_axes_of_images(made: Model, pair: palladion.CompiledModel) -> None:
    assert made.network.inputs(X).shape == (64, FEATURES)
    client = pair.client()
    assert client.encrypt(X[:2]).images() == 2
    raises(lambda: client.encrypt(X[:3]), "3 inputs", "at most 2", "batch=3", "--batch 3")
    raises(lambda: client.decrypt("answer"), "type str", "CompiledModel.run")  # type: ignore[arg-type]


def test_labels_that_do_not_fit(made: Model) -> None:
    for y, words in (
        (Y[:9], ["shape 9", "one for each of 64"]),
        (np.eye(3)[Y], ["one-hot", "argmax"]),
        (np.array([*"abc"])[Y], ["classes are such as", "'a'"]),
        (Y + 1, ["labels from 1 to 3", "classes are 0 to 2"]),
        (Y + 0.5, ["real labels", "classes as integers"]),
        (3, ["shape ()", "one for each"]),
    ):
        raises(lambda y=y: made.evaluate(X, y), *words)  # type: ignore[misc]
    assert made.evaluate(X, Y.astype(object)).rows == made.evaluate(X, [*Y.tolist()]).rows


def test_settings_that_do_not_exist(made: Model) -> None:
    def quantised(**settings: Any) -> Callable[[], object]:
        return lambda: Model.from_onnx(perceptron(), X, **settings)

    raises(lambda: Model.from_onnx(perceptron()), "calibration data", "--data", "calibrate")
    raises(quantised(weight=6), "called weight", "weights, activations")
    raises(quantised(weights="six"), "weights is 'six'", "int")
    raises(quantised(weights=6.5), "weights is 6.5", "int")
    raises(quantised(method="best"), "method 'best'", "mse")
    raises(quantised(outputs="logits"), "no output 'logits'", "its outputs are y")
    raises(quantised(pixels=((0.5, 0.5), 1)), "2 numbers for 16 channels")
    raises(quantised(pixels=(0.5, 0)), "std above 0")
    raises(lambda: made.compile("8"), "batch of '8'", "whole number")  # type: ignore[call-overload]
    raises(lambda: made.compile(0), "batch of 0", "expected 1 to")
    raises(lambda: made.compile(-1), "expected 1 to")


ARRAYS: Mapping[str, tuple[Mapping[str, Any] | Array | bytes, list[str]]] = {
    "x.npy": (X, ["an .npy file and holds one array", "labels", "np.savez('data.npz', x=inputs"]),
    "none.npz": ({}, ["holds no array", "inputs named x", "np.savez"]),
    "named.npz": ({"inputs": X, "labels": Y}, ["holds inputs, labels", "named x", "np.savez"]),
    "alone.npz": ({"x": X}, ["holds x", "labels named y", "np.savez"]),
    "long.npz": ({"x": X, "y": [*Y, 1]}, ["labels of shape 65", "one for each of 64"]),
    "onehot.npz": ({"x": X, "y": np.eye(3)[Y]}, ["one-hot", "argmax"]),
    "several.npz": ({"x": X, "y": np.ones((64, 2), int)}, ["64x2", "one class for each"]),
    "real.npz": ({"x": X, "y": Y / 2}, ["real numbers", "expected classes"]),
    "words.npz": ({"x": X, "y": np.array([*"abc"])[Y]}, ["such as", "'a'"]),
    "many.npz": ({"x": X, "y": Y + 1}, ["labels from 1 to 3", "classes are 0 to 2"]),
    "objects.npz": ({"x": X.astype(object), "y": Y}, ["Python objects", "astype"]),
    "nan.npz": ({"x": X * np.nan, "y": Y}, ["nan.npz", "NaN or infinite"]),
    "complex.npz": ({"x": X * 1j, "y": Y}, ["complex", "real numbers"]),
    "narrow.npz": ({"x": X[:, 1:], "y": Y}, ["narrow.npz", "64x15", "expected Nx16"]),
    "table.csv": (b"1,2,3\n", ["is text", "np.loadtxt", "np.savez"]),
    "cut.npz": (b"PK\3\4abc", ["cut.npz is damaged"]),
    "empty.npz": (b"", ["an empty file", "expected an .npy file"]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_data_that_do_not_fit(name: str, tmp_path: Path, folder: Folder, say: Say) -> None:
    content, words = ARRAYS[name]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        np.savez(path, **content)
    refused(say("evaluate", "--network", folder / "net.json", "--data", path), *words)


def test_data_that_are_not_there(folder: Folder, tmp_path: Path, say: Say) -> None:
    missing = tmp_path / "x.npz"
    refused(say("evaluate", "--data", missing), "does not exist")
    refused(say("evaluate", "--data", tmp_path), "neither MNIST's files nor CIFAR-10's", ".npz")
    np.savez(missing, x=X, y=Y)
    refused(say("evaluate", "--data", missing), "expected Nx1x28x28", "packaged", "--network")
    missing.unlink()
    client = ["--client", folder / "program.client", "--secret", folder / "secret.key"]
    refused(say("encrypt", *client, "--output", tmp_path / "q", missing), "does not exist", ".npz")
    refused(say("quantize", folder / "m.onnx", "--output", tmp_path / "n"), "give --data", ".npy")


# Files in each other's place


def test_files_in_each_others_place(folder: Folder, tmp_path: Path, say: Say) -> None:
    q, o = tmp_path / "x.npy", tmp_path / "o"
    np.save(q, X[:2])
    net, program, secret = folder / "net.json", folder / "program", folder / "secret.key"
    terms = folder / "program.client"

    def encrypt(terms: Path, secret: Path, *images: Path) -> Said:
        return say("encrypt", "--client", terms, "--secret", secret, "--output", o, *images)

    refused(encrypt(terms, secret, q), "2 inputs", "at most 1", "compile --batch 2")
    refused(encrypt(net, secret, q), "net.json is JSON", "expected a client's file", "compile")
    refused(encrypt(folder / "m.onnx", secret, q), "m.onnx", "expected a client's file")
    np.save(q, X[:1])
    refused(encrypt(program, secret, q), "is a program", "expected a client's file", "split")
    refused(encrypt(terms, program, q), "is a program", "expected a secret key", "keygen")
    refused(say("run", "--program", terms, "--keys", secret, "--output", o, q),
            "is a client's file", "expected a program")  # fmt: skip
    refused(say("run", "--program", program, "--keys", secret, "--output", o, q),
            "x.npy is an .npy file", "expected encrypted images", "palladion encrypt")  # fmt: skip
    refused(say("compile", program, "--output", o), "is a program", "palladion quantize")
    refused(say("compile", net, "--data", q, "--output", o), "--data is for ONNX models", "already")
    refused(say("evaluate", "--network", folder / "m.onnx", "--data", q), "no integer network",
            "palladion quantize")  # fmt: skip
    refused(say("inspect", q), "is an .npy file", "expected a program")
    refused(say("inspect", program, "--batch", 2), "a batch of its own", "palladion compile")
    raises(lambda: palladion.CompiledModel.load(net), "JSON", "palladion compile")
    raises(lambda: Model.load(folder / "m.onnx"), "palladion quantize", "Model.from_onnx")
    raises(lambda: Model.load(program), "is a program", "palladion quantize")


def test_keys_of_another_program(
    folder: Folder, tmp_path: Path, say: Say, pair: palladion.CompiledModel
) -> None:
    """A secret fits every program, but a query fits those of its layout: not of another batch."""
    other, x, query = tmp_path / "other", tmp_path / "x.npy", tmp_path / "query"
    pair.save(other)
    np.save(x, X[:1])
    found = say("encrypt", "--client", folder / "program.client", "--secret",
                folder / "secret.key", "--output", query, x)  # fmt: skip
    assert found.status == 0, found
    found = say("run", "--program", other, "--keys", x, "--output", tmp_path / "o", query)
    refused(found, str(query), "another input layout", "client's file of this program")


def test_what_quantisation_warned_of_is_told_again(
    folder: Folder, tmp_path: Path, say: Say
) -> None:
    net, program = tmp_path / "net.json", tmp_path / "program"
    poor = Model.from_onnx(perceptron(), X, weights=2, activations=2)
    poor.save(net)
    (warning, *_) = poor.network.warnings
    compiled = say("compile", net, "--output", program)
    for found in (compiled, say("inspect", program)):
        assert found.status == 0, found
        assert f"warning: {warning}" in found.out
    strict = say("inspect", program, "--strict", "--json")
    assert strict.status == 3
    assert warning in json.loads(strict.out)["warnings"]
    assert warning in strict.err
    refused(say("compile", net, "--strict", "--output", program), warning)
    refused(say("inspect", program, "--network", folder / "net.json"), "compiled from another")
    assert "warning" not in say("inspect", folder / "program", "--strict").out
