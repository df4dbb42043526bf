"""What every reproduced table or figure is: rows of the paper's figures beside ours."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Cell = str | int | float | None
"""``None`` where the paper says nothing, or nothing was measured."""


@dataclass(frozen=True)
class Column:
    """A column: ``name`` in CSV and JSON, ``title`` in a terminal, and how numbers are shown."""

    name: str
    title: str
    format: str = ""

    def show(self, value: Cell) -> str:
        """A cell for a reader."""
        if value is None:
            return "-"
        return value if isinstance(value, str) else f"{value:{self.format}}"


@dataclass(frozen=True)
class Series:
    """Points of a plot. ``labels`` stand at the points; ``x`` of words makes bars."""

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float | None]
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Panel:
    """Axes with what they show. ``limit`` is drawn across, as a value of the y axis.

    ``logarithmic`` is said of the y axis.
    """

    x_label: str
    y_label: str
    series: Sequence[Series]
    limit: float | None = None
    logarithmic: bool = False


@dataclass(frozen=True)
class Reproduction:
    """A table or figure of a paper, and what we get in its place.

    Rows have one cell for each column.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    panels: Sequence[Panel] = ()

    def shown(self) -> list[dict[str, str]]:
        """Rows by the columns' titles, for a terminal."""
        return [
            {
                column.title: column.show(cell)
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """Title, rows by the columns' names, and notes."""
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

    def to_csv(self) -> str:
        """The names of the columns, then the rows; an empty cell is no value."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Item:
    """One table or figure: ``run`` takes the named options, and ``steps`` to tell of progress.

    ``plots`` says that its reproduction has panels.
    """

    summary: str
    run: Callable[..., Reproduction]
    options: Sequence[str] = ()
    plots: bool = False


@dataclass(frozen=True)
class Paper:
    """A paper, and what of it can be reproduced."""

    summary: str
    items: Mapping[str, Item] = field(default_factory=dict)
