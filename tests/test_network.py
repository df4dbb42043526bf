"""The integer network: the Rust core against the definition, files, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import palladion
import pytest
from palladion import InputWarning, IntNetwork, NetworkError, StoppedError
from palladion.nn.datasets.calibration import Normalisation, of_pictures
from palladion.nn.integers.network import FORMAT, Conv, Dense, Input, Layer, Lut, Term, Window

from tests import naive


def small(rng: np.random.Generator) -> IntNetwork:
    """A residual block with a grouped, dilated and cut convolution, a window, and a dense layer."""

    def numbers(*shape: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return rng.integers(-9, 10, shape)

    first = Conv(numbers(4, 1, 3, 2), (2, 1), (1, 1, 1, 0), groups=2)
    second = Conv(numbers(6, 4, 2, 2), (1, 2), (-1, 1, 2, 0), dilation=(2, 1))
    shortcut = Window(np.array([[1], [2]]), 6, 1, (1, 2), (0, 0, 0, -1))
    last = Dense(numbers(4, 54))
    layers = (
        Layer("first", (Term(0, first),), numbers(4), 90, Lut.relu(90, 0.1, 15), 0.5),
        Layer(
            "block",
            (Term(1, second), Term(1, shortcut)),
            numbers(6),
            300,
            Lut(np.array([-300, -7, 50]), np.array([-3, 4, 9])),
            0.25,
        ),
        Layer("last", (Term(2, last),), numbers(4), 700, None, 2.0),
    )
    return IntNetwork("small", Input((2, 7, 6), -7, 15, 1 / 15, (0.1, 0.2), (1.0, 0.5)), layers)


def images(rng: np.random.Generator, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return rng.integers(-7, 16, (count, 84))


@pytest.mark.parametrize("seed", range(20))
def test_the_core_agrees_with_the_definition_on_every_integer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = small(rng)
    batch = images(rng, 3)
    found = network.evaluate(batch)
    accumulators, outputs = naive.evaluate(network, batch)
    for index, image in enumerate(batch):
        trace = network.trace(image)
        for of_core, expected in ((trace.accumulators, accumulators), (trace.outputs, outputs)):
            assert [a.tolist() for a in of_core] == [a[index].tolist() for a in expected]
        assert trace.predicted == int(np.argmax(trace.logits)) == found.predicted[index]
        assert found.logits[index].tolist() == accumulators[-1][index].tolist()


def test_a_batch_counts_what_its_images_do(rng: np.random.Generator) -> None:
    network = small(rng)
    batch = images(rng, 30)
    every, _ = naive.evaluate(network, batch)
    rows = zip(network.layers, network.evaluate(batch).layers, every, strict=True)
    for layer, found, accumulators in rows:
        assert found.name == layer.name
        assert (found.smallest, found.largest) == (accumulators.min(), accumulators.max())
        assert found.largest_accumulator == np.abs(accumulators).max()
        assert found.beyond_bound == np.count_nonzero(np.abs(accumulators) > layer.bound)
        assert found.values == accumulators.size
        assert (found.changed, found.largest_change) == (0, 0)


def test_the_core_agrees_with_the_definition_on_mnist() -> None:
    network = palladion.mnist_network()
    inputs = network.inputs_of_pixels(palladion.mnist_sample().images[:5])
    expected, _ = naive.evaluate(network, inputs)
    for index, image in enumerate(inputs):
        found = network.trace(image).accumulators
        assert [a.tolist() for a in found] == [a[index].tolist() for a in expected]


def test_numbers_become_integers_by_the_rule(rng: np.random.Generator) -> None:
    network = small(rng)
    given = network.input
    mean, std = (np.array(values)[:, None, None] for values in (given.mean, given.std))
    wanted = rng.integers(given.min, given.max + 1, (3, *given.shape))
    x = wanted * given.scale * std + mean + rng.uniform(-0.49, 0.49, wanted.shape) * std / 15
    assert network.inputs(x).tolist() == wanted.reshape(3, -1).tolist()
    with pytest.raises(NetworkError, match=r"2x7x6, expected.*Nx2x7x6.*None"):
        network.inputs(np.zeros((2, 7, 6)))
    with pytest.raises(NetworkError, match="finite"):
        network.inputs(np.full((1, 2, 7, 6), np.nan))
    with pytest.raises(NetworkError, match="type <U1, expected real numbers"):
        network.inputs(np.full((1, 2, 7, 6), "a"))


def test_numbers_beyond_the_range_are_clipped_and_counted(rng: np.random.Generator) -> None:
    network = small(rng)
    x = np.zeros((2, 2, 7, 6))
    x[1, 1, 0, :3] = 0.9, -4.0, 1e9  # the channel's range is -1/30 to 0.7
    with pytest.warns(
        InputWarning, match=r"3 of 168 .*farthest is 1e\+09, expected -0.03333 to 0.7"
    ):
        found = network.inputs(x)
    assert found[1, 42:45].tolist() == [15, -7, 15]


def test_pixels_are_what_the_model_is_told(rng: np.random.Generator) -> None:
    network = small(rng)
    pixels = rng.integers(0, 256, (3, *network.input.shape)).astype(np.uint8)
    with pytest.raises(NetworkError, match="not known what pixels are"):
        network.inputs_of_pixels(pixels)
    told = of_pictures(network, Normalisation((0.5, 0.25), (2.0, 1.5)))
    mean, std = np.array([0.5, 0.25])[:, None, None], np.array([2.0, 1.5])[:, None, None]
    real = (pixels / 255 - mean) / std
    with pytest.warns(InputWarning):
        assert told.inputs_of_pixels(pixels).tolist() == network.inputs(real).tolist()
    with pytest.raises(NetworkError, match="bytes"):
        told.inputs(pixels)
    with pytest.raises(NetworkError, match=r"3x83.*expected Nx2x7x6"):
        told.inputs_of_pixels(np.zeros((3, 83), np.uint8))


def test_a_former_file_is_read_with_its_own_meaning(rng: np.random.Generator) -> None:
    network = small(rng)
    text = network.to_json().replace(FORMAT, "palladion-int-network/2")
    former = IntNetwork.from_json(text)
    pixels = rng.integers(0, 256, (3, *network.input.shape)).astype(np.uint8)
    mean, std = (np.array(part)[:, None, None] for part in network.input.normalisation())
    real = (pixels / 255 - mean) / std
    expected = np.clip(np.rint(real * 15), -7, 15).reshape(3, -1)
    with pytest.warns(InputWarning):
        assert former.inputs_of_pixels(pixels).tolist() == expected.tolist()
    assert former.layers[0].bias.tolist() == network.layers[0].bias.tolist()


def test_shapes_of_layers(rng: np.random.Generator) -> None:
    assert small(rng).shapes == [(4, 4, 6), (6, 3, 3), (4, 1, 1)]


def test_the_packaged_network_halves_pixels() -> None:
    pixels = np.resize(np.arange(256, dtype=np.uint8), (1, 28, 28))
    assert (palladion.mnist_network().inputs_of_pixels(pixels) == pixels.reshape(1, -1) >> 1).all()


def test_a_table_is_relu_and_requantisation() -> None:
    table = Lut.relu(4, 0.5, 1)
    assert (table.starts.tolist(), table.values.tolist()) == ([-4, 2], [0, 1])  # halves to even


def test_noise_is_seeded_and_changes_outputs() -> None:
    network = palladion.mnist_network()
    inputs = network.inputs_of_pixels(palladion.mnist_sample().images)
    exact = network.evaluate(inputs)
    noisy = network.evaluate(inputs, 10.7, seed=5)
    again = network.evaluate(inputs, 10.7, seed=5)
    assert (noisy.logits == again.logits).all()
    assert noisy.layers == again.layers
    assert (noisy.logits != network.evaluate(inputs, 10.7, seed=6).logits).any()
    assert (network.evaluate(inputs, 0.0).logits == exact.logits).all()
    for layer in noisy.layers[:-1]:
        assert 0 < layer.changed < layer.values / 2
        assert layer.largest_change <= 2
    assert noisy.layers[-1].changed == 0


def test_each_layer_has_noise_of_its_own(rng: np.random.Generator) -> None:
    network = small(rng)
    # The block's shortcut moves as the convolution does, and both read one layer: one sample.
    assert network.sigmas(2.0) == (2.0, 2.0)
    first, block, last = network.layers
    other = replace(block.terms[1], source=0, linear=Window(np.array([[1]]), 6, 2, (3, 2)))
    apart = replace(network, layers=(first, replace(block, terms=(block.terms[0], other)), last))
    # A window of another stride on two of six channels: a second sample in a third of the values.
    assert apart.sigmas(3.0) == pytest.approx((3.0, 3.0 * (4 / 3) ** 0.5))
    inputs = images(rng, 200)
    exact = network.evaluate(inputs)
    assert (network.evaluate(inputs, (0.0, 0.0)).logits == exact.logits).all()
    only_second = network.evaluate(inputs, (0.0, 40.0), seed=1)
    assert [layer.changed > 0 for layer in only_second.layers] == [False, True, False]
    for wrong in ((1.0,), (1.0, 1.0, 1.0)):
        with pytest.raises(NetworkError, match="sigma_per_layer"):
            network.evaluate(inputs, wrong)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ZeroDivisionError])
def test_what_progress_raises_stops_the_evaluation(
    rng: np.random.Generator, raised: type[BaseException]
) -> None:
    def progress(_done: int) -> None:
        raise raised

    with pytest.raises(raised):
        small(rng).evaluate(images(rng, 50), progress=progress)
    with pytest.raises(StoppedError):
        small(rng).evaluate(images(rng, 50), progress=lambda _: False)


def test_progress_counts_images(rng: np.random.Generator) -> None:
    heard: list[int] = []
    small(rng).evaluate(images(rng, 50), progress=heard.append)
    assert min(heard) == 0
    assert max(heard) < 50


def test_json_is_read_back_equal(rng: np.random.Generator) -> None:
    text = small(rng).to_json()
    network = IntNetwork.from_json(text)
    assert network.to_json() == text
    assert network == IntNetwork.from_json(text)
    last = network.layers[-1]
    others = (replace(last, bias=last.bias + 1), replace(last, name="other"))
    for other in others:
        assert network != replace(network, layers=(*network.layers[:-1], other))
    assert network.layers[0] != network.layers[1]
    image = images(rng, 1)
    assert (network.evaluate(image).logits == small_logits(text, image)).all()


def small_logits(text: str, image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return naive.evaluate(IntNetwork.from_json(text), image)[0][-1]


def test_what_may_be_left_out_may_be_left_out(rng: np.random.Generator) -> None:
    data = json.loads(small(rng).to_json())
    del data["input"]["mean"], data["input"]["std"], data["layers"][2]["lut"]
    network = IntNetwork.from_json(json.dumps(data))
    assert (network.input.mean, network.input.std, network.layers[2].lut) == ((), (), None)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": "x"}'])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(NetworkError):
        IntNetwork.from_json(text)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format="palladion-int-network/1"), "network/1.*expected.*network/3"),
        (lambda d: d["layers"][1]["lut"]["values"].pop(), "layer block.*2 entries, expected 3"),
        (lambda d: d["layers"][1]["terms"][1].update(source=2), "block, term 2.*is 2.*0 to 1"),
        (lambda d: d["layers"].pop(), "layer block: the last layer has a table"),
        (lambda d: d["input"]["mean"].pop(), "input: mean has 1 entries, expected 2"),
        (lambda d: d["layers"][0].update(extra=1), "unknown field `extra`"),
    ],
    ids=["version", "short table", "later source", "last table", "mean", "unknown field"],
)
def test_wrong_networks_are_refused(rng: np.random.Generator, change: Change, words: str) -> None:
    data = json.loads(small(rng).to_json())
    change(data)
    with pytest.raises(NetworkError, match=words):
        IntNetwork.from_json(json.dumps(data))


def test_wrong_images_are_refused(rng: np.random.Generator) -> None:
    network = small(rng)
    with pytest.raises(NetworkError, match="84 numbers"):
        network.evaluate(np.zeros((1, 83), np.int64))
    with pytest.raises(NetworkError, match="-7 to 15"):
        network.evaluate(np.full((1, 84), 16))
    with pytest.raises(NetworkError, match="-7 to 15"):
        network.trace(np.full(84, 70_000))
    with pytest.raises(NetworkError, match="sigma"):
        network.evaluate(images(rng, 1), -1.0)


def test_a_network_made_wrong_is_refused_when_evaluated(rng: np.random.Generator) -> None:
    good = small(rng)
    wrong = IntNetwork("wrong", good.input, good.layers[:2])
    with pytest.raises(NetworkError, match="layer block: the last layer has a table"):
        wrong.evaluate(images(rng, 1))


def test_the_packaged_networks_are_right_on_the_sample() -> None:
    """The first 100 test images: at these accuracies one or two may be wrong."""
    sample = palladion.mnist_sample()
    network = palladion.mnist_network()
    integer = network.evaluate(network.inputs_of_pixels(sample.images)).predicted
    plain = palladion.mnist_plain().predict(sample.images)
    assert np.count_nonzero(integer == sample.labels) >= 98
    assert np.count_nonzero(plain == sample.labels) >= 98
