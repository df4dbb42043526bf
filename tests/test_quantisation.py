"""Integer networks from float graphs: exact where they can be, close elsewhere, checked naively."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from palladion import IntNetwork, Model
from palladion.errors import NetworkError, UsageError
from palladion.nn.importer import from_model
from palladion.nn.quantisation import Quantised, Settings, quantise
from palladion.nn.quantisation.plan.planner import make_unique
from palladion.nn.quantisation.rounding.scales import choose_grid, fit_grid, measure_grid_error
from palladion.nn.quantisation.settings import LIMIT, find_limit

from tests import naive
from tests.models import QONNX, Array, floats, model, node, reference
from tests.test_importer import qdq

SHAPE = (3, 9, 8)
IMAGE: list[int | str] = ["N", *SHAPE]


def noise(made: Any, data: Array, settings: Settings | None = None) -> tuple[Quantised, float]:
    """The quantised model, and its squared error over the signal's square on the data."""
    found = quantise(from_model(made), data, settings)
    wanted = reference(made, data).reshape(len(data), -1)
    logits = naive.logits(found.network, data)
    check(found, data)
    return found, float(np.mean((logits - wanted) ** 2) / np.mean(wanted**2))


def check(found: Quantised, data: Array) -> None:
    """Bounds hold on the calibration data, every layer but the last has a table."""
    network = found.network
    every, _ = naive.evaluate(network, naive.encode(network, data))
    for layer, report, acc in zip(network.layers, found.layers, every, strict=True):
        assert np.abs(acc).max() == report.largest <= layer.bound <= LIMIT
    core = network.evaluate(naive.encode(network, data))
    assert core.logits.tolist() == every[-1].tolist()


def residual_net(rng: np.random.Generator) -> Any:
    tensors: dict[str, Any] = {
        "w1": floats(rng, 8, 3, 3, 3) / 5, "w2": floats(rng, 8, 8, 3, 3) / 8,
        "w3": floats(rng, 8, 1, 3, 3) / 3, "w4": floats(rng, 5, 8) / 3, "b": floats(rng, 8) / 5,
        "gain": np.geomspace(0.2, 2, 8).astype(np.float32), "zero": np.zeros(8, np.float32),
        "one": np.ones(8, np.float32),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w1", "b"], "a", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], "r1"),
        node("Conv", ["r1", "w2"], "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "gain", "b", "zero", "one"], "n"),
        node("Add", ["n", "r1"], "s"),
        node("HardSwish", ["s"], "r2"),
        node("Conv", ["r2", "w3"], "d", group=8, strides=[2, 2]),
        node("Relu", ["d"], "r3"),
        node("GlobalAveragePool", ["r3"], "g"),
        node("Flatten", ["g"], "f"),
        node("Gemm", ["f", "w4"], "y", transB=1),
    ]
    return model(IMAGE, nodes, tensors)


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize(("bits", "largest"), [(8, 2e-3), (6, 2e-2), (4, 0.3)])
def test_residual_network(
    rng: np.random.Generator, bits: int, largest: float, per_channel: bool
) -> None:
    settings = Settings(weights=bits, activations=bits, per_channel=per_channel)
    found, error = noise(residual_net(rng), floats(rng, 64, *SHAPE), settings)
    assert error < largest
    # Conv, residual conv, depthwise conv, pooling sum, dense: sums are inside, not layers.
    assert len(found.layers) == 5
    assert len(found.network.layers[1].terms) == 2


@pytest.mark.parametrize("method", ["mse", "max", "percentile"])
def test_methods(rng: np.random.Generator, method: Any) -> None:
    _, error = noise(residual_net(rng), floats(rng, 64, *SHAPE), Settings(method=method))
    assert error < 1e-2


def integers(rng: np.random.Generator, *shape: int) -> Array:
    """Values that inputs of 8 bits hold exactly; the largest occurs."""
    found = rng.integers(-127, 128, shape).astype(np.float32)
    found[:, 0, 0, 0] = 127
    return found


POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 1]},
    {"kernel_shape": [3, 2], "strides": [1, 3], "dilations": [2, 3]},
    {"kernel_shape": [1, 5]},
    {"kernel_shape": [1, 1], "strides": [2, 2]},
    {"kernel_shape": [4, 4], "strides": [4, 4]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "relu": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "relu": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [2, 1, 0, 0], "dilations": [2, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
]


@pytest.mark.parametrize("attributes", POOLS, ids=str)
def test_maximum_is_exact(rng: np.random.Generator, attributes: dict[str, Any]) -> None:
    given = {k: v for k, v in attributes.items() if k != "relu"}
    relu = [node("Relu", ["x"], "r")] if "relu" in attributes else []
    made = model(IMAGE, [*relu, node("MaxPool", ["r" if relu else "x"], "y", **given)])
    x = integers(rng, 5, *SHAPE)
    found = quantise(from_model(made), x, Settings(activations=8))
    expected = reference(made, x).reshape(5, -1)
    np.testing.assert_allclose(naive.logits(found.network, x), expected, atol=1e-6)


def test_residuals_are_exact(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": rng.integers(-3, 4, (3, 3, 3, 3)).astype(np.float32)}
    tensors["w"][0, 0, 0, 0] = 1
    nodes = [
        node("Conv", ["x", "w"], "c", pads=[1, 1, 1, 1]),
        node("Add", ["c", "x"], "s"),
        node("Sub", ["s", "x"], "t"),
        node("Add", ["t", "x"], "y"),
    ]
    x = integers(rng, 4, *SHAPE)
    made = model(IMAGE, nodes, tensors)
    found = quantise(from_model(made), x)
    assert len(found.layers) == 1
    expected = reference(made, x).reshape(4, -1)
    np.testing.assert_allclose(naive.logits(found.network, x), expected, rtol=1e-6)


def test_bounds_leave_room_for_the_noise_of_their_samples(rng: np.random.Generator) -> None:
    settings = Settings(weights=8, activations=8, headroom=4)
    found = quantise(from_model(residual_net(rng)), floats(rng, 64, *SHAPE), settings)
    bounds = [(len(layer.terms), layer.bound) for layer in found.network.layers[:-1]]
    assert all(bound <= find_limit(terms) for terms, bound in bounds)
    assert (2, find_limit(2)) in bounds  # its noise is 1.4 times that of one sample
    assert Model(found.network).compile().facts.predicted_log2_failure <= -40


@pytest.mark.parametrize("counted", [0, 1])
def test_averages_are_exact_sums(rng: np.random.Generator, counted: int) -> None:
    given = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    made = model(IMAGE, [node("AveragePool", ["x"], "y", count_include_pad=1, **given)])
    x = integers(rng, 4, *SHAPE)
    found = quantise(from_model(made), x)
    expected = reference(made, x).reshape(4, -1)
    np.testing.assert_allclose(naive.logits(found.network, x), expected, rtol=1e-6)
    if not counted:  # other divisors at the border: a matrix, which is rounded
        made = model(IMAGE, [node("AveragePool", ["x"], "y", count_include_pad=0, **given)])
        _, error = noise(made, x)
        assert error < 1e-3


def test_concat_is_read_without_a_table(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 4, 3, 3, 3) / 5, "v": floats(rng, 4, 3, 3, 3) / 5}
    tensors["u"] = floats(rng, 2, 8, 3, 3) / 8
    nodes = [
        node("Conv", ["x", "w"], "a"),
        node("Relu", ["a"], "ra"),
        node("Conv", ["x", "v"], "b"),
        node("Tanh", ["b"], "rb"),
        node("Concat", ["ra", "rb"], "c", axis=1),
        node("Conv", ["c", "u"], "y"),
    ]
    found, error = noise(model(IMAGE, nodes, tensors), floats(rng, 64, *SHAPE))
    assert len(found.layers) == 3
    assert error < 5e-3


def test_values_read_twice_have_one_table(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 3, 3, 1, 1)}
    nodes = [
        node("Conv", ["x", "w"], "a"),
        node("Add", ["a", "x"], "s"),
        node("Conv", ["s", "w"], "b"),
        node("Relu", ["b"], "r"),
        node("Add", ["s", "r"], "y"),
    ]
    found, error = noise(model(IMAGE, nodes, tensors), floats(rng, 64, *SHAPE))
    assert [layer.name for layer in found.layers] == ["s_node", "r_node", "y_node"]
    assert error < 1e-2


def test_grids_of_qdq_models_are_kept(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {
        "s": np.float32(0.03), "z": np.int8(0), "u": np.float32(0.04),
        "w": rng.integers(-127, 128, (4, 3, 3, 3), dtype=np.int8),
        "ws": np.full(4, 0.004, np.float32), "wz": np.zeros(4, np.int8),
        "v": floats(rng, 2, 4, 1, 1),
    }  # fmt: skip
    tensors["w"][0, 0, 0, 0] = 1  # so that the step can be read off the weights
    nodes = [
        *qdq("a", "x", "s", "z"),
        node("DequantizeLinear", ["w", "ws", "wz"], "wd", axis=0),
        node("Conv", ["a", "wd"], "c"),
        node("Relu", ["c"], "e"),
        *qdq("f", "e", "u", "z"),
        node("Conv", ["f", "v"], "y"),
    ]
    made = model(IMAGE, nodes, tensors)
    x = floats(rng, 16, *SHAPE) / 20  # small, so that accumulators fit without coarsening
    found = quantise(from_model(made), x)
    first = found.network.layers[0]
    assert found.network.input.scale == pytest.approx(0.03)
    assert first.scale == pytest.approx(0.04)
    factor = first.terms[0].linear.weights[0, 0, 0, 0]
    np.testing.assert_array_equal(first.terms[0].linear.weights, tensors["w"] * factor)
    assert (found.layers[0].differing, found.layers[0].why) == (0.0, None)


def test_strict_names_the_layer_and_the_ways_out(rng: np.random.Generator) -> None:
    settings = Settings(weights=8, activations=8, limit=500)
    graph, data = from_model(residual_net(rng)), floats(rng, 16, *SHAPE)
    coarse = quantise(graph, data, settings)
    assert max(layer.coarsened for layer in coarse.layers) > 2
    assert max(layer.bound for layer in coarse.layers) <= 500
    with pytest.raises(NetworkError, match=r"layer r1_node.*limit is 500.*fewer bits.*training"):
        quantise(graph, data, Settings(weights=8, activations=8, limit=500, strict=True))


def test_names_of_layers_are_unique(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": floats(rng, 3, 3, 1, 1)}
    nodes = [
        node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "r"),
        node("Conv", ["r", "w"], "b"), node("Relu", ["b"], "s"),
        node("Conv", ["s", "w"], "y"),
    ]  # fmt: skip
    for made in nodes:
        made.name = "same"
    found = quantise(from_model(model(IMAGE, nodes, tensors)), floats(rng, 4, *SHAPE))
    assert [layer.name for layer in found.network.layers] == ["same", "same.2", "same.3"]
    assert make_unique(["a", "", "a", "a.2", "a"]) == ["a", "layer2", "a.3", "a.2", "a.4"]


PADDED: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}


@pytest.mark.parametrize("low", [-40.0, 3.0, -0.5])
@pytest.mark.parametrize("twice", [False, True])
def test_padded_maximum_of_signed_values(rng: np.random.Generator, low: float, twice: bool) -> None:
    """Padding never wins, also where all values are below 0, and where something else reads them.

    The value is that of a convolution, of a function without a least value, or of another maximum.
    """
    tensors: dict[str, Any] = {"w": floats(rng, 4, 3, 3, 3), "b": np.full(4, low, np.float32)}
    nodes = [
        node("Conv", ["x", "w", "b"], "c", pads=[1, 1, 1, 1]),
        node("LeakyRelu", ["c"], "l"),
        node("MaxPool", ["l"], "m", **PADDED),
        node("MaxPool", ["m"], "p", **PADDED, strides=[2, 2]),
        node("MaxPool", ["c"], "q", **PADDED, strides=[2, 2]),
        node("Add", ["p", "q"], "y" if not twice else "s"),
    ]
    if twice:
        nodes += [node("MaxPool", ["l"], "k", kernel_shape=[1, 1], strides=[2, 2]),
                  node("Add", ["s", "k"], "y")]  # fmt: skip
    made = model(IMAGE, nodes, tensors)
    x = floats(rng, 64, *SHAPE)
    found = quantise(from_model(made), x, Settings(activations=8, weights=8, method="max"))
    expected = reference(made, x).reshape(64, -1)
    apart = naive.logits(found.network, x) - expected
    assert np.sqrt(np.mean(apart**2)) < 0.02 * np.ptp(expected)


def test_calibration_data_are_checked(rng: np.random.Generator) -> None:
    graph = from_model(residual_net(rng))
    for bad in (np.zeros((0, *SHAPE)), np.zeros((2, 3, 9, 9)), np.full((2, *SHAPE), np.nan)):
        with pytest.raises(NetworkError, match="expected"):
            quantise(graph, bad)


@pytest.mark.parametrize(
    "wrong",
    [{"weights": 1}, {"activations": 9}, {"headroom": 0.5}, {"limit": 40_000}, {"percentile": 10}],
    ids=str,
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Settings(**wrong)


def test_small_tables_leave_room_for_the_noise_of_sums() -> None:
    small = Settings(table_entries=257)
    assert [small.limit_to_samples(samples).limit for samples in (1, 2)] == [41, 5]
    with pytest.raises(UsageError, match="tables of 257 entries leave no room for the noise"):
        small.limit_to_samples(3)
    with pytest.raises(UsageError, match="tables of 256 entries, expected 257 to 65537"):
        Settings(table_entries=256)


def test_grids_of_activations(rng: np.random.Generator) -> None:
    values = np.abs(rng.normal(size=10_000))
    values[0] = 100.0  # an outlier, which clipping gives up
    clipped = choose_grid(values[:, None], 4, Settings())
    whole = fit_grid(0.0, 100.0, 4)
    assert (clipped.lo, clipped.hi) == (0, 15)
    assert measure_grid_error(values[1:], clipped) < measure_grid_error(values[1:], whole) / 4
    signed = choose_grid(rng.normal(size=(10_000, 1)), 4, Settings())
    assert signed.hi - signed.lo == 15
    assert signed.lo < 0 < signed.hi


def test_biases_between_steps_get_a_finer_unit(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {"w": np.sign(floats(rng, 4, 3, 3, 3)), "b": floats(rng, 4)}
    x = rng.integers(-1, 2, (16, *SHAPE)).astype(np.float32)
    x[:, 0, 0, 0] = 1
    made = model(IMAGE, [node("Conv", ["x", "w", "b"], "y")], tensors)
    found, error = noise(made, x, Settings(inputs=2))
    weights = found.network.layers[0].terms[0].linear.weights
    assert set(np.abs(weights).ravel()) == {63}
    assert error < 1e-5


def test_binary_networks_are_exact(rng: np.random.Generator) -> None:
    tensors: dict[str, Any] = {
        "two": np.float32(2), "one": np.float32(1), "w": floats(rng, 4, 3, 3, 3),
        "gain": np.geomspace(1e-3, 10, 4).astype(np.float32), "b": floats(rng, 4),
        "zero": np.zeros(4, np.float32), "v": np.ones(4, np.float32), "u": floats(rng, 2, 4, 1, 1),
    }  # fmt: skip
    bipolar = {"domain": QONNX}
    nodes = [
        node("Mul", ["x", "two"], "m"),
        node("Sub", ["m", "one"], "s"),
        node("BipolarQuant", ["s", "one"], "i", **bipolar),
        node("BipolarQuant", ["w", "one"], "wq", **bipolar),
        node("Conv", ["i", "wq"], "c"),
        node("BatchNormalization", ["c", "gain", "b", "zero", "v"], "n"),
        node("BipolarQuant", ["n", "one"], "h", **bipolar),
        node("BipolarQuant", ["u", "one"], "uq", **bipolar),
        node("Conv", ["h", "uq"], "y"),
    ]
    graph = from_model(model(IMAGE, nodes, tensors))
    x = rng.integers(0, 256, (8, *SHAPE)) / np.float32(255)
    x[:, 0, 0, 0] = 1
    found = quantise(graph, x)
    logits = naive.logits(found.network, x)
    np.testing.assert_allclose(logits, graph.evaluate(x).reshape(8, -1), atol=1e-6)
    # Channels whose scales differ by 10,000 are exact, and noise of 50 units changes no sign.
    assert len(found.layers) == 2  # the sign of the input is its grid
    assert found.layers[0].differing == 0
    assert found.layers[0].distance is not None
    assert found.layers[0].distance > 50


def test_noise_is_reported_as_each_layer_has_it(rng: np.random.Generator) -> None:
    """A shortcut of another stride is a sample of its own; runs change as many outputs as said."""
    tensors = {"w": floats(rng, 3, 3, 3, 3) / 5, "v": floats(rng, 3, 3, 3, 3) / 5,
               "u": floats(rng, 3, 3, 1, 1), "d": floats(rng, 60, 4)}  # fmt: skip
    nodes = [
        node("Conv", ["x", "w"], "a", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["a"], "r"), node("Conv", ["r", "v"], "b", pads=[1, 1, 1, 1]),
        node("Conv", ["x", "u"], "c", strides=[2, 2]), node("Add", ["b", "c"], "s"),
        node("Tanh", ["s"], "t"), node("Flatten", ["t"], "f"), node("MatMul", ["f", "d"], "y"),
    ]  # fmt: skip
    data = floats(rng, 300, *SHAPE)
    found = quantise(from_model(model(IMAGE, nodes, tensors)), data)
    network = found.network
    first, second = network.sigmas()
    assert second == pytest.approx(first * 2**0.5)
    assert [layer.sigma for layer in found.layers] == [first, second, 0.0]
    inputs = network.inputs(data)
    runs = [network.evaluate(inputs, network.sigmas(), seed).layers for seed in range(8)]
    for told, *seen in zip(found.layers, *runs, strict=True):
        changed, values = (sum(getattr(s, of) for s in seen) for of in ("changed", "values"))
        assert abs(changed - told.changed * values) <= 6 * (told.changed * values) ** 0.5


def test_warnings_travel_with_the_network(rng: np.random.Generator) -> None:
    """In its file, in programs and in reports; strictness refuses them."""
    nodes = [node("Gemm", ["x", "w"], "h"), node("Relu", ["h"], "r"), node("Gemm", ["r", "v"], "y")]
    made = model(["N", 6], nodes, {"w": floats(rng, 6, 5), "v": floats(rng, 5, 2)})
    x = floats(rng, 80, 6)
    good, poor = Model.from_onnx(made, x), Model.from_onnx(made, x, weights=2, activations=2)
    assert good.network.warnings == ()
    warned = poor.network.warnings
    assert any("its error is" in warning for warning in warned)
    assert warned == poor.report().warnings
    again = Model(IntNetwork.from_json(poor.network.to_json()))
    assert again.network.warnings == again.report().warnings == warned
    program = poor.compile()
    assert program.facts.warnings == warned
    assert f"warning: {warned[0]}" in str(program.facts)
    with pytest.raises(NetworkError, match="its error is"):
        Model.from_onnx(made, x, weights=2, activations=2, strict=True)
