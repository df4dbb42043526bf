"""Train a perceptron with squares on MNIST, for the levelled mode.

784 pixels, 128 units ``z * z`` and 10 logits. The three outermost rows and columns of a picture
are not read: a query has a ciphertext for each of the other 484 pixels.

    pip install '.[train]'
    python scripts/train_mnist_squares.py --data DIR --output models/mnist_squares.onnx
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import optax
from onnx import TensorProto, helper, numpy_helper
from palladion.nn.datasets import mnist

Params = dict[str, Any]

SIDE, BORDER, UNITS, CLASSES = 28, 3, 128, 10
BATCH = 256
DROPPED = 0.15
"""Share of pixels that a step of the training does not see."""
REACH = 3.0
"""Sums beyond this are penalised: their squares would take the range of all others."""


def main() -> None:
    options = parse()
    images, labels = mnist.load(options.data, "train")
    params = fit(initial(), images / np.float32(255), labels.astype(np.int32), options.epochs)
    params["first"] = params["first"] * mask()
    images, labels = mnist.load(options.data, "test")
    found = logits(params, images.reshape(len(images), -1) / np.float32(255))
    print(f"{np.mean(np.argmax(found, axis=1) == labels):.2%} of the test images")
    onnx.save(exported(params), options.output)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's files")
    parser.add_argument("--output", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--epochs", type=int, default=30)
    return parser.parse_args()


def mask() -> Any:
    """1 for pixels that are read."""
    read = np.zeros((SIDE, SIDE), np.float32)
    read[BORDER:-BORDER, BORDER:-BORDER] = 1
    return jnp.asarray(read.ravel())


def initial() -> Params:
    first, last = jax.random.split(jax.random.key(0))
    return {
        "first": 0.05 * jax.random.normal(first, (UNITS, SIDE * SIDE)),
        "first bias": jnp.full(UNITS, 0.5),
        "last": 0.05 * jax.random.normal(last, (CLASSES, UNITS)),
        "last bias": jnp.zeros(CLASSES),
    }


def sums(params: Params, x: Any) -> Any:
    return x @ (params["first"] * mask()).T + params["first bias"]


def logits(params: Params, x: Any) -> Any:
    return sums(params, x) ** 2 @ params["last"].T + params["last bias"]


def loss(params: Params, x: Any, y: Any, key: Any) -> Any:
    x = jnp.where(jax.random.bernoulli(key, 1 - DROPPED, x.shape), x, 0)
    z = sums(params, x)
    found = z**2 @ params["last"].T + params["last bias"]
    beyond = jnp.mean(jnp.maximum(jnp.abs(z) - REACH, 0) ** 2)
    entropy = optax.softmax_cross_entropy_with_integer_labels(found, y)
    return entropy.mean() + 1e-3 * beyond


def fit(params: Params, images: Any, labels: Any, epochs: int) -> Params:
    """Train on pictures that are shifted by up to one pixel."""
    steps = len(images) * epochs // BATCH
    optimiser = optax.adamw(optax.cosine_decay_schedule(2e-3, steps), weight_decay=1e-4)
    state = optimiser.init(params)

    @jax.jit
    def step(params: Params, state: Any, x: Any, y: Any, key: Any) -> tuple[Params, Any]:
        updates, state = optimiser.update(jax.grad(loss)(params, x, y, key), state, params)
        return optax.apply_updates(params, updates), state

    rng, done = np.random.default_rng(0), 0
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            x = np.roll(images[chosen], rng.integers(-1, 2, 2), (1, 2)).reshape(BATCH, -1)
            key = jax.random.fold_in(jax.random.key(0), done)
            params, state = step(params, state, x, labels[chosen], key)
            done += 1
    return params


def exported(params: Params) -> onnx.ModelProto:
    """The network as a model that takes pixels of 0 to 255, of shape (N, 1, 28, 28)."""
    arrays = {name.replace(" ", "_"): np.asarray(array, np.float32)
              for name, array in params.items()}  # fmt: skip
    arrays["unit"] = np.float32(1 / 255)
    held = [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]
    held.append(numpy_helper.from_array(np.array([-1, SIDE * SIDE]), "flat"))
    nodes = [
        helper.make_node("Mul", ["pixels", "unit"], ["scaled"]),
        helper.make_node("Reshape", ["scaled", "flat"], ["x"]),
        helper.make_node("Gemm", ["x", "first", "first_bias"], ["z"], "first", transB=1),
        helper.make_node("Mul", ["z", "z"], ["squares"], "squares"),
        helper.make_node("Gemm", ["squares", "last", "last_bias"], ["logits"], "last", transB=1),
    ]
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["N", 1, SIDE, SIDE])
    found = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])
    graph = helper.make_graph(nodes, "mnist_squares", [pixels], [found], held)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made)
    return made


if __name__ == "__main__":
    main()
