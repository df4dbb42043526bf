"""One meaning of an input and of an output: what the model takes and gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from palladion import InputWarning, IntNetwork, NetworkError, _native
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.interface import Gives, Interface, Takes
from palladion.nn.ends.tail import INPUT, Tail
from palladion.nn.floats.graph import Graph
from palladion.nn.importer import from_model
from palladion.nn.quantisation import quantise

from tests.models import QONNX, Array, floats, model, node


def several(made: onnx.ModelProto, *outputs: str) -> onnx.ModelProto:
    """The model with other outputs."""
    del made.graph.output[:]
    for name in outputs:
        kind = TensorProto.INT64 if name == "c" else TensorProto.FLOAT
        made.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    return made


def expected(made: onnx.ModelProto, x: Array) -> dict[str, Array]:
    names = [entry.name for entry in made.graph.output]
    return dict(
        zip(names, map(np.asarray, ReferenceEvaluator(made).run(None, {"x": x})), strict=True)
    )


def same(found: dict[str, Array], wanted: dict[str, Array]) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name].shape == values.shape
        assert found[name].dtype.kind == values.dtype.kind
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-5)
        else:
            assert found[name].tolist() == values.tolist()


def dense(rng: np.random.Generator, *after: onnx.NodeProto, **tensors: Any) -> onnx.ModelProto:
    """A matrix from 6 features to 3 numbers ``l``, then the given nodes."""
    held = {"w": floats(rng, 6, 3), "b": floats(rng, 3), **tensors}
    nodes = [node("MatMul", ["x", "w"], "m"), node("Add", ["m", "b"], "l"), *after]
    return model(["N", 6], nodes, held)


def test_a_normalisation_in_the_model_is_applied_once(rng: np.random.Generator) -> None:
    """A model that begins with (x - 5) / 2, given the same array everywhere."""
    held = {"five": np.float32(5), "two": np.float32(2), "w": floats(rng, 6, 3)}
    made = model(["N", 6], [
        node("Sub", ["x", "five"], "s"), node("Div", ["s", "two"], "d"),
        node("MatMul", ["d", "w"], "h"), node("Relu", ["h"], "r"), node("MatMul", ["r", "v"], "y"),
    ], {**held, "v": floats(rng, 3, 3)})  # fmt: skip
    x = (rng.normal(size=(64, 6)) * 2 + 5).astype(np.float32)
    graph = from_model(made)
    wanted = expected(made, x)["y"]
    np.testing.assert_allclose(graph.outputs(x)["y"], wanted, rtol=1e-4, atol=1e-4)
    network = quantise(graph, x).network
    assert network.input.mean == (5.0,) * 6
    assert network.input.std == (2.0,) * 6
    found = network.outputs(network.evaluate(network.inputs(x)).logits)["y"]
    step = np.abs(wanted).max() / 100
    np.testing.assert_allclose(found, wanted, atol=3 * step)
    program = _native.compile(network.to_json(), batch=1)
    assert Boundary.of_terms(program.terms()) == network.boundary


def test_a_negative_factor_at_the_front(rng: np.random.Generator) -> None:
    held = {"minus": np.float32(-3), "w": floats(rng, 6, 3)}
    nodes = [node("Mul", ["x", "minus"], "d"), node("MatMul", ["d", "w"], "y")]
    made, x = model(["N", 6], nodes, held), floats(rng, 64, 6)
    graph = from_model(made)
    network = quantise(graph, x).network
    found = network.outputs(network.evaluate(network.inputs(x)).logits)["y"]
    wanted = expected(made, x)["y"]
    np.testing.assert_allclose(found, wanted, atol=0.03 * np.abs(wanted).max())


def test_channels_last_are_taken_as_the_model_has_them(rng: np.random.Generator) -> None:
    nodes = [node("Transpose", ["x"], "t", perm=[0, 3, 1, 2]), node("Conv", ["t", "w"], "y")]
    made = model(["N", 5, 4, 3], nodes, {"w": floats(rng, 2, 3, 2, 2)})
    graph, x = from_model(made), floats(rng, 16, 5, 4, 3)
    same(graph.outputs(x), expected(made, x))
    network = quantise(graph, x).network
    again = IntNetwork.from_json(network.to_json())
    assert again.interface == network.interface
    assert again.inputs(x).tolist() == network.inputs(x).tolist()
    with pytest.raises(NetworkError, match="16x3x5x4, expected Nx5x4x3"):
        network.inputs(x.transpose(0, 3, 1, 2))


FINAL: dict[str, list[onnx.NodeProto]] = {
    **{kind: [node(kind, ["l"], "y")] for kind in (
        "Sigmoid", "Tanh", "Exp", "Softplus", "Softmax", "LogSoftmax", "Relu", "Hardmax")},
    "Clip of Sigmoid": [node("Sigmoid", ["l"], "s"), node("Clip", ["s", "low"], "y")],
    "ArgMax": [node("ArgMax", ["l"], "y", axis=1, keepdims=0)],
    "label of ArgMax": [node("ArgMax", ["l"], "a", axis=1, keepdims=0),
                        node("Gather", ["names", "a"], "y")],
    "Cast": [node("Cast", ["l"], "y", to=TensorProto.INT64)],
    "Threshold": [node("Greater", ["l", "low"], "y")],
    "Transpose": [node("Unsqueeze", ["l", "one"], "u"),
                  node("Transpose", ["u"], "y", perm=[0, 2, 1])],
    "Slice": [node("Slice", ["l", "one", "three", "one"], "y")],
    "Quant": [helper.make_node("Quant", ["l", "step", "zero", "bits"], ["y"], domain=QONNX,
                               signed=1, narrow=0, rounding_mode="FLOOR")],
    "fixed batch": [node("Reshape", ["l", "shape"], "r"), node("Softmax", ["r"], "y", axis=1)],
}  # fmt: skip


@pytest.mark.parametrize("kind", FINAL)
def test_what_stands_at_the_end_is_computed_by_the_client(
    kind: str, rng: np.random.Generator
) -> None:
    made = dense(
        rng, *FINAL[kind], low=np.float32(0.25), names=np.array(["cat", "dog", "eel"]),
        one=np.array([1]), three=np.array([3]), shape=np.array([1, 3]),
        step=np.float32(0.5), zero=np.float32(0), bits=np.float32(4),
    )  # fmt: skip
    graph, x = from_model(made), floats(rng, 5, 6)
    assert len(graph.nodes) == 2, "the bias is part of the matrix, the rest of the tail"
    if kind == "Quant":
        l = x @ numpy_helper.to_array(made.graph.initializer[0])  # noqa: E741
        l = l + numpy_helper.to_array(made.graph.initializer[1])  # noqa: E741
        wanted = {"y": np.clip(np.floor(l / 0.5), -8, 7) * 0.5}
    elif kind == "fixed batch":
        parts = [expected(made, row[None])["y"] for row in x]
        wanted = {"y": np.concatenate(parts)}
    else:
        wanted = expected(made, x)
    same(graph.outputs(x), wanted)
    again = Interface.from_data(json.loads(json.dumps(graph.ends.to_data())), 6, 3)
    assert again == graph.ends


def test_a_softmax_of_an_old_model_is_over_all_axes_from_its_own_on(
    rng: np.random.Generator,
) -> None:
    nodes = [node("Conv", ["x", "w"], "c"), node("Softmax", ["c"], "y", axis=1)]
    held = {"w": floats(rng, 4, 3, 2, 2)}
    with pytest.raises(NetworkError, match=r"over axis 1 and those after it.*opset 13"):
        from_model(model(["N", 3, 4, 4], nodes, held, opset=11))
    single = from_model(model(["N", 3, 2, 2], nodes, held, opset=11))
    x = floats(rng, 5, 3, 2, 2)
    same(single.outputs(x), expected(model(["N", 3, 2, 2], nodes, held, opset=13), x))


def test_several_outputs(rng: np.random.Generator) -> None:
    made = several(dense(
        rng, node("Softmax", ["l"], "p"), node("ArgMax", ["p"], "c", axis=1, keepdims=0)
    ), "c", "p", "l")  # fmt: skip
    graph, x = from_model(made), floats(rng, 5, 6)
    wanted = expected(made, x)
    same(graph.outputs(x), wanted)
    classes = graph.ends.classes(graph.outputs(x))
    assert classes is not None
    assert classes.tolist() == wanted["c"].tolist()
    only = from_model(made, outputs=["p"])
    assert only.outputs(x).keys() == {"p"}
    with pytest.raises(NetworkError, match="no output 'q', its outputs are c, p, l"):
        from_model(made, outputs=["q"])


def heads(rng: np.random.Generator) -> dict[str, onnx.ModelProto]:
    """Models whose outputs are functions of different tensors."""
    trunk = [node("MatMul", ["x", "w"], "m"), node("Relu", ["m"], "h")]
    linear = [node("Gemm", ["h", "a", "a0"], "p"), node("Gemm", ["h", "b", "b0"], "q")]
    held = {
        "w": floats(rng, 6, 5),
        "a": floats(rng, 5, 4), "a0": floats(rng, 4), "b": floats(rng, 5, 1), "b0": floats(rng, 1),
    }  # fmt: skip
    ends = [
        node("Constant", [], "last", value_ints=[1]),
        node("Softmax", ["p"], "s"),
        node("Sigmoid", ["q"], "t"),
        node("Squeeze", ["t", "last"], "u"),
        node("ArgMax", ["s"], "c", axis=1, keepdims=0),
    ]
    deep = [
        node("MatMul", ["h", "a"], "k"),
        node("Tanh", ["k"], "l"),
        node("MatMul", ["l", "e"], "p"),
        node("Gemm", ["h", "b", "b0"], "q"),
    ]
    picture = [
        node("Conv", ["x", "f"], "m", pads=[1, 1, 1, 1]),
        node("Relu", ["m"], "h"),
        node("Conv", ["h", "g"], "p"),
        node("GlobalAveragePool", ["h"], "v"),
        node("Flatten", ["v"], "z"),
        node("MatMul", ["z", "a"], "q"),
    ]
    kernels = {"f": floats(rng, 3, 2, 3, 3), "g": floats(rng, 2, 3, 2, 2), "a": floats(rng, 3, 4)}
    return {
        "two": several(model(["N", 6], [*trunk, *linear], held), "p", "q"),
        "functions": several(model(["N", 6], [*trunk, *linear, *ends], held), "c", "u", "s"),
        "hidden": several(model(["N", 6], [*trunk, *linear], held), "h", "p", "q"),
        "sums": several(model(["N", 6], [*trunk, *linear], held), "m", "q"),
        "deep": several(
            model(["N", 6], [*trunk, *deep], held | {"e": floats(rng, 4, 3)}), "q", "p"
        ),
        "picture": several(model(["N", 2, 5, 4], picture, kernels), "p", "q"),
    }


@pytest.mark.parametrize("kind", ["two", "functions", "hidden", "sums", "deep", "picture"])
def test_several_heads_are_one_answer(kind: str, rng: np.random.Generator) -> None:
    made = heads(rng)[kind]
    shape = [side.dim_value for side in made.graph.input[0].type.tensor_type.shape.dim][1:]
    graph, x = from_model(made), floats(rng, 200, *shape)
    wanted = expected(made, x)
    same(graph.outputs(x), wanted)
    for name, values in wanted.items():
        same(from_model(made, outputs=[name]).outputs(x), {name: values})
    # Heads that read the same values are one layer.
    layers = {"two": 2, "functions": 2, "deep": 3}
    network = quantise(graph, x).network
    assert len(network.layers) == layers.get(kind, len(network.layers))
    found = network.outputs(network.evaluate(network.inputs(x)).logits)
    for name, values in wanted.items():
        if values.dtype.kind == "f":
            assert np.abs(found[name] - values).max() < 0.1 * np.ptp(values), name
    _native.compile(network.to_json(), batch=2)


@pytest.mark.parametrize("kind", ["one", "two"])
def test_outputs_of_other_sizes_keep_their_digits(kind: str, rng: np.random.Generator) -> None:
    """Outputs of a thousandth and of a thousand, of one matrix or of two heads."""
    size = np.array([1e-3, 1, 1e3], dtype=np.float32)
    held = {"w": floats(rng, 6, 5), "a": floats(rng, 5, 3) * size, "b": floats(rng, 3) * size,
            "c": floats(rng, 5, 2) * 1e4}  # fmt: skip
    nodes = [
        node("MatMul", ["x", "w"], "m"), node("Relu", ["m"], "h"),
        node("Gemm", ["h", "a", "b"], "y"), node("MatMul", ["h", "c"], "z"),
    ]  # fmt: skip
    made = several(model(["N", 6], nodes, held), *(["y"] if kind == "one" else ["y", "z"]))
    x = floats(rng, 300, 6)
    quantised = quantise(from_model(made), x)
    found = quantised.network.outputs(
        quantised.network.evaluate(quantised.network.inputs(x)).logits
    )
    for name, wanted in expected(made, x).items():
        assert np.all(np.abs(found[name] - wanted).max(axis=0) < 0.1 * np.ptp(wanted, axis=0)), name
    scales = np.array(quantised.output_scale)
    assert scales.max() > 1e4 * scales.min()
    alike = quantise(from_model(heads(rng)["two"]), x)
    assert len(alike.output_scale) == 1


def test_the_class_depends_on_one_head(rng: np.random.Generator) -> None:
    network = quantise(from_model(heads(rng)["functions"]), floats(rng, 50, 6)).network
    outputs = network.outputs(network.evaluate(network.inputs(floats(rng, 5, 6))).logits)
    # Outputs are a class, a probability, and the classes' probabilities.
    ends = network.boundary.interface
    found = [ends.decisive({name: outputs[name]}) for name in outputs]
    assert [[] if head is None else head.tolist() for head in found] == [
        [0, 1, 2, 3],
        [4],
        [0, 1, 2, 3],
    ]
    np.testing.assert_array_equal(ends.decisive(outputs), [0, 1, 2, 3])
    # A probability decides at 1/2, whatever stands before it.
    classes = ends.classes({"u": np.array([[0.4], [0.6]], dtype=np.float32)})
    np.testing.assert_array_equal(classes, [0, 1])
    one = quantise(from_model(several(dense(rng), "l")), floats(rng, 50, 6)).network
    assert one.boundary.interface.decisive(one.outputs(np.zeros((2, 3), dtype=int))) is None


def test_several_heads_of_an_old_model_are_refused(rng: np.random.Generator) -> None:
    made = heads(rng)["two"]
    made.opset_import[0].version = 4
    with pytest.raises(NetworkError, match=r"need opset 5 or more.*outputs="):
        from_model(made)


def test_one_number_is_a_class_by_its_threshold(rng: np.random.Generator) -> None:
    x = floats(rng, 50, 6)
    plain = model(["N", 6], [node("MatMul", ["x", "w"], "y")], {"w": floats(rng, 6, 1)})
    ending = model(["N", 6], [node("MatMul", ["x", "w"], "l"), node("Sigmoid", ["l"], "y")],
                   {"w": floats(rng, 6, 1)})  # fmt: skip
    for made, threshold in ((plain, 0.0), (ending, 0.5)):
        graph = from_model(made)
        classes = graph.ends.classes(graph.outputs(x))
        assert classes is not None
        wanted = expected(made, x)["y"][:, 0] > threshold
        assert classes.tolist() == wanted.astype(int).tolist()
        assert 5 < np.count_nonzero(classes) < 45


def test_outputs_have_units(rng: np.random.Generator) -> None:
    """A scale and a shift of each channel; elements in another order, and left out."""
    gives = Gives((3,), (0.5, 2.0), (1.0, 0.0), labels=(3, 0, 2))
    found = gives.real(np.array([[10, 20, 30, 40], [1, 2, 3, 4]]))
    assert found.tolist() == [[80.0, 6.0, 60.0], [8.0, 1.5, 6.0]]


def test_inputs_beyond_calibration_are_counted(rng: np.random.Generator) -> None:
    graph, x = from_model(dense(rng, node("Relu", ["l"], "y"))), floats(rng, 64, 6)
    network = quantise(graph, x).network
    network.inputs(x)
    with pytest.warns(InputWarning, match="6 of 6 input values"):
        network.inputs(np.full((1, 6), 100.0))


CHANGES: dict[str, Any] = {
    "takes shape 3, the network 6": lambda d: d["takes"].update(shape=[3]),
    "order": lambda d: d["takes"].update(order=[1]),
    "gives shape 4": lambda d: d["gives"].update(shape=[4]),
    "values, the network has 3": lambda d: d["gives"].update(labels=[0, 1, 3]),
    "a scale of 2 numbers": lambda d: d["gives"].update(scale=[1.0, 1.0]),
    "cannot be read": lambda d: d["gives"].update(tail="?"),
    "cannot be read: 'takes'": lambda d: d.pop("takes"),
    "cannot be read: .*NoneType": lambda d: d.update(gives=None),
}


@pytest.mark.parametrize("words", CHANGES)
def test_interfaces_that_do_not_fit_are_refused(words: str, rng: np.random.Generator) -> None:
    data = from_model(dense(rng, node("Softmax", ["l"], "y"))).ends.to_data()
    CHANGES[words](data)
    with pytest.raises(NetworkError, match=words):
        Interface.from_data(data, 6, 3)


def test_a_tail_does_what_tails_may(rng: np.random.Generator) -> None:
    looping = model([3], [node("Expand", [INPUT, "n"], "y")], {"n": np.array([1 << 40])})
    looping.graph.input[0].name = INPUT
    with pytest.raises(NetworkError, match="Expand"):
        Tail(looping.SerializeToString()).run(np.zeros((1, 3)))
    with pytest.raises(NetworkError, match=r"no ONNX model|inputs"):
        Tail(b"xx").run(np.zeros((1, 3)))
    with pytest.raises(NetworkError, match="bytes, expected at most"):
        Tail(bytes(1 << 21)).run(np.zeros((1, 3)))
    wrong = model([3], [node("Add", [INPUT, "n"], "y")], {"n": np.zeros(2, np.float32)})
    wrong.graph.input[0].name = INPUT
    with pytest.raises(NetworkError, match="cannot be computed"):
        Tail(wrong.SerializeToString()).run(np.zeros((1, 3)))


def test_a_graph_made_by_hand_has_its_own_shapes(rng: np.random.Generator) -> None:
    graph = from_model(dense(rng, node("Relu", ["l"], "y")))
    bare = Graph(graph.name, graph.nodes)
    wanted = Gives((3, 1, 1), (1.0,), name="m_node")
    assert bare.ends == Interface(Takes("x", (6, 1, 1)), wanted)
