"""ONNX models made in the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[Any]
QONNX = "qonnx.custom_op.general"


def node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
    """A node with one output, named after it."""
    return helper.make_node(kind, inputs, [output], name=f"{output}_node", **attributes)


def model(
    shape: Sequence[int | str],
    nodes: Sequence[onnx.NodeProto],
    tensors: Mapping[str, Any] | None = None,
    opset: int = 20,
) -> onnx.ModelProto:
    """A model from ``x`` to ``y``."""
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    found = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    held = [numpy_helper.from_array(np.asarray(a), name) for name, a in (tensors or {}).items()]
    graph = helper.make_graph(nodes, "test", given, found, held)
    domains = {n.domain for n in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def reference(made: onnx.ModelProto, x: Array) -> Array:
    """The result of ONNX's reference implementation."""
    (found,) = ReferenceEvaluator(made).run(None, {"x": x})
    return np.asarray(found)


def floats(rng: np.random.Generator, *shape: int) -> Array:
    """Standard normal numbers, as float32."""
    return rng.normal(size=shape).astype(np.float32)
