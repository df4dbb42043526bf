"""Quantisation-aware training: the graph that is trained is the network that comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from palladion.errors import DataError, NetworkError, UsageError
from palladion.nn.importer import from_model
from palladion.nn.integers.network import IntNetwork, Ints
from palladion.nn.quantisation import Quantised, quantise
from palladion.nn.quantisation import Settings as Widths
from palladion.nn.training import Model, Settings, surrogate, train
from palladion.nn.training.augment import augment
from palladion.nn.training.precision import single_precision

from tests import naive
from tests.models import QONNX, Array, floats, model, node

SHAPE = (3, 9, 8)
IMAGE: list[int | str] = ["N", *SHAPE]
NONE: list[None] = [None] * 20


pytestmark = [pytest.mark.long, pytest.mark.usefixtures("quick_to_compile")]


@pytest.fixture(autouse=True)
def words_of_32_bits() -> Iterator[None]:
    """As inside of training: other tests may have allowed words of 64 bits."""
    with single_precision():
        yield


def made(rng: np.random.Generator) -> Any:
    """Every kind of layer: strides, groups, dilation, pads, residual, both poolings, a smooth
    function, dense."""
    tensors: dict[str, Any] = {
        "w1": floats(rng, 4, 3, 3, 3) / 5, "b1": floats(rng, 4) / 5,
        "w2": floats(rng, 4, 2, 3, 3) / 5, "w3": floats(rng, 4, 4, 3, 3) / 6,
        "w4": floats(rng, 5, 48) / 6, "w5": floats(rng, 3, 5),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w1", "b1"], "c1", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], "r1"),
        node("Conv", ["r1", "w2"], "c2", group=2, dilations=[2, 1], pads=[2, 1, 2, 1]),
        node("Add", ["c2", "r1"], "s"),
        node("HardSwish", ["s"], "h"),
        node("MaxPool", ["h"], "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "w3"], "c3", pads=[1, 1, 1, 1]),
        node("Relu", ["c3"], "r3"),
        node("AveragePool", ["r3"], "p", kernel_shape=[1, 2], strides=[1, 1]),
        node("Flatten", ["p"], "f"),
        node("Gemm", ["f", "w4"], "g", transB=1),
        node("Relu", ["g"], "r4"),
        node("Gemm", ["r4", "w5"], "y", transB=1),
    ]
    return from_model(model(IMAGE, nodes, tensors))


def residual_block(rng: np.random.Generator) -> Any:
    """Quick to compile."""
    tensors: dict[str, Any] = {
        "w1": floats(rng, 12, 3, 3, 3) / 5, "w2": floats(rng, 12, 12, 1, 1) / 4,
        "w3": floats(rng, 3, 12) / 2,
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w1"], "c1", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], "r1"),
        node("Conv", ["r1", "w2"], "c2"),
        node("Add", ["c2", "r1"], "s"),
        node("Relu", ["s"], "r2"),
        node("GlobalAveragePool", ["r2"], "p"),
        node("Flatten", ["p"], "f"),
        node("Gemm", ["f", "w3"], "y", transB=1),
    ]
    return from_model(model(IMAGE, nodes, tensors))


def small(rng: np.random.Generator) -> tuple[Model, Quantised]:
    graph = residual_block(rng)
    found = quantise(graph, floats(rng, 32, *SHAPE), Widths(weights=5, activations=5))
    return Model(found), found


@pytest.fixture(params=[True, False], ids=["per channel", "per tensor"])
def prepared(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple[Model, Quantised]:
    graph = made(rng)
    widths = Widths(weights=5, activations=5, per_channel=request.param)
    found = quantise(graph, floats(rng, 32, *SHAPE), widths)
    return Model(found), found


def accumulators(trained: Model, params: Any, inputs: Ints) -> list[Array]:
    """Of every layer, as the graph that is trained has them, of shape (N, values)."""
    images = inputs.reshape(-1, *SHAPE).astype(np.float32)
    found = jax.jit(trained.forward)(params, images, NONE, jax.random.key(0)).accumulators
    return [np.asarray(a).reshape(len(inputs), -1) for a in found]


def agree(trained: Model, params: Any, inputs: Ints) -> None:
    """The trained graph, the core's evaluator and the definition have the same integers."""
    network = IntNetwork.from_json(trained.trained(params).to_json())
    found = accumulators(trained, params, inputs)
    expected, _ = naive.evaluate(network, inputs)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(network.evaluate(inputs).logits, found[-1])


def test_forward_pass_is_the_integer_network(
    prepared: tuple[Model, Quantised], rng: np.random.Generator
) -> None:
    trained, found = prepared
    inputs = naive.encode(found.network, 3 * floats(rng, 16, *SHAPE))  # some beyond bounds
    agree(trained, trained.start, inputs)
    moved = {n: v + 0.2 * floats(rng, *v.shape) for n, v in trained.start.items()}
    agree(trained, moved, inputs)


def test_training_starts_from_the_quantised_network(prepared: tuple[Model, Quantised]) -> None:
    trained, found = prepared
    start = trained.trained(trained.start)
    for layer, given in zip(start.layers, found.network.layers, strict=True):
        assert layer.bias.tolist() == given.bias.tolist()
        for term, other in zip(layer.terms, given.terms, strict=True):
            same = np.mean(term.linear.weights == other.linear.weights)
            assert same > 0.97  # halves, and steps between two integers, may round differently
            np.testing.assert_allclose(term.linear.weights, other.linear.weights, atol=1.001 * 32)


def task(network: IntNetwork, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Images whose class is seen in the mean of a channel."""
    labels = rng.integers(0, 3, 512)
    x = floats(rng, 512, *SHAPE)
    x[np.arange(512), labels] += 1
    return naive.encode(network, x), labels


def test_training_learns_and_repeats(rng: np.random.Generator) -> None:
    trained, found = small(rng)
    inputs, labels = task(found.network, rng)
    heard: list[tuple[int, int, float]] = []
    settings = Settings(epochs=6, rate=2e-2, batch=32, sigma=3, shift=1, flip=True, seed=4)
    network = train(trained, inputs, labels, settings, progress=lambda *given: heard.append(given))
    assert [step for step, _, _ in heard] == list(range(1, 97))
    assert heard[-1][2] < heard[0][2]
    before = np.mean(found.network.evaluate(inputs).predicted == labels)
    after = network.evaluate(inputs, sigma=3)
    assert np.mean(after.predicted == labels) > max(0.8, before + 0.3)
    largest = [np.abs(t.linear.weights).max() for la in network.layers for t in la.terms]
    given = [m.most * m.steps.max() for group in found.groups for m in group.maps]
    assert all(one <= other for one, other in zip(largest, given, strict=True))
    again = train(trained, inputs, labels, settings)
    assert again.to_json() == network.to_json()


def test_imitation_needs_no_classes(rng: np.random.Generator) -> None:
    """Classes are random, so the network learns from the one that it imitates alone."""
    graph, data = residual_block(rng), floats(rng, 32, *SHAPE)
    wide, narrow = (
        quantise(graph, data, Widths(weights=w, activations=w, table_entries=entries))
        for w, entries in ((8, 65537), (4, 2049))
    )
    inputs, _ = task(narrow.network, rng)
    labels = rng.integers(0, 3, len(inputs))
    settings = Settings(epochs=8, rate=1e-3, batch=32, sigma=3, imitation=1)
    losses: list[float] = []
    imitating = train(
        Model(narrow), inputs, labels, settings, None, lambda *step: losses.append(step[-1]),
        Model(wide),
    )  # fmt: skip

    def probabilities(network: IntNetwork, sigma: float) -> Array:
        logits = network.evaluate(inputs, sigma=sigma).logits
        return np.asarray(jax.nn.softmax(logits * network.boundary.interface.gives.scale[0]))

    expected = probabilities(wide.network, 0)
    before, after = (
        np.abs(probabilities(network, 3) - expected).mean()
        for network in (narrow.network, imitating)
    )
    assert after < 0.8 * before
    assert losses[-1] < losses[0] / 4
    with pytest.raises(UsageError, match="no network to imitate"):
        train(Model(narrow), inputs, labels, settings)
    others = quantise(graph, 2 * data, Widths())
    with pytest.raises(UsageError, match="the network to imitate takes"):
        train(Model(narrow), inputs, labels, settings, imitated=Model(others))


@pytest.mark.parametrize("doubles", [False, True])
def test_words_of_64_bits_change_nothing(doubles: bool, rng: np.random.Generator) -> None:
    trained, found = small(rng)
    inputs, labels = task(found.network, rng)
    settings = Settings(epochs=1, rate=2e-2, batch=64, sigma=3, shift=1, flip=True)
    expected = train(trained, inputs, labels, settings)
    with jax.enable_x64(doubles):
        found_again = train(Model(found), inputs, labels, settings)
    assert found_again.to_json() == expected.to_json()


def test_penalty_pulls_accumulators_into_their_bound(rng: np.random.Generator) -> None:
    trained, found = small(rng)
    inputs, labels = task(found.network, rng)
    loud = np.clip(
        np.rint(1.5 * inputs).astype(np.int64), found.network.input.min, found.network.input.max
    )
    before = sum(layer.beyond_bound for layer in found.network.evaluate(loud).layers)
    settings = Settings(epochs=10, rate=2e-2, batch=32, sigma=0)
    after = train(trained, loud, labels, settings).evaluate(loud)
    assert before > 1000
    assert sum(layer.beyond_bound for layer in after.layers) < before / 100


def test_slopes_of_rounded_lines_are_the_lines() -> None:
    acc = np.arange(-4000, 4001)
    found = surrogate.slope(np.rint(np.maximum(acc / 100, 0)).astype(np.float32)) * 100
    np.testing.assert_allclose(found[acc < -500], 0, atol=1e-6)
    np.testing.assert_allclose(found[(acc > 500) & (acc < 3500)], 1, atol=0.01)


def test_slopes_add_up_to_the_function() -> None:
    acc = np.arange(-4000, 4001)
    function = 20 * np.tanh(acc / 2000)
    values = np.rint(function).astype(np.float32)
    whole = values[0] + np.cumsum(surrogate.slope(values), dtype=np.float64)
    assert np.abs(whole - function).max() < 0.6  # half a step by the table's own rounding


def test_look_up_has_the_slope_as_its_derivative(rng: np.random.Generator) -> None:
    values, slopes = floats(rng, 11), floats(rng, 11)
    at = np.array([-9, -5, 0, 3, 5, 7], np.float32)
    found, back = jax.vjp(lambda a: surrogate.look_up(values, slopes, a), at)
    places = [0, 0, 5, 8, 10, 10]
    np.testing.assert_array_equal(found, values[places])
    np.testing.assert_array_equal(back(np.full(6, 2, np.float32))[0], 2 * slopes[places])


def test_noise_is_a_rounded_gaussian() -> None:
    drawn = np.asarray(
        surrogate.draw(jnp.asarray(surrogate.noise(10.68)), jax.random.key(1), (10**6,))
    )
    assert np.array_equal(drawn, np.rint(drawn))
    # Variance of the rounding, 1/12, is added; 6 standard errors of a million draws.
    assert abs(drawn.var() / (10.68**2 + 1 / 12) - 1) < 6 * np.sqrt(2 / 10**6)
    assert abs(drawn.mean()) < 6 * 10.7 / 1000


def test_augmentation_moves_and_mirrors(rng: np.random.Generator) -> None:
    images, blank = jnp.asarray(floats(rng, 64, 2, 5, 4)), jnp.array([7.0, 9.0])
    assert np.array_equal(augment(images, blank, jax.random.key(0), shift=0, flip=False), images)
    found = np.asarray(augment(images, blank, jax.random.key(0), shift=1, flip=True))
    wide = np.stack([np.pad(images[:, c], ((0, 0), (1, 1), (1, 1)), constant_values=blank[c])
                     for c in (0, 1)], axis=1)  # fmt: skip
    seen = set()
    for one, around in zip(found, wide, strict=True):
        choices = [
            (i, j, flip)
            for i in range(3)
            for j in range(3)
            for flip in (1, -1)
            if np.allclose(one, around[:, i : i + 5, j : j + 4][..., ::flip], atol=1e-5)
        ]
        assert len(choices) == 1
        seen.add(choices[0])
    assert len(seen) > 12


def test_refusals(rng: np.random.Generator) -> None:
    trained, found = small(rng)
    inputs, labels = task(found.network, rng)
    with pytest.raises(DataError, match="labels 0 to 3, the network has the classes 0 to 2"):
        train(trained, inputs, labels + (labels == 2), Settings())
    with pytest.raises(DataError, match="at least a batch of 64"):
        train(trained, inputs[:63], labels[:63], Settings())
    for wrong in ({"epochs": 0}, {"rate": 1.0}, {"batch": 0}, {"sigma": -1.0}, {"shift": -1}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            Settings(**wrong)


def test_networks_that_cannot_be_trained(rng: np.random.Generator) -> None:
    def refused(nodes: list[Any], tensors: dict[str, Any], words: str) -> None:
        graph = from_model(model(IMAGE, nodes, tensors))
        with pytest.raises(NetworkError, match=words):
            Model(quantise(graph, floats(rng, 4, *SHAPE)))

    tensors = {"w": floats(rng, 4, 3, 9, 8), "v": floats(rng, 2, 4, 1, 1), "one": np.float32(1)}
    sign = node("BipolarQuant", ["c", "one"], "s", domain=QONNX)
    conv = node("Conv", ["x", "w"], "c")
    refused([conv, sign, node("Conv", ["s", "v"], "y")], tensors, "s_node: gives only a sign")
    refused([node("Relu", ["x"], "y")], {}, "3x9x8, expected one logit")
    refused([node("GlobalAveragePool", ["x"], "y")], {}, "nothing before it has weights")
