"""Train LeNet-5 with squares for ReLU and averages for maxima, which CKKS computes, on MNIST.

Convolutions of 6 kernels 5 x 5 on an image padded by two pixels and of 16 kernels 5 x 5 x 6, each
with an activation and averages of 2 x 2; dense 400 -> 120 -> 84 -> 10. It is trained with the
activation ``x^2 / 4 + x / 2``, which is ``(x + 1)^2 / 4 - 1 / 4``. What is not the square goes into
the weights and biases beside it, so the file has a network of squares. Pixels are divided by 255,
weights are kept in bfloat16.

    pip install '.[train]'
    python scripts/train_lenet_square.py --data DIR --output models/lenet5_square.safetensors
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from palladion.nn.datasets import mnist
from train_lenet import SHAPES, initial
from train_lola import save, truncate
from train_mnist import Params

BATCH = 128
WIDE = 3.0
"""Values before an activation are drawn below this, so that squares of them stay small."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's IDX files")
    parser.add_argument("--output", type=Path, required=True, help="safetensors file to write")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    train, test = mnist.load(options.data, "train"), mnist.load(options.data, "test")
    params = initial(jax.random.key(options.seed))
    params = fit(params, train, (options.epochs, options.rate), np.random.default_rng(options.seed))
    kept = {name: truncate(weight) for name, weight in squares(params).items()}
    found, largest = [], []
    for images in np.split(test[0], 100):
        logits, before = forward(params_of(kept), images, lambda x: x * x)
        found.append(np.argmax(logits, 1))
        largest.append(max(float(jnp.abs(x).max()) for x in before))
    right = int(np.sum(np.concatenate(found) == test[1]))
    print(
        f"{right} of {len(test[1])} test images; largest value before a square {max(largest):.1f}"
    )
    save(options.output, kept)


def fit(params: Params, train: Any, plan: tuple[int, float], rng: np.random.Generator) -> Params:
    """Adam with a cosine schedule, on batches that are moved by up to two pixels."""
    images, labels = train
    (epochs, rate), steps = plan, len(labels) // BATCH
    schedule = optax.cosine_decay_schedule(rate, epochs * steps)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))
    state = optimiser.init(params)

    def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
        logits, penalty = loss_inputs(params, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean() + penalty

    @jax.jit
    def step(params: Params, state: Any, x: jax.Array, y: jax.Array) -> tuple[Params, Any, Any]:
        value, slope = jax.value_and_grad(loss)(params, x, y)
        change, state = optimiser.update(slope, state, params)
        return optax.apply_updates(params, change), state, value

    for epoch in range(epochs):
        values = []
        for chosen in rng.permutation(len(labels))[: steps * BATCH].reshape(steps, BATCH):
            x = np.roll(images[chosen], rng.integers(-2, 3, 2), axis=(1, 2))
            params, state, value = step(params, state, x, labels[chosen].astype(np.int32))
            values.append(value)
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(values):.4f}", flush=True)
    return params


def convolution(x: jax.Array, kernels: jax.Array) -> jax.Array:
    """As one product of matrices."""
    outputs, inputs, side, _ = kernels.shape
    height, width = x.shape[2] - side + 1, x.shape[3] - side + 1
    seen = [x[:, :, a : a + height, b : b + width] for a in range(side) for b in range(side)]
    of = kernels.reshape(outputs, inputs, side * side)
    return jnp.einsum("tniyx,oit->noyx", jnp.stack(seen), of)


def smooth(x: jax.Array) -> jax.Array:
    """The activation of the training."""
    return x * x / 4 + x / 2


def forward(params: Params, images: Any, activation: Any) -> tuple[jax.Array, list[jax.Array]]:
    """Logits of images with pixels of 0 to 255, and the values before each activation."""
    x = jnp.asarray(images, jnp.float32)[:, None] / 255
    before = []
    for name, pad in (("conv1", 2), ("conv2", 0)):
        x = jnp.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        x = convolution(x, params[name]) + params[f"{name}_bias"][:, None, None]
        before.append(x)
        x = activation(x)
        x = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2).mean((3, 5))
    x = x.reshape(len(x), -1)
    for name in ("fc1", "fc2"):
        x = x @ params[name].T + params[f"{name}_bias"]
        before.append(x)
        x = activation(x)
    return x @ params["fc3"].T + params["fc3_bias"], before


def loss_inputs(params: Params, images: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Logits, and a penalty on wide values."""
    logits, before = forward(params, images, smooth)
    wide = sum(jnp.mean(jnp.maximum(jnp.abs(x) - WIDE, 0) ** 2) for x in before)
    return logits, 0.1 * wide


def squares(params: Params) -> dict[str, np.ndarray[Any, Any]]:
    """The same network with squares, by the names of the file: ``conv1.weight`` and so on."""
    found, last = {}, list(SHAPES)[-1]
    for index, name in enumerate(SHAPES):
        weight, bias = np.asarray(params[name]), np.asarray(params[f"{name}_bias"])
        if index > 0:  # what comes in is (square - 1) / 4
            weight = weight / 4
            bias = bias - weight.reshape(len(bias), -1).sum(1)
        if name != last:
            bias = bias + 1
        found[f"{name}.weight"] = weight.reshape(len(bias), -1).astype(np.float32)
        found[f"{name}.bias"] = bias.astype(np.float32)
    return found


def params_of(kept: dict[str, np.ndarray[Any, Any]]) -> Params:
    """Weights of a file as those of the training."""
    found: Params = {}
    for name, shape in SHAPES.items():
        found[name] = jnp.asarray(kept[f"{name}.weight"]).reshape(shape)
        found[f"{name}_bias"] = jnp.asarray(kept[f"{name}.bias"])
    return found


if __name__ == "__main__":
    main()
