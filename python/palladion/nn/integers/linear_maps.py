"""Linear maps of an integer network, as data."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from palladion.support.records import Json

Ints = npt.NDArray[np.int64]
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


class Compared:
    """Equality of data classes with arrays among their fields."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = ((vars(self)[f.name], vars(other)[f.name]) for f in fields(self))  # type: ignore[arg-type]
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Conv(Compared):
    """Two-dimensional convolution: weights of shape (kernels, channels of a group, rows, columns).

    ``pads`` are zeros at top, left, bottom, right. Negative pads cut off.
    """

    weights: Ints
    stride: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1


@dataclass(frozen=True, eq=False)
class Dense(Compared):
    """Matrix times vector: weights of shape (outputs, inputs)."""

    weights: Ints


@dataclass(frozen=True, eq=False)
class Window(Compared):
    """One kernel over every channel alone: weights of shape (rows, columns).

    The source's channel ``c`` gives channel ``first + c`` of ``channels``. The other channels are
    0.
    """

    weights: Ints
    channels: int
    first: int = 0
    stride: Pair = (1, 1)
    pads: Pads = (0, 0, 0, 0)
    dilation: Pair = (1, 1)


Linear = Conv | Dense | Window


def linear_to(linear: Linear) -> Json:
    """A map in the form of a network's file."""
    weights = linear.weights.ravel().tolist()
    if isinstance(linear, Dense):
        outputs, inputs = linear.weights.shape
        return {"dense": {"inputs": inputs, "outputs": outputs, "weights": weights}}
    sliding = {
        "kernel": list(linear.weights.shape[-2:]),
        "stride": list(linear.stride),
        "dilation": list(linear.dilation),
        "pads": list(linear.pads),
        "weights": weights,
    }
    if isinstance(linear, Window):
        return {"window": {**sliding, "first": linear.first, "channels": linear.channels}}
    kernels, per_group = linear.weights.shape[:2]
    channels = per_group * linear.groups
    sizes = {"kernels": kernels, "channels": channels, "groups": linear.groups}
    return {"conv": {**sizes, **sliding}}


def linear_from(entry: Json) -> Linear:
    """A map from a checked file."""
    ((kind, fields),) = entry.items()
    weights = np.array(fields["weights"], dtype=np.int64)
    if kind == "dense":
        return Dense(weights.reshape(fields["outputs"], fields["inputs"]))
    stride, dilation, pads = (tuple(fields[key]) for key in ("stride", "dilation", "pads"))
    rows, columns = fields["kernel"]
    if kind == "window":
        weights = weights.reshape(rows, columns)
        return Window(weights, fields["channels"], fields["first"], stride, pads, dilation)
    shape = (fields["kernels"], fields["channels"] // fields["groups"], rows, columns)
    return Conv(weights.reshape(shape), stride, pads, dilation, fields["groups"])
