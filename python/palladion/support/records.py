"""Frozen dataclasses from the core's data, and back to data for JSON.

Fields have the names that ``--json`` prints. A field whose default is ``None`` is left out of the
data while it is ``None``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

Json: TypeAlias = dict[str, Any]
"""A JSON object."""

Record = TypeVar("Record")


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields, by name."""
    return get_type_hints(kind)


def read(kind: type[Record], data: Mapping[str, object]) -> Record:
    """An object of a dataclass, with the dataclasses in its fields, from the core's data.

    Raises
    ------
    KeyError, TypeError
        If the data have another field, or lack one: both are faults of this package.
    """
    hashable: Any = kind
    hints = hints_of(hashable)
    return kind(**{name: _value(hints[name], value) for name, value in data.items()})


def _value(hint: Any, value: Any) -> Any:
    """A value of the type of a field."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        present = [argument for argument in arguments if argument is not NoneType]
        return None if value is None else _value(present[0], value)
    if is_dataclass(hint):
        return value if isinstance(value, hint) else read(hint, value)  # type: ignore[arg-type]
    if origin is tuple:
        each = arguments[0]
        return tuple(_value(each, part) for part in value)
    if origin is Mapping and is_dataclass(arguments[1]):
        return {name: _value(arguments[1], part) for name, part in value.items()}
    return value


def to_json(value: Any) -> Json:
    """The fields of a dataclass as data for JSON, with the fields of the dataclasses in them."""
    data: Json = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if part is not None or field.default is MISSING or field.default is not None:
            data[field.name] = _plain(part)
    return data


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value
