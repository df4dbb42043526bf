"""Train LeNet-5, with ReLU and max pooling, on MNIST in floating point and write it as ONNX.

    pip install '.[train]'
    python scripts/train_lenet.py --data DIR --output models/lenet5.onnx

Quantisation comes after training: ``palladion quantize models/lenet5.onnx --data DIR ...``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from palladion.nn.datasets import mnist
from train_mnist import Params, fit

SHAPES = {
    "conv1": (6, 1, 5, 5),
    "conv2": (16, 6, 5, 5),
    "fc1": (120, 400),
    "fc2": (84, 120),
    "fc3": (10, 84),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's IDX files")
    parser.add_argument("--output", type=Path, required=True, help="ONNX file to write")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    train, test = mnist.load(options.data, "train"), mnist.load(options.data, "test")
    key = jax.random.key(options.seed)
    params = fit(initial(key), loss_inputs, train, options.epochs, 2e-3, jax.random.fold_in(key, 1))
    found = np.concatenate([np.argmax(logits(params, x), 1) for x in np.split(test[0], 10)])
    print(f"{np.mean(found == test[1]):.2%} of the test images")
    options.output.write_bytes(to_onnx(params).SerializeToString())


def initial(key: jax.Array) -> Params:
    params: Params = {}
    for index, (name, shape) in enumerate(SHAPES.items()):
        deviation = (2 / np.prod(shape[1:])) ** 0.5
        params[name] = deviation * jax.random.normal(jax.random.fold_in(key, index), shape)
        params[f"{name}_bias"] = jnp.zeros(shape[0])
    return params


def logits(params: Params, images: Any) -> jax.Array:
    """Logits of images with pixels of 0 to 255."""
    x = jnp.asarray(images, jnp.float32)[:, None] / 255
    for name, pads in (("conv1", 2), ("conv2", 0)):
        x = jax.lax.conv(jnp.pad(x, ((0, 0), (0, 0), (pads,) * 2, (pads,) * 2)), params[name],
                         (1, 1), "VALID")  # fmt: skip
        x = jax.nn.relu(x + params[f"{name}_bias"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(len(x), -1)
    for name in ("fc1", "fc2"):
        x = jax.nn.relu(x @ params[name].T + params[f"{name}_bias"])
    return x @ params["fc3"].T + params["fc3_bias"]


def loss_inputs(params: Params, images: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Logits, and a penalty on large weights, because they make the layer's other weights
    coarser."""
    del key
    return logits(params, images), 1e-5 * sum(jnp.sum(params[name] ** 4) for name in SHAPES)


def to_onnx(params: Params) -> onnx.ModelProto:
    nodes, value = [], "image"
    for name, pads in (("conv1", 2), ("conv2", 0)):
        inputs = [value, name, f"{name}_bias"]
        nodes += [
            helper.make_node("Conv", inputs, [f"{name}_sum"], name, pads=[pads] * 4),
            helper.make_node("Relu", [f"{name}_sum"], [f"{name}_relu"]),
            helper.make_node("MaxPool", [f"{name}_relu"], [f"{name}_pool"], f"{name}_pool",
                             kernel_shape=[2, 2], strides=[2, 2]),
        ]  # fmt: skip
        value = f"{name}_pool"
    nodes.append(helper.make_node("Flatten", [value], ["flat"]))
    value = "flat"
    for name in ("fc1", "fc2", "fc3"):
        inputs = [value, name, f"{name}_bias"]
        nodes.append(helper.make_node("Gemm", inputs, [f"{name}_sum"], name, transB=1))
        value = f"{name}_sum"
        if name != "fc3":
            nodes.append(helper.make_node("Relu", [value], [f"{name}_relu"]))
            value = f"{name}_relu"
    weights = [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in params.items()]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])
    out = helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", 10])
    graph = helper.make_graph(nodes, "lenet5", [image], [out], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


if __name__ == "__main__":
    main()
