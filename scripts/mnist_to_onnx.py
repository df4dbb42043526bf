"""Write the floating-point MNIST network of ``train_mnist.py`` as an ONNX model.

    python scripts/mnist_to_onnx.py models/mnist_float.npz models/mnist.onnx

The model takes pixels divided by 255, of shape (N, 1, 28, 28).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS = ("conv", "hidden", "last")


def model(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """A convolution 7x7 at stride 3 and two dense layers, with ReLU between."""
    nodes = [
        helper.make_node(
            "Conv", ["x", "conv", "conv_bias"], ["c"], name="conv", strides=[3, 3],
            kernel_shape=[7, 7],
        ),
        helper.make_node("Relu", ["c"], ["cr"], name="conv_relu"),
        helper.make_node("Flatten", ["cr"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "hidden", "hidden_bias"], ["h"], name="hidden", transB=1),
        helper.make_node("Relu", ["h"], ["hr"], name="hidden_relu"),
        helper.make_node("Gemm", ["hr", "last", "last_bias"], ["y"], name="last", transB=1),
    ]  # fmt: skip
    tensors = []
    for name in LAYERS:
        kernel = weights[name]
        kernel = kernel.reshape(4, 1, 7, 7) if name == "conv" else kernel
        tensors.append(numpy_helper.from_array(kernel.astype(np.float32), name))
        bias = weights[f"{name}_bias"].astype(np.float32)
        tensors.append(numpy_helper.from_array(bias, f"{name}_bias"))
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 28, 28])
    logits = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])
    graph = helper.make_graph(nodes, "mnist", [image], [logits], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path, help="mnist_float.npz")
    parser.add_argument("output", type=Path, help="ONNX file to write")
    given = parser.parse_args()
    onnx.save(model(dict(np.load(given.weights))), str(given.output))


if __name__ == "__main__":
    main()
