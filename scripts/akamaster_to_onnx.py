"""Write the CIFAR-10 ResNets of akamaster/pytorch_resnet_cifar10 as float ONNX models.

python scripts/akamaster_to_onnx.py resnet20.safetensors resnet20.onnx

The weights determine the number of blocks. Batch normalisation stays, because the import folds it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PREFIX = "module."
WIDTHS = (16, 32, 64)


def read(path: Path) -> dict[str, np.ndarray]:
    """Tensors of a safetensors file: header length, JSON header, then the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, end = entry["data_offsets"]
            flat = np.frombuffer(data[start + first : start + end], dtype="<f4")
            tensors[name.removeprefix(PREFIX)] = flat.reshape(entry["shape"])
    return tensors


class Writer:
    """Nodes and tensors of the model under construction."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, onnx.TensorProto] = {}

    def tensor(self, name: str, array: np.ndarray) -> str:
        self.tensors[name] = numpy_helper.from_array(array, name)
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def convolution(self, x: str, conv: str, norm: str, stride: int) -> str:
        """Convolution and batch normalisation."""
        weight = self.tensor(f"{conv}.weight", self.weights[f"{conv}.weight"])
        y = self.node("Conv", [x, weight], conv, pads=[1] * 4, strides=[stride] * 2)
        parts = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        inputs = [y, *(self.tensor(part, self.weights[part]) for part in parts)]
        return self.node("BatchNormalization", inputs, norm, epsilon=1e-5)

    def shortcut(self, x: str, name: str, channels: int) -> str:
        """Option A: every second row and column, with the same number of zero channels on either
        side."""
        given = {"starts": [0, 0], "ends": [2**31, 2**31], "axes": [2, 3], "steps": [2, 2]}
        inputs = [self.tensor(f"{name}.{k}", np.array(v, np.int64)) for k, v in given.items()]
        y = self.node("Slice", [x, *inputs], f"{name}.slice")
        side = channels // 4
        pads = np.array([0, side, 0, 0, 0, side, 0, 0], np.int64)
        return self.node("Pad", [y, self.tensor(f"{name}.pads", pads)], f"{name}.pad")

    def block(self, x: str, name: str, channels: int, stride: int) -> str:
        y = self.convolution(x, f"{name}.conv1", f"{name}.bn1", stride)
        y = self.node("Relu", [y], f"{name}.relu1")
        y = self.convolution(y, f"{name}.conv2", f"{name}.bn2", 1)
        short = self.shortcut(x, name, channels) if stride != 1 else x
        y = self.node("Add", [y, short], f"{name}.add")
        return self.node("Relu", [y], f"{name}.relu2")


def model(weights: dict[str, np.ndarray], name: str) -> onnx.ModelProto:
    """The network with the given weights."""
    writer = Writer(weights)
    x = writer.node("Relu", [writer.convolution("x", "conv1", "bn1", 1)], "relu")
    for stage, channels in enumerate(WIDTHS, start=1):
        block = 0
        while f"layer{stage}.{block}.conv1.weight" in weights:
            stride = 2 if stage > 1 and block == 0 else 1
            x = writer.block(x, f"layer{stage}.{block}", channels, stride)
            block += 1
    x = writer.node("GlobalAveragePool", [x], "pool")
    x = writer.node("Flatten", [x], "flatten")
    parts = [writer.tensor(f"linear.{p}", weights[f"linear.{p}"]) for p in ("weight", "bias")]
    writer.node("Gemm", [x, *parts], "logits", transB=1)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 32, 32])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])
    tensors = [*writer.tensors.values()]
    graph = helper.make_graph(writer.nodes, name, [given], [logits], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="safetensors file")
    parser.add_argument("output", type=Path, help="ONNX file to write")
    given = parser.parse_args()
    onnx.save(model(read(given.weights), given.output.stem), str(given.output))


if __name__ == "__main__":
    main()
