"""The form of a reproduced table or figure: rows with the paper's figures and ours."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from palladion.support.records import Json

Cell = str | int | float | None
"""``None`` if the paper gives no value, or if nothing was measured."""


@dataclass(frozen=True)
class Column:
    """A column: ``name`` in CSV and JSON, ``title`` in a terminal, and the format of numbers."""

    name: str
    title: str
    format: str = ""

    def show(self, value: Cell) -> str:
        """A cell as text."""
        if value is None:
            return "-"
        return value if isinstance(value, str) else f"{value:{self.format}}"


@dataclass(frozen=True)
class Series:
    """Points of a plot. ``labels`` are written at the points. If ``x`` has words, bars are
    drawn."""

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float | None]
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Panel:
    """Axes with their series. ``limit`` is a value of the y axis, drawn as a line.

    ``logarithmic`` refers to the y axis.
    """

    x_label: str
    y_label: str
    series: Sequence[Series]
    limit: float | None = None
    logarithmic: bool = False


@dataclass(frozen=True)
class Reproduction:
    """A table or figure of a paper, with our results.

    Rows have one cell for each column.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    panels: Sequence[Panel] = ()

    def shown(self) -> list[dict[str, str]]:
        """Rows by the titles of the columns, for a terminal."""
        return [
            {
                column.title: column.show(cell)
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]

    def to_dict(self) -> Json:
        """Title, rows by the names of the columns, and notes."""
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}

    def to_csv(self) -> str:
        """The names of the columns, then the rows. An empty cell means no value."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.name for column in self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Item:
    """One table or figure. ``run`` takes the named options, and ``steps`` to report progress.

    ``plots`` says whether its reproduction has panels.
    """

    summary: str
    run: Callable[..., Reproduction]
    options: Sequence[str] = ()
    plots: bool = False


@dataclass(frozen=True)
class Paper:
    """A paper, and its items that can be reproduced."""

    summary: str
    items: Mapping[str, Item] = field(default_factory=dict)
