"""Figures, shapes and tables as text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Final

NAME: Final = 18
"""Largest number of characters of a name: names of ONNX nodes are paths."""

NUMBER: Final = re.compile(r"[-+.\de]+%?|nan|inf")


def size(count: int) -> str:
    """A number of bytes, in powers of 1000."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def times(shape: Iterable[int | str]) -> str:
    """A shape as text."""
    return "x".join(map(str, shape)) or "()"


def at_most(log2: float) -> str:
    """A bound ``2^log2`` on a probability, rounded up."""
    return f"2^{ceil(log2 * 10) / 10:.1f}"


def table(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Objects with the same fields, one per line, in columns: words to the left, numbers right."""
    header = list(rows[0])
    columns = []
    for name in header:
        cells = [cell(row[name]) for row in rows]
        if name in ("name", "layer"):
            cells = [short(text) for text in cells]
        width = max(len(name), *map(len, cells))
        number = all(NUMBER.fullmatch(text) for text in cells)
        columns.append([f"{text:{'>' if number else '<'}{width}}" for text in (name, *cells)])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def cell(value: object) -> str:
    """A value as a short text."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def short(name: str, most: int = NAME) -> str:
    """A name, shortened in the middle if it is too long. Nodes differ at the end of their names."""
    if len(name) <= most:
        return name
    start = most // 3
    return f"{name[:start]}..{name[len(name) - (most - start - 2) :]}"


def lined(rows: Mapping[str, object]) -> list[str]:
    """Names and values in two columns, one line each."""
    width = max(map(len, rows)) + 2
    return [f"  {name:{width}}{value}" for name, value in rows.items()]
