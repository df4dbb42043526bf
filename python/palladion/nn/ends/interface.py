"""A model's inputs and outputs in its own shapes and units: both ends of an integer network.

A network computes on integers of shape (channels, rows, columns). Its interface describes how
arrays of the *model* become these integers, and how the resulting integers become the model's
outputs. The interface is stored in the network's file and in programs, so that a client needs
nothing else.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from math import prod
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from palladion.errors import DataError, NetworkError
from palladion.nn.datasets.tabular import dense
from palladion.nn.ends.head import Head
from palladion.nn.ends.tail import Tail
from palladion.support.masks import masked
from palladion.support.records import Json
from palladion.support.text import times

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def array_of(given: npt.ArrayLike, what: str = "inputs") -> Array:
    """A user's argument as an array.

    Raises
    ------
    DataError
        If rows have different lengths, values are masked, or a column of a table has no numbers.
    """
    if count := masked(given):
        raise DataError(f"{what} with {count} masked values, which are missing ones: fill them "
                        "(x.filled(..)), or leave these inputs out")  # fmt: skip
    try:
        return np.asarray(dense(given, what))
    except ValueError as error:
        raise DataError(f"{what} are no array, {error}; expected rows of one length") from error


@dataclass(frozen=True)
class Clipped:
    """Numbers beyond the range of the integers: their count, the total count, and the farthest
    number, whose channel has the range ``span``."""

    count: int
    total: int
    farthest: float = 0.0
    span: tuple[float, float] = (0.0, 0.0)

    def __str__(self) -> str:
        low, high = self.span
        return (f"{self.count} of {self.total} input values lie outside the calibrated range and "
                f"are clipped to it; the farthest is {self.farthest:.4g}, expected {low:.4g} to "
                f"{high:.4g}")  # fmt: skip


@dataclass(frozen=True)
class Pixels:
    """The meaning of pixels: a pixel ``p`` of 0 to 255 is ``(p / 255 - mean) / std`` for the model.

    One number per channel, or one for all.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    @property
    def plain(self) -> bool:
        """True if the model takes unchanged pixels, 0 to 255."""
        return set(self.mean) == {0.0} and all(abs(255 * std - 1) < 1e-9 for std in self.std)

    def values(self, pixels: Array) -> Floats:
        """Pixels of shape (images, channels, rows, columns) as the model's numbers."""
        mean, std = (np.array(part)[:, None, None] for part in (self.mean, self.std))
        found: Floats = (pixels / 255 - mean) / std
        return found


@dataclass(frozen=True)
class Takes:
    """The model's input: arrays of shape (N, *shape).

    ``order`` lists the axes of ``shape`` in the network's order: (2, 0, 1) for a model that takes
    (rows, columns, channels). ``pixels`` describes pictures for the model, if known. ``own_grid``
    is set if the model itself rounds and clips its input. ``head`` is the part that the client
    computes on the input. Its result is then the input of the network. ``columns`` are the names of
    the columns of tables, if the model has any.
    """

    name: str
    shape: tuple[int, ...]
    order: tuple[int, ...] = ()
    pixels: Pixels | None = None
    own_grid: bool = False
    head: Head = field(default_factory=Head)
    columns: tuple[str, ...] = ()

    def arranged(self, x: Array) -> Array:
        """Arrays of the model, checked, in the network's order: shape (N, values).

        Raises
        ------
        NetworkError
            If they have another shape, are not numbers, or contain NaN or infinite numbers.
        """
        if x.ndim == len(self.shape) and x.shape == self.shape:
            raise NetworkError(f"one input of shape {times(x.shape)}, expected an array of "
                               f"{self.expected}: give x[None] for one input")  # fmt: skip
        if x.shape[1:] != self.shape or x.ndim == 0 or not len(x):
            raise NetworkError(f"inputs of shape {times(x.shape)}, expected {self.expected}"
                               f"{self._way_out(x.shape)}")  # fmt: skip
        if x.dtype.kind not in "fiub":
            raise NetworkError(f"inputs of type {x.dtype}, expected real numbers: give "
                               "x.astype('float32')")  # fmt: skip
        finite = np.isfinite(x)
        if self.head.missing:  # NaN is a value: tests of trees and imputers take it
            finite |= np.isnan(x)
        if not finite.all():
            first = int(np.flatnonzero(~finite.reshape(len(x), -1).all(axis=1))[0])
            raise NetworkError(f"inputs with NaN or infinite numbers, {x.size - finite.sum()} of "
                               f"{x.size}, the first in input {first}; expected finite ones: "
                               "replace them, or leave these inputs out")  # fmt: skip
        if self.head.model:
            return self.head.values(x)
        if self.order:
            x = x.transpose(0, *(axis + 1 for axis in self.order))
        return x.reshape(len(x), -1)

    def _way_out(self, found: tuple[int, ...]) -> str:
        """The remedy for arrays of another shape, if a move of axes gives the right one."""
        if found[:1] == (0,):
            return ": there is none"
        rank = len(found)
        if rank == len(self.shape) + 1:
            for order in permutations(range(1, rank)):
                if tuple(found[axis] for axis in order) == self.shape:
                    return f": give x.transpose{(0, *order)}"
            if rank == 2 and found[0] == self.shape[0]:
                return ": give x.T"
        if found and prod(found[1:]) == prod(self.shape):
            return f": give x.reshape{(-1, *self.shape)}"
        return ""

    def restored(self, values: Array) -> Array:
        """Values in the network's order, (N, values), as arrays of the model."""
        order = self.order or tuple(range(len(self.shape)))
        permuted = values.reshape(len(values), *(self.shape[axis] for axis in order))
        return permuted.transpose(0, *(order.index(axis) + 1 for axis in range(len(order))))

    @property
    def expected(self) -> str:
        """The shape, with N for any number of inputs."""
        return times(("N", *self.shape))


@dataclass(frozen=True)
class Gives:
    """The model's output: real numbers of ``shape`` for each input, and functions of them.

    Output channel ``c`` of the network stands for the real number ``integer * scale[c] +
    shift[c]``. A single scale or shift holds for all channels. Element ``i`` of the model's tensor
    is the network's value ``labels[i]``, or value ``i`` without labels. ``tail`` are the functions.
    Without a tail there is one output, called ``name``.
    """

    shape: tuple[int, ...]
    scale: tuple[float, ...]
    shift: tuple[float, ...] = (0.0,)
    labels: tuple[int, ...] = ()
    tail: Tail = field(default_factory=Tail)
    name: str = "logits"

    def outputs(self, real: Array) -> dict[str, Array]:
        """The model's outputs by name, from its numbers (N, *shape)."""
        return self.tail.run(real) if self.tail.model else {self.name: real}

    def real(self, logits: Ints) -> Floats:
        """The network's integers (N, values) as the model's numbers, (N, *shape)."""
        scale, shift = (
            np.repeat(part, logits.shape[1] // len(part)) for part in (self.scale, self.shift)
        )
        return self.ordered(logits * scale + shift)

    def ordered(self, values: Array) -> Array:
        """The network's values (N, values) in the model's order, (N, *shape)."""
        chosen = values[:, self.labels] if self.labels else values
        return chosen.reshape(len(values), *self.shape)


MOST_WARNINGS: Final = 200
"""Largest size of a model that is stored with a network: an interface is small."""


@dataclass(frozen=True)
class Interface:
    """Both ends of a network. ``warnings`` come from the quantisation. A user should read them
    before trusting the outputs."""

    takes: Takes
    gives: Gives
    warnings: tuple[str, ...] = ()

    def to_data(self) -> Json:
        """The interface in JSON form, which ``docs/int-network.md`` defines."""
        takes, gives = self.takes, self.gives
        given: Json = {"name": takes.name, "shape": list(takes.shape)}
        if takes.order:
            given["order"] = list(takes.order)
        if takes.pixels is not None:
            given["pixels"] = {"mean": [*takes.pixels.mean], "std": [*takes.pixels.std]}
        if takes.own_grid:
            given["own_grid"] = True
        if takes.head.model:
            given["head"] = base64.b64encode(takes.head.model).decode()
            given["batched"] = takes.head.batched
        if takes.columns:
            given["columns"] = list(takes.columns)
        found: Json = {"name": gives.name, "shape": list(gives.shape)}
        found["scale"] = list(gives.scale)
        if any(gives.shift):
            found["shift"] = list(gives.shift)
        if gives.labels:
            found["labels"] = list(gives.labels)
        if gives.tail.model:
            found["tail"] = base64.b64encode(gives.tail.model).decode()
            found["batched"] = gives.tail.batched
        warned = {"warnings": list(self.warnings[:MOST_WARNINGS])} if self.warnings else {}
        return {"takes": given, "gives": found, **warned}

    @classmethod
    def from_data(cls, data: Json, values: int, outputs: int) -> Interface:
        """Read the result of :meth:`to_data`, for a network with these numbers of inputs and
        outputs.

        Raises
        ------
        NetworkError
            If it is not an interface of such a network.
        """
        try:
            given, found = data["takes"], data["gives"]
            pixels = given.get("pixels")
            takes = Takes(
                str(given["name"]),
                tuple(int(side) for side in given["shape"]),
                tuple(int(axis) for axis in given.get("order", ())),
                None if pixels is None else Pixels(numbers(pixels["mean"]), numbers(pixels["std"])),
                bool(given.get("own_grid", False)),
                Head(model_in(given, "head"), bool(given.get("batched", True))),
                tuple(str(name) for name in given.get("columns", ())),
            )
            gives = Gives(
                tuple(int(side) for side in found["shape"]),
                numbers(found["scale"]),
                numbers(found.get("shift", (0.0,))),
                tuple(int(label) for label in found.get("labels", ())),
                Tail(model_in(found, "tail"), bool(found.get("batched", True))),
                str(found["name"]),
            )
            warned = tuple(str(words) for words in data.get("warnings", ()))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NetworkError(f"the interface of the network cannot be read: {error}") from error
        check(takes, gives, values, outputs)
        return cls(takes, gives, warned)

    def classes(self, outputs: Mapping[str, Array]) -> Array | None:
        """The class of each input if the model is a classifier, otherwise ``None``.

        It is the model's own label if there is one: integers or words, one per input. Otherwise it
        is the first of the largest numbers of the model's first output of shape (N, classes). If
        that is a single number, the class is 0 or 1: it is 1 above 1/2 if the model ends in a
        Sigmoid, and above 0 otherwise.
        """
        own, name = self._deciding(outputs)
        if name is None:
            return None
        flat = outputs[name].reshape(len(outputs[name]), -1)
        if own:
            return np.asarray(flat[:, 0])
        if flat.shape[1] > 1:
            return np.asarray(flat.argmax(axis=1))
        return np.asarray(flat[:, 0] > (0.5 if self.gives.tail.is_probability(name) else 0)).astype(
            int
        )

    def several(self, outputs: Mapping[str, Array]) -> Array | None:
        """The labels of each input, (N, labels), if the model gives several for each.

        They are the model's own, or whether each of the probabilities of a last Sigmoid is above
        1/2.
        """
        for found in outputs.values():
            if found.dtype.kind != "f" and found.ndim == 2 and found.shape[1] > 1:
                return found
        for name, found in outputs.items():
            many = found.ndim == 2 and found.shape[1] > 1
            if found.dtype.kind == "f" and many and self.gives.tail.is_probability(name):
                return np.asarray(found > 0.5).astype(int)
        return None

    def deciding(
        self, outputs: Mapping[str, Array]
    ) -> tuple[str, Literal["label", "probability", "number", "numbers"] | None]:
        """The output that determines the class, and its kind: the model's own label, a
        probability, one real number whose sign is the class, or several, of which the largest is
        the class."""
        own, name = self._deciding(outputs)
        if name is None:
            return "", None
        if own:
            return name, "label"
        if outputs[name].size > len(outputs[name]):
            return name, "numbers"
        return name, "probability" if self.gives.tail.is_probability(name) else "number"

    def known(self, outputs: Mapping[str, Array]) -> int | None:
        """The number of classes, if :meth:`classes` counts them from 0."""
        own, name = self._deciding(outputs)
        return None if own or name is None else max(prod(outputs[name].shape[1:]), 2)

    def decisive(self, outputs: Mapping[str, Array]) -> Ints | None:
        """Which of the model's numbers the class depends on, if the model has several heads.

        ``None`` stands for all.
        """
        _, name = self._deciding(outputs)
        return None if name is None else self.gives.tail.head_of(name)

    def _deciding(self, outputs: Mapping[str, Array]) -> tuple[bool, str | None]:
        """The output that determines the class, and true if it has the model's own labels."""
        for name, found in outputs.items():
            if found.dtype.kind not in "f" and found.size == len(found):
                return True, name
        for name, found in outputs.items():
            if found.dtype.kind == "f" and (found.ndim <= 2 or max(found.shape[2:]) == 1):
                return False, name
        return False, None


def check(takes: Takes, gives: Gives, values: int, outputs: int) -> None:
    """Refuse an interface that does not fit its network."""
    taken = values if takes.head.model else prod(takes.shape)
    if min(takes.shape, default=1) < 1 or taken != values:
        raise NetworkError(f"the interface takes shape {times(takes.shape)}, the network "
                           f"{values} values")  # fmt: skip
    if takes.order and sorted(takes.order) != list(range(len(takes.shape))):
        raise NetworkError(f"the interface has axes in order {takes.order}, expected each of "
                           f"{len(takes.shape)} once")  # fmt: skip
    count = prod(gives.shape)
    labels = gives.labels or range(outputs)
    if min(gives.shape, default=1) < 1 or len(labels) != count or not all(
        0 <= label < outputs for label in labels
    ):  # fmt: skip
        raise NetworkError(f"the interface gives shape {times(gives.shape)} of {len(labels)} "
                           f"values, the network has {outputs}")  # fmt: skip
    for name, part in (("scale", gives.scale), ("shift", gives.shift)):
        if not part or not np.isfinite(part).all() or outputs % len(part):
            raise NetworkError(f"the interface has a {name} of {len(part)} numbers, expected one "
                               "or one for each channel, finite")  # fmt: skip


def model_in(found: Json, name: str) -> bytes:
    """A model in base64, or empty bytes if there is none."""
    return base64.b64decode(found.get(name, ""), validate=True)


def numbers(found: Any) -> tuple[float, ...]:
    return tuple(float(part) for part in found)
