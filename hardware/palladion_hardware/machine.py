"""What the file of a vector machine (docs/machines.md) says of a unit."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palladion_hardware.errors import ParameterError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def name_of(path: Path) -> str:
    """The name of a machine.

    Raises
    ------
    ParameterError
        If the file is none, or has no name.
    """
    name = load(path).get("name")
    if not isinstance(name, str):
        raise ParameterError(f'{path}: expected a line name = "..."; docs/machines.md has all keys')
    return name


def load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParameterError(
            f"{path}: {error}; `palladion simulate machine f1` writes a file of the right form"
        ) from error


@dataclass(frozen=True)
class MachineUnit:
    """Numbers of a machine's file."""

    lanes: int
    word: int
    degree: int
    """The largest N of the machine."""
    latency: int
    area_mm2: float


def read(path: Path, unit: str) -> MachineUnit:
    """The unit of a machine's file.

    Raises
    ------
    ParameterError
        If the file has no such unit, or a number is missing.
    """
    machine = load(path)
    units = machine.get("unit", {})
    if unit not in units:
        raise ParameterError(
            f"{path} has no [unit.{unit}]; its units are {', '.join(units) or 'none'}: take the "
            "file of a vector machine that has one"
        )
    numbers = units[unit]
    try:
        return MachineUnit(
            lanes=int(numbers["lanes"]),
            word=int(machine["word_bits"]),
            degree=int(machine["max_n"]),
            latency=int(numbers["latency"]),
            area_mm2=float(numbers["area_mm2"]),
        )
    except KeyError as error:
        raise ParameterError(
            f"{path}: {error} is missing; docs/machines.md lists all keys"
        ) from error
