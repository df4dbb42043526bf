"""Integer networks as ONNX models that other tools can run, and back.

Weights, biases and tables are integer initialisers. A linear map is ``Conv`` or ``MatMul`` on
floats that hold integers, since no runtime has these operators for all integers. Every sum of a
layer fits the mantissa of its type: float32 up to 2^24, else float64. No sum is ever rounded.
Between maps all values are integers. The network's own JSON is in ``metadata_props``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import numpy as np

from palladion.errors import NetworkError
from palladion.nn.integers.linear_maps import Conv, Dense, Ints, Linear, Pads, Window
from palladion.nn.integers.network import IntNetwork, Layer, Lut
from palladion.support.extras import missing

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    from palladion.nn.importer import onnx_file
except ModuleNotFoundError as error:
    raise missing(error, "an ONNX model", "onnx") from error

__all__ = ["is_ours", "network_json", "to_onnx"]

NETWORK: Final = "palladion-int-network"
DIGEST: Final = "palladion-graph-sha256"
OPSET, IR_VERSION = 17, 8
EXACT: Final = ((TensorProto.FLOAT, 2**24), (TensorProto.DOUBLE, 2**53))
Shape = tuple[int, int, int]


def to_onnx(network: IntNetwork) -> onnx.ModelProto:
    """The network as a model: int32 of shape (batch, C, H, W) to int64 logits (batch, classes).

    It computes the integers of ``IntNetwork.evaluate``, also beyond the bound of a table. It does
    not check that inputs are within the network's range.

    Raises
    ------
    NetworkError
        If accumulators of a layer could exceed 2^53.
    """
    graph = _Graph(network).build()
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    model.producer_name = "palladion"
    helper.set_model_props(model, {NETWORK: network.to_json(), DIGEST: _digest(graph)})
    return model


def is_ours(path: Path) -> bool:
    """True if a file is a model that :func:`to_onnx` made."""
    return path.suffix.lower() == ".onnx" and NETWORK in _properties(onnx_file.read(path))


def network_json(path: Path) -> str:
    """The integer network in a model that :func:`to_onnx` made.

    Raises
    ------
    NetworkError
        If the file is not such a model, or if its graph was changed later.
    """
    model = onnx_file.read(path)
    known = _properties(model)
    if NETWORK not in known:
        raise NetworkError(
            f"{path} holds no integer network, expected a model that `palladion export` wrote: "
            "`palladion quantize`, or Model.from_onnx, makes an integer network of another one"
        )
    if known.get(DIGEST) != _digest(model.graph):
        raise NetworkError(
            f"the graph of {path} is not the one that `palladion export` wrote: the integer "
            "network beside it would give other results"
        )
    return known[NETWORK]


def _properties(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def _digest(graph: onnx.GraphProto) -> str:
    """Digest of nodes and initialisers, which determine the computation of a model."""
    digest = hashlib.sha256()
    for part in (*graph.node, *graph.initializer):
        digest.update(part.SerializeToString(deterministic=True))
    return digest.hexdigest()


class _Graph:
    """Nodes and initialisers of one network, layer by layer."""

    def __init__(self, network: IntNetwork) -> None:
        self.network = network
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.floats: dict[tuple[str, int], str] = {}  # sources that are cast already, by type

    def build(self) -> onnx.GraphProto:
        network = self.network
        given = network.input
        outputs = ["input"]
        shapes = [given.shape, *network.shapes]
        largest = [max(abs(given.min), abs(given.max))]
        for layer in network.layers:
            outputs.append(self.layer(layer, outputs, shapes, largest))
            largest.append(0 if layer.lut is None else int(np.abs(layer.lut.values).max()))
        self.add("Flatten", [outputs[-1]], "logits", axis=1)
        classes = int(np.prod(shapes[-1]))
        return helper.make_graph(
            self.nodes,
            network.name,
            [helper.make_tensor_value_info("input", TensorProto.INT32, ["batch", *given.shape])],
            [helper.make_tensor_value_info("logits", TensorProto.INT64, ["batch", classes])],
            self.tensors,
        )

    def layer(
        self, layer: Layer, outputs: list[str], shapes: list[Shape], largest: list[int]
    ) -> str:
        """Add the sums in int64, then the table."""
        sums = []
        for index, term in enumerate(layer.terms):
            name = f"{layer.name}/term{index}" if len(layer.terms) > 1 else f"{layer.name}/map"
            kind = self.exact_type(layer, _reach(term.linear) * largest[term.source])
            source = self.cast(outputs[term.source], kind)
            made = self.linear(term.linear, (source, shapes[term.source]), name, kind)
            sums.append(self.add("Cast", [made], f"{name}/sum", to=TensorProto.INT64))
        if layer.product is not None:
            factors = [outputs[source] for source in layer.product]
            wide = [self.wide(factor) for factor in factors]
            sums.append(self.add("Mul", wide, f"{layer.name}/product"))
        bias = self.tensor(f"{layer.name}/bias", layer.bias[:, None, None])
        sums.append(self.add("Cast", [bias], f"{layer.name}/bias64", to=TensorProto.INT64))
        total = sums[0]
        for index, part in enumerate(sums[1:]):
            total = self.add("Add", [total, part], f"{layer.name}/sum{index}")
        return total if layer.lut is None else self.table(layer.name, layer.lut, layer.bound, total)

    def table(self, name: str, lut: Lut, bound: int, sums: str) -> str:
        """Add the table as a list of values. Its index is the sum plus the bound, clipped."""
        lengths = np.diff(np.append(lut.starts, bound + 1))
        values = self.tensor(f"{name}/table", np.repeat(lut.values, lengths))
        ends = [self.int64(f"{name}/least", -bound), self.int64(f"{name}/most", bound)]
        clipped = self.add("Clip", [sums, *ends], f"{name}/clipped")
        index = self.add("Add", [clipped, ends[1]], f"{name}/index")
        return self.add("Gather", [values, index], name, axis=0)

    def linear(self, linear: Linear, source: tuple[str, Shape], name: str, kind: int) -> str:
        """Add one linear map of a source, given by name and shape."""
        given, (channels, _, _) = source
        if isinstance(linear, Dense):
            weights = self.weights(name, linear.weights.T, kind)
            flat = self.add("Flatten", [given], f"{name}/flat", axis=1)
            product = self.add("MatMul", [flat, weights], f"{name}/product")
            axes = self.int64(f"{name}/axes", [2, 3])
            return self.add("Unsqueeze", [product, axes], name)
        if isinstance(linear, Conv):
            return self.convolution(linear, given, (linear.weights, linear.groups), name, kind)
        taps = np.broadcast_to(linear.weights, (channels, 1, *linear.weights.shape))
        made = self.convolution(linear, given, (taps, channels), name, kind)
        after = linear.channels - linear.first - channels
        if linear.first == after == 0:
            return made
        pads = self.int64(f"{name}/channels", [0, linear.first, 0, 0, 0, after, 0, 0])
        return self.add("Pad", [made, pads], f"{name}/placed")

    def convolution(
        self, map_: Conv | Window, given: str, kernels: tuple[Ints, int], name: str, kind: int
    ) -> str:
        """Add ``Conv``. It takes no negative pads, so these are cut off before."""
        (weights, groups), pads = kernels, map_.pads
        if min(pads) < 0:
            given, pads = self.fit(given, pads, name), (0, 0, 0, 0)
        return self.add(
            "Conv",
            [given, self.weights(name, weights, kind)],
            name,
            kernel_shape=weights.shape[-2:],
            strides=map_.stride,
            dilations=map_.dilation,
            group=groups,
            pads=pads,
        )

    def fit(self, given: str, pads: Pads, name: str) -> str:
        """Add zeros to a source, then cut off rows and columns."""
        if max(pads) > 0:
            top, left, bottom, right = (max(pad, 0) for pad in pads)
            zeros = self.int64(f"{name}/pads", [0, 0, top, left, 0, 0, bottom, right])
            given = self.add("Pad", [given, zeros], f"{name}/padded")
        top, left, bottom, right = (min(pad, 0) for pad in pads)
        end = np.iinfo(np.int64).max
        starts = self.int64(f"{name}/starts", [-top, -left])
        ends = self.int64(f"{name}/ends", [bottom or end, right or end])
        axes = self.int64(f"{name}/cut_axes", [2, 3])
        return self.add("Slice", [given, starts, ends, axes], f"{name}/cut")

    def weights(self, name: str, weights: Ints, kind: int) -> str:
        held = self.tensor(f"{name}/weights", weights)
        return self.add("Cast", [held], f"{name}/weights_float", to=kind)

    def cast(self, source: str, kind: int) -> str:
        """Cast a source to floats, once for all maps that read it."""
        if (source, kind) not in self.floats:
            name = f"{source}/float{32 if kind == TensorProto.FLOAT else 64}"
            self.floats[source, kind] = self.add("Cast", [source], name, to=kind)
        return self.floats[source, kind]

    def wide(self, source: str) -> str:
        """Cast a table's output to int64, once for all products that take it."""
        if (source, TensorProto.INT64) not in self.floats:
            made = self.add("Cast", [source], f"{source}/int64", to=TensorProto.INT64)
            self.floats[source, TensorProto.INT64] = made
        return self.floats[source, TensorProto.INT64]

    @staticmethod
    def exact_type(layer: Layer, reach: int) -> int:
        """The float type that holds every partial sum exactly."""
        for kind, limit in EXACT:
            if reach <= limit:
                return kind
        raise NetworkError(f"layer {layer.name}: sums of up to {reach}, expected at most 2^53")

    def tensor(self, name: str, values: Ints) -> str:
        """Add an initialiser of the narrowest type of int8, int16 and int32."""
        least, most = int(values.min()), int(values.max())
        for kind in (np.int8, np.int16, np.int32):
            if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
                break
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values, kind), name))
        return name

    def int64(self, name: str, values: int | list[int]) -> str:
        self.tensors.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(
        self,
        kind: str,
        inputs: list[str],
        output: str,
        **attributes: Any,
    ) -> str:
        """Add a node with one output that has the node's name."""
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output


def _reach(linear: Linear) -> int:
    """The largest sum of absolute weights of one output."""
    weights = np.abs(linear.weights)
    per_output = weights.reshape(1 if isinstance(linear, Window) else len(weights), -1)
    return int(per_output.sum(axis=1).max())
