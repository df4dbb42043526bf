"""The model's input, and the arrangements in which a network may take it.

The model says which axis comes first, but not which axis has the channels: (N, C, H, W) or (N, H,
W, C), (N, C, L) or (N, H, W). Each arrangement is tried. The right one is that in which no element
has to be moved later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto

from palladion.errors import NetworkError
from palladion.nn.ends.interface import Takes
from palladion.nn.floats.expression import Grid
from palladion.nn.floats.graph import Input, Shape
from palladion.nn.importer.context import Array, Builder, Value, in_order

KINDS: Final[dict[int, str]] = {
    **dict.fromkeys((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE), "f"),
    **dict.fromkeys((TensorProto.INT8, TensorProto.INT16), "i"),
    **dict.fromkeys((TensorProto.INT32, TensorProto.INT64), "i"),
    **dict.fromkeys((TensorProto.UINT8, TensorProto.UINT16), "u"),
    **dict.fromkeys((TensorProto.UINT32, TensorProto.UINT64), "u"),
    TensorProto.BFLOAT16: "f",
    TensorProto.BOOL: "b",
}  # fmt: skip
"""Types of inputs, and numpy's letters for them."""


@dataclass(frozen=True)
class Arrangement:
    """An input node of ``shape`` whose values are the model's axes (without N) in ``order``."""

    order: tuple[int, ...]
    shape: Shape

    def labels(self, sides: Sequence[int]) -> Array:
        """The places in the node of the elements of the model's tensor."""
        turned = in_order(tuple(sides[axis] for axis in self.order))
        found: Array = turned.transpose(np.argsort(self.order)) if self.order else turned
        return found.reshape(tuple(sides))


@dataclass(frozen=True)
class Source:
    """The model's input: its name, its batch (1 if open), its other sides, and the element kind."""

    name: str
    batch: int
    sides: tuple[int, ...]
    kind: str

    def arrangements(self) -> list[Arrangement]:
        """The arrangements to try, in order."""
        sides, rank = self.sides, len(self.sides)
        own = tuple(range(rank))
        last = (rank - 1, *range(rank - 1))
        if rank < 2:
            # Features are channels; a model that makes the channel itself has them in a row.
            return [Arrangement(own, shape) for shape in ((prod(sides), 1, 1), (1, 1, prod(sides)))]
        if rank == 2:
            return [
                Arrangement(own, (1, sides[0], sides[1])),
                Arrangement(own, (sides[0], 1, sides[1])),
                Arrangement(last, (sides[1], 1, sides[0])),
            ]
        return [
            Arrangement(own, (sides[0], prod(sides[1:-1]), sides[-1])),
            Arrangement(last, (sides[-1], prod(sides[:-2]), sides[-2])),
        ]

    def add(self, builder: Builder, arranged: Arrangement) -> Takes:
        """Add the input node and the model's tensor to a new graph. Returns the input that the
        model takes."""
        builder.batch = self.batch
        channels = arranged.shape[0]
        grid = Grid(1.0, 0, 1) if self.kind == "b" else None  # truth values are exact
        builder.add(
            Input(self.name, (), arranged.shape, np.zeros(channels), np.ones(channels), grid)
        )
        builder.tensors[self.name] = Value(0, arranged.labels(self.sides), kind=self.kind)
        own = arranged.order == tuple(range(len(self.sides)))
        return Takes(self.name, self.sides, () if own else arranged.order)


def source(entries: Sequence[onnx.ValueInfoProto]) -> Source:
    """The only input of a model.

    Raises
    ------
    NetworkError
        If there is no input, more than one, or one that is no tensor of numbers of a known shape.
    """
    if not entries:
        raise NetworkError("the model has no input: everything in it is constant")
    if len(entries) > 1:
        names = ", ".join(entry.name for entry in entries)
        raise NetworkError(
            f"the model has {len(entries)} inputs ({names}), supported is one: make the others "
            "constants of the model, or join all into one tensor that the model cuts up with Slice"
        )
    (entry,) = entries
    kind = entry.type.WhichOneof("value")
    if kind != "tensor_type":
        raise NetworkError(f"input {entry.name} is a {str(kind).removesuffix('_type')}, supported "
                           "are tensors of numbers")  # fmt: skip
    tensor = entry.type.tensor_type
    if tensor.elem_type not in KINDS:
        word = TensorProto.DataType.Name(tensor.elem_type).lower()
        raise NetworkError(f"input {entry.name} is of type {word}, supported are numbers of "
                           "floating point, integers and truth values")  # fmt: skip
    sides = [side.dim_value if side.HasField("dim_value") else 0 for side in tensor.shape.dim]
    if not sides or min(sides[1:], default=1) < 1 or not tensor.HasField("shape"):
        shown = ", ".join(
            side.dim_param or (str(side.dim_value) if side.HasField("dim_value") else "?")
            for side in tensor.shape.dim
        )
        raise NetworkError(
            f"input {entry.name} has shape ({shown}), supported are shapes with a first axis N "
            "for the images, open or not, and fixed other sides, as (N, C, H, W), (N, C, L) and "
            "(N, features): export the model with these sides fixed"
        )
    return Source(entry.name, max(sides[0], 1), tuple(sides[1:]), KINDS[tensor.elem_type])
