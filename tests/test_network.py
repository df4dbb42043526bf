"""The integer network: numpy against the definition, and against the Rust core."""

from __future__ import annotations

import json

import numpy as np
import palladion
import pytest
from palladion import IntNetwork, NetworkError, _native
from palladion.nn.network import Conv, Dense, Layer, exact_product
from palladion.nn.quantise import pixels_to_inputs, relu_table


def small(rng: np.random.Generator) -> IntNetwork:
    """A convolution with stride and padding, and two dense layers."""
    conv = Conv(rng.integers(-9, 10, (3, 2, 3, 2)), rng.integers(-9, 10, 3), 2, 1, (7, 6))
    hidden = Dense(rng.integers(-9, 10, (5, 48)), rng.integers(-9, 10, 5))
    last = Dense(rng.integers(-9, 10, (4, 5)), rng.integers(-9, 10, 4))
    layers = (
        Layer("conv", conv, 50, relu_table(50, 0.2, 15)),
        Layer("hidden", hidden, 300, relu_table(300, 0.05, 15)),
        Layer("last", last, 700, None),
    )
    return IntNetwork("small", (2, 7, 6), 15, 1 / 15, layers)


def test_a_convolution_follows_the_definition(rng: np.random.Generator) -> None:
    conv = small(rng).layers[0].linear
    assert isinstance(conv, Conv)
    images = rng.integers(0, 16, (2, 2, 7, 6))
    padded = np.zeros((2, 2, 9, 8), dtype=np.int64)
    padded[:, :, 1:8, 1:7] = images
    expected = [
        [
            int((image[:, y : y + 3, x : x + 2] * kernel).sum() + bias)
            for kernel, bias in zip(conv.weights, conv.bias, strict=True)
            for y in range(0, 7, 2)
            for x in range(0, 7, 2)
        ]
        for image in padded
    ]
    assert conv.accumulate(images.reshape(2, -1)).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_numpy_and_rust_agree_on_every_integer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = small(rng)
    image = rng.integers(0, 16, (1, 84))
    trace = network.evaluate(image)
    accumulators, outputs, predicted = _native.evaluate(network.to_json(), image[0].tolist())
    assert accumulators == [values[0].tolist() for values in trace.accumulators]
    assert outputs == [values[0].tolist() for values in trace.outputs]
    assert predicted == trace.predicted[0]


def test_numpy_and_rust_agree_on_mnist() -> None:
    network = palladion.mnist_network()
    inputs = pixels_to_inputs(palladion.mnist_sample().images[:10])
    trace = network.evaluate(inputs)
    text = network.to_json()
    for index, image in enumerate(inputs.tolist()):
        accumulators, _, predicted = _native.evaluate(text, image)
        assert accumulators == [values[index].tolist() for values in trace.accumulators]
        assert predicted == trace.predicted[index]


def test_a_table_is_relu_and_requantisation() -> None:
    table = relu_table(4, 0.5, 1)
    assert table.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]  # round(0.5) is 0: to even
    layer = Layer("x", Dense(np.zeros((1, 1), np.int64), np.zeros(1, np.int64)), 4, table)
    assert layer.apply(np.array([-9, 9])).tolist() == [0, 1]
    assert layer.overflows(np.array([-5, -4, 4, 5])) == 2


def test_noise_is_seeded_and_has_its_deviation() -> None:
    network = palladion.mnist_network()
    inputs = pixels_to_inputs(palladion.mnist_sample().images)
    exact = network.evaluate(inputs)
    noisy = network.evaluate(inputs, 10.7, np.random.default_rng(5))
    again = network.evaluate(inputs, 10.7, np.random.default_rng(5))
    assert (noisy.logits == again.logits).all()
    change = noisy.accumulators[0] - exact.accumulators[0]
    # 25,600 values: a sample variance is within 6 * sqrt(2 / 25600) = 5.3 % of the true one.
    assert change.var() == pytest.approx(10.7**2 + 1 / 12, rel=0.053)


def test_products_beyond_floating_point_stay_exact() -> None:
    a = np.array([[2**40 + 1, 1]])
    b = np.array([[2**20], [1]])
    assert exact_product(a, b).tolist() == [[2**60 + 2**20 + 1]]


def test_json_is_read_back_equal(rng: np.random.Generator) -> None:
    text = small(rng).to_json()
    assert IntNetwork.from_json(text).to_json() == text


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": "x"}'])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(NetworkError):
        IntNetwork.from_json(text)
    with pytest.raises(NetworkError):
        _native.evaluate(text, [0])


def test_a_short_table_is_refused(rng: np.random.Generator) -> None:
    data = json.loads(small(rng).to_json())
    data["layers"][1]["lut"]["values"].pop()
    for read in (IntNetwork.from_json, lambda text: _native.evaluate(text, [0] * 84)):
        with pytest.raises(NetworkError, match=r"layer hidden.*600.*601"):
            read(json.dumps(data))


def test_wrong_images_are_refused(rng: np.random.Generator) -> None:
    network = small(rng)
    with pytest.raises(NetworkError, match="84 numbers"):
        network.evaluate(np.zeros((1, 83), np.int64))
    with pytest.raises(NetworkError, match="0 to 15"):
        network.evaluate(np.full((1, 84), 16))
    with pytest.raises(NetworkError, match="84"):
        _native.evaluate(network.to_json(), [0] * 83)


def test_the_packaged_networks_are_right_on_the_sample() -> None:
    """The first 100 test images: at these accuracies one or two may be wrong."""
    sample = palladion.mnist_sample()
    integer = palladion.mnist_network().evaluate(pixels_to_inputs(sample.images)).predicted
    plain = palladion.mnist_plain().predict(sample.images)
    assert np.count_nonzero(integer == sample.labels) >= 98
    assert np.count_nonzero(plain == sample.labels) >= 98
