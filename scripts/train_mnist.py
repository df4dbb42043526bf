"""Train and quantise the MNIST network of the Athena paper.

A convolution of 4 kernels 7x7 with stride 3, dense 256 -> 64, dense 64 -> 10, with ReLU between. It
is trained in floating point first. Then training is quantisation-aware, in the integer network's
own arithmetic, with the rounding noise of the encrypted loop added before each table, and a penalty
that keeps accumulators within the table.

    pip install '.[train]'
    python scripts/train_mnist.py --data DIR --output models

The network of 7 bits becomes ``models/mnist_w7a7.json``, that of ``--weights 5``
``mnist_w5a7.json``. The package carries the latter as ``python/palladion/data/mnist.json``:
models/README.md has its command.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from palladion.nn.datasets import mnist
from palladion.nn.ends.interface import Gives, Interface, Pixels, Takes
from palladion.nn.floats.plain import PlainNetwork
from palladion.nn.integers.network import Conv, Dense, Input, IntNetwork, Layer, Lut, Term

Params = dict[str, jax.Array]

ACTIVATION_MAX = 127
BATCH = 128
LAYERS = ("conv", "hidden", "last")


def main() -> None:
    options = parse()
    train = mnist.load(options.data, "train")
    test = mnist.load(options.data, "test")
    key = jax.random.key(options.seed)

    if options.start:
        params = {
            name: jnp.asarray(a) for name, a in vars(PlainNetwork.load(options.start)).items()
        }
        params["conv"] = params["conv"].reshape(4, 49)
    else:
        params = initial(jax.random.fold_in(key, 0))
        params = fit(params, plain_logits, train, options.epochs, 2e-3, jax.random.fold_in(key, 1))
    plain = plain_network(params)
    options.output.mkdir(parents=True, exist_ok=True)
    plain.save(options.output / "mnist_float.npz")
    print(f"plain: {np.mean(plain.predict(test[0]) == test[1]):.2%} of the test images")

    units = choose_units(plain, train[0])
    most = 2 ** (options.weights - 1) - 1
    forward = partial(
        integer_logits, units=units, most=most, sigma=options.sigma, bound=options.bound
    )
    params = fit(params, forward, train, options.fine_epochs, 1e-3, jax.random.fold_in(key, 2))
    network = integer_network(params, units, most, options.bound, train[0])
    report(network, train, test, options.sigma)

    file = options.output / f"mnist_w{options.weights}a7.json"
    file.write_text(network.to_json() + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's IDX files")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument("--weights", type=int, default=7, help="bits of weights")
    parser.add_argument("--bound", type=int, default=16_297, help="bound B of the hidden layers")
    parser.add_argument("--sigma", type=float, default=10.7, help="noise before each table")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--fine-epochs", type=int, default=60)
    parser.add_argument("--start", type=Path, help="plain network to start from, not trained again")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def initial(key: jax.Array) -> Params:
    shapes = {"conv": (4, 49), "hidden": (64, 256), "last": (10, 64)}
    params: Params = {}
    for index, (name, shape) in enumerate(shapes.items()):
        deviation = (2 / shape[1]) ** 0.5
        params[name] = deviation * jax.random.normal(jax.random.fold_in(key, index), shape)
        params[f"{name}_bias"] = jnp.zeros(shape[0])
    return params


def augment(images: jax.Array, key: jax.Array) -> jax.Array:
    """Small random rotations, scalings, shears and shifts of images with pixels of 0 to 255."""
    keys = jax.random.split(key, 2)
    count = len(images)
    matrix = jnp.eye(2) + 0.1 * jax.random.uniform(keys[0], (count, 2, 2), minval=-1, maxval=1)
    shift = 1.5 * jax.random.uniform(keys[1], (count, 2), minval=-1, maxval=1)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(28.0), jnp.arange(28.0), indexing="ij")) - 13.5
    at = jnp.einsum("nij,jyx->niyx", matrix, grid) + 13.5 + shift[:, :, None, None]
    sample = partial(jax.scipy.ndimage.map_coordinates, order=1, mode="constant")
    return jnp.rint(jax.vmap(lambda image, where: sample(image, list(where)))(images, at))


def windows(images: jax.Array) -> jax.Array:
    """The 64 windows of 7x7 at stride 3: shape (images, 64, 49)."""
    rows = 3 * jnp.arange(8)[:, None] + jnp.arange(7)
    taken = images[:, rows][:, :, :, rows]
    return taken.transpose(0, 1, 3, 2, 4).reshape(len(images), 64, 49)


def accumulators(params: Params, x: jax.Array, activate: Any) -> list[jax.Array]:
    """Accumulators of every layer. ``activate(index, accumulators)`` returns the next input."""
    first = windows(x) @ params["conv"].T + params["conv_bias"]
    first = first.transpose(0, 2, 1).reshape(len(x), -1)
    second = activate(0, first) @ params["hidden"].T + params["hidden_bias"]
    return [first, second, activate(1, second) @ params["last"].T + params["last_bias"]]


def plain_logits(params: Params, images: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    del key
    found = accumulators(params, images / 255, lambda _, a: jax.nn.relu(a))
    # Large preactivations cost table entries later, so they are penalised from the start.
    return found[-1], 1e-4 * sum(jnp.mean(a**2) for a in found[:2])


def choose_units(plain: PlainNetwork, images: Any) -> dict[str, float]:
    """Real value of the integer 1 in each layer's input. The largest of 10,000 activations fills
    the range."""
    found = plain.preactivations(images[:10_000])
    largest = [float(np.quantile(np.maximum(a, 0), 0.9999)) for a in found[:2]]
    return {
        "conv": 2 / 255,
        "hidden": largest[0] / ACTIVATION_MAX,
        "last": largest[1] / ACTIVATION_MAX,
    }


def weight_unit(weights: jax.Array, most: int) -> jax.Array:
    """Real value of the integer 1 in a layer's weights, the largest of which is ``most``."""
    return jnp.max(jnp.abs(weights)) / most


def multiplier(params: Params, units: dict[str, float], most: int, index: int) -> jax.Array:
    """Units of the next layer per accumulator of layer ``index``."""
    name = LAYERS[index]
    return units[name] * weight_unit(params[name], most) / units[LAYERS[index + 1]]


def straight_round(x: jax.Array) -> jax.Array:
    """Rounding with a derivative of 1 (straight-through estimator)."""
    return x + jax.lax.stop_gradient(jnp.rint(x) - x)


def to_integers(params: Params, units: dict[str, float], most: int) -> Params:
    integers: Params = {}
    for name in LAYERS:
        unit = weight_unit(params[name], most)
        integers[name] = straight_round(params[name] / unit)
        bias = params[f"{name}_bias"] / (unit * units[name])
        integers[f"{name}_bias"] = straight_round(bias)
    return integers


def integer_logits(
    params: Params,
    images: jax.Array,
    key: jax.Array,
    *,
    units: dict[str, float],
    most: int,
    sigma: float,
    bound: int,
) -> tuple[jax.Array, jax.Array]:
    """Real logits of the integer network with noise, and the penalty on large accumulators."""

    def activate(index: int, a: jax.Array) -> jax.Array:
        noise = jnp.rint(sigma * jax.random.normal(jax.random.fold_in(key, index), a.shape))
        scaled = (a + noise) * multiplier(params, units, most, index)
        return straight_round(jnp.clip(scaled, 0, ACTIVATION_MAX))

    found = accumulators(to_integers(params, units, most), jnp.floor(images / 2), activate)
    over = [jax.nn.relu(jnp.abs(a) / bound - 0.7) for a in found[:2]]
    over.append(jax.nn.relu(jnp.abs(found[2]) / 24_000 - 1))
    penalty = 100 * sum(jnp.mean(jnp.sum(a**2, axis=1)) for a in over)
    return found[-1] * weight_unit(params["last"], most) * units["last"], penalty


def fit(
    params: Params, forward: Any, train: Any, epochs: int, rate: float, key: jax.Array
) -> Params:
    """Adam with a cosine schedule on augmented images."""
    images, labels = jnp.asarray(train[0], jnp.float32), jnp.asarray(train[1], jnp.int32)
    steps = len(images) // BATCH
    optimiser = optax.adamw(optax.cosine_decay_schedule(rate, epochs * steps), weight_decay=1e-4)

    def loss(params: Params, x: jax.Array, y: jax.Array, key: jax.Array) -> jax.Array:
        logits, penalty = forward(params, x, key)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean() + penalty

    @jax.jit
    def epoch(params: Params, state: Any, key: jax.Array) -> tuple[Params, Any, jax.Array]:
        order = jax.random.permutation(key, len(images))[: steps * BATCH].reshape(steps, BATCH)

        def step(carry: Any, chosen: jax.Array) -> tuple[Any, jax.Array]:
            params, state = carry
            k = jax.random.fold_in(key, chosen[0])
            x = augment(images[chosen], jax.random.fold_in(k, 0))
            value, slope = jax.value_and_grad(loss)(
                params, x, labels[chosen], jax.random.fold_in(k, 1)
            )
            change, state = optimiser.update(slope, state, params)
            return (optax.apply_updates(params, change), state), value

        (params, state), values = jax.lax.scan(step, (params, state), order)
        return params, state, values.mean()

    state = optimiser.init(params)
    for number in range(epochs):
        params, state, value = epoch(params, state, jax.random.fold_in(key, number))
        print(f"epoch {number + 1} of {epochs}: loss {value:.4f}", file=sys.stderr)
    return params


def plain_network(params: Params) -> PlainNetwork:
    arrays = {name: np.asarray(value, np.float32) for name, value in params.items()}
    arrays["conv"] = arrays["conv"].reshape(4, 7, 7)
    return PlainNetwork(**arrays)


def integer_network(
    params: Params, units: dict[str, float], most: int, bound: int, images: Any
) -> IntNetwork:
    rounded = to_integers(params, units, most)
    integers = {name: np.asarray(jnp.rint(value), np.int64) for name, value in rounded.items()}
    maps = (
        Conv(integers["conv"].reshape(4, 1, 7, 7), stride=(3, 3)),
        Dense(integers["hidden"]),
        Dense(integers["last"]),
    )
    tables = [
        Lut.relu(bound, float(multiplier(params, units, most, index)), ACTIVATION_MAX)
        for index in (0, 1)
    ]
    scales = (
        units["hidden"],
        units["last"],
        units["last"] * float(weight_unit(params["last"], most)),
    )

    def network(logit_bound: int) -> IntNetwork:
        bounds = (bound, bound, logit_bound)
        layers = tuple(
            Layer(name, (Term(index, linear),), integers[f"{name}_bias"], bound, lut, scale)
            for index, (name, linear, bound, lut, scale) in enumerate(
                zip(LAYERS, maps, bounds, [*tables, None], scales, strict=True)
            )
        )
        # Pixels are halved: p = 2 k and p = 2 k + 1 are a quarter below and above k.
        pixels = Input((1, 28, 28), 0, ACTIVATION_MAX, units["conv"], (0.5 / 255,))
        ends = Interface(
            Takes("input", pixels.shape, pixels=Pixels()), Gives((10, 1, 1), (scales[-1],))
        )
        return IntNetwork("mnist", pixels, layers, ends)

    # The logits' bound is the largest one on the training images, plus a tenth.
    largest = network(32_767)
    logits = largest.evaluate(largest.inputs_of_pixels(images)).logits
    return network(min(32_767, int(np.abs(logits).max() * 1.1)))


def report(network: IntNetwork, train: Any, test: Any, sigma: float) -> None:
    for name, (images, labels) in (("training", train), ("test", test)):
        inputs = network.inputs_of_pixels(images)
        exact = network.evaluate(inputs)
        noisy = network.evaluate(inputs, sigma)
        print(
            f"integer: {np.mean(exact.predicted == labels):.2%}, with noise of {sigma}: "
            f"{np.mean(noisy.predicted == labels):.2%} of {len(labels)} {name} images"
        )
        for layer, found in zip(network.layers, noisy.layers, strict=True):
            print(
                f"  {layer.name}: accumulators {found.smallest} to {found.largest}, bound "
                f"{layer.bound}, outside {found.beyond_bound} of {found.values}"
            )
    for layer in network.layers:
        weights = layer.terms[0].linear.weights
        largest, deviation = int(np.abs(weights).max()), float(weights.std())
        print(f"{layer.name}: largest weight {largest}, deviation {deviation:.1f}")


if __name__ == "__main__":
    main()
