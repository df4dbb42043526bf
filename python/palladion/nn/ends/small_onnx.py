"""The small ONNX models at both ends of a network, read without ONNX.

An ONNX file is a message of protocol buffers. Of its fields those are read that a model of a client
has: nodes with attributes, constants, names of inputs and outputs, the type of the input."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Value = int | bytes

TYPES: Final[dict[int, Any]] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
"""Types of tensors by ONNX's numbers, those of text apart."""

TEXT: Final = 8
HALF: Final = 10


@dataclass(frozen=True)
class Node:
    """An operator, with its attributes: numbers, text, arrays, or lists of these."""

    op_type: str
    domain: str
    input: tuple[str, ...]
    output: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class SmallModel:
    """A model. ``opset`` is the version of ONNX's own operators."""

    nodes: tuple[Node, ...]
    constants: dict[str, Array]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_type: int
    opset: int
    has_functions: bool


def read_model(data: bytes) -> SmallModel:
    """Read a model.

    Constants of unusual types are left out, and attributes of unusual types are ``None``.

    Raises
    ------
    ValueError
        If the bytes are no model.
    """
    try:
        return model_of(data)
    except (ArithmeticError, LookupError, TypeError, struct.error) as error:
        raise ValueError(str(error)) from error


def model_of(data: bytes) -> SmallModel:
    """The model in some bytes."""
    model = grouped(data)
    graph = grouped(one(model, 7))
    versions = [grouped(entry) for entry in model.get(8, ())]
    opset = max((number(entry, 2) for entry in versions if text(entry, 1) in ("", "ai.onnx")),
                default=1)  # fmt: skip
    tensors = [grouped(entry) for entry in graph.get(5, ())]
    inputs = [grouped(entry) for entry in graph.get(11, ())]
    kinds = [number(grouped(one(grouped(one(entry, 2)), 1)), 1) for entry in inputs]
    return SmallModel(
        nodes=tuple(node_of(entry) for entry in graph.get(1, ())),
        constants={
            text(tensor, 8): array_of(tensor)
            for tensor in tensors
            if number(tensor, 2) in {TEXT, *TYPES}
        },
        inputs=tuple(text(entry, 1) for entry in inputs),
        outputs=tuple(text(grouped(entry), 1) for entry in graph.get(12, ())),
        input_type=kinds[0] if kinds else 0,
        opset=opset,
        has_functions=25 in model,
    )


Message = dict[int, list[Value]]


def grouped(data: Value) -> Message:
    """The values of a message by the numbers of their fields."""
    if isinstance(data, int):
        raise ValueError("a number, expected a message")
    found: Message = {}
    for field, value in fields(data):
        found.setdefault(field, []).append(value)
    return found


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message in order. Numbers of 4 and 8 bytes stay bytes."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        length = {1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            value, place = varint(data, place)
            yield key >> 3, value
            continue
        if key & 7 == 2:
            length, place = varint(data, place)
        if length is None or place + length > len(data):
            raise ValueError(f"byte {place} is not within a field")
        yield key >> 3, data[place : place + length]
        place += length


def varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at a place, and the place behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise ValueError(f"no number ends before byte {place}")


def one(message: Message, field: int) -> Value:
    """The last value of a field, which is the one that counts."""
    if field not in message:
        raise ValueError(f"a message without field {field}")
    return message[field][-1]


def number(message: Message, field: int) -> int:
    """A number, 0 if it is not there. Numbers have 64 bits in two's complement."""
    value = message.get(field, [0])[-1]
    if not isinstance(value, int):
        raise ValueError(f"field {field} is no number")
    return signed(value)


def signed(value: int) -> int:
    """A number of 64 bits in two's complement."""
    return value - (1 << 64) if value >> 63 else value


def text(message: Message, field: int) -> str:
    """A text, empty if it is not there."""
    return decoded(message.get(field, [b""])[-1])


def decoded(value: Value) -> str:
    """A value as text."""
    if not isinstance(value, bytes):
        raise ValueError("a number, expected a text")
    return value.decode()


def numbers(message: Message, field: int) -> list[int]:
    """A list of numbers, packed or not."""
    found: list[int] = []
    for value in message.get(field, ()):
        if isinstance(value, int):
            found.append(signed(value))
            continue
        place = 0
        while place < len(value):
            each, place = varint(value, place)
            found.append(signed(each))
    return found


def reals(message: Message, field: int, kind: str) -> list[float]:
    """A list of real numbers, packed or not: each has 4 or 8 bytes."""
    joined = b"".join(value for value in message.get(field, ()) if isinstance(value, bytes))
    return [each for (each,) in struct.iter_unpack(f"<{kind}", joined)]


def array_of(tensor: Message) -> Array:
    """The array of a tensor."""
    kind, sides = number(tensor, 2), numbers(tensor, 1)
    if kind == TEXT:
        return np.array([decoded(value) for value in tensor.get(6, ())], object).reshape(sides)
    raw = tensor.get(9, [b""])[-1]
    if isinstance(raw, int):
        raise ValueError("a number, expected the bytes of a tensor")
    if 9 in tensor:
        little = np.dtype(TYPES[kind]).newbyteorder("<")
        return np.frombuffer(raw, little).astype(TYPES[kind]).reshape(sides)
    values: list[Any] = [
        *reals(tensor, 4, "f"), *numbers(tensor, 5), *numbers(tensor, 7), *reals(tensor, 10, "d"),
        *numbers(tensor, 11),
    ]  # fmt: skip
    if kind == HALF:  # stored as numbers that have its bits
        return np.array(values, np.uint16).view(np.float16).reshape(sides)
    return np.array(values, TYPES[kind]).reshape(sides)


def node_of(data: Value) -> Node:
    """An operator."""
    node = grouped(data)
    attributes = [grouped(entry) for entry in node.get(5, ())]
    return Node(
        op_type=text(node, 4),
        domain=text(node, 7),
        input=tuple(decoded(value) for value in node.get(1, ())),
        output=tuple(decoded(value) for value in node.get(2, ())),
        attributes={text(entry, 1): value_of(entry) for entry in attributes},
    )


def value_of(attribute: Message) -> Any:
    """The value of an attribute, by its type: the number in field 20."""
    kind = number(attribute, 20)
    readers: dict[int, Callable[[], Any]] = {
        1: lambda: reals(attribute, 2, "f")[0] if 2 in attribute else 0.0,
        2: lambda: number(attribute, 3),
        3: lambda: text(attribute, 4),
        4: lambda: array_of(grouped(one(attribute, 5))),
        6: lambda: reals(attribute, 7, "f"),
        7: lambda: numbers(attribute, 8),
        8: lambda: [decoded(value) for value in attribute.get(9, ())],
    }
    return readers[kind]() if kind in readers else None
