"""Plots of reproductions by matplotlib, which only this module needs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from palladion.errors import UsageError
from palladion.reproduce.reproduction import Panel, Series

WIDTH, HEIGHT = 8.0, 3.6
"""Size of one panel in inches."""


NO_PLOTS = "plots need matplotlib, which is not installed: pip install 'palladion[plot]'"


def plots_possible() -> bool:
    """True if matplotlib is installed."""
    try:
        require()
    except UsageError:
        return False
    return True


def require() -> Any:
    """The part of matplotlib that draws figures: its module ``figure``.

    Raises
    ------
    UsageError
        If it is not installed.
    """
    try:
        from matplotlib import figure
    except ImportError:
        raise UsageError(NO_PLOTS) from None
    return figure


def draw(title: str, panels: Sequence[Panel]) -> dict[str, bytes]:
    """One picture of all panels, one above another, as ``svg`` and ``png`` bytes.

    Raises
    ------
    UsageError
        If matplotlib is not installed.
    """
    figure = require().Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(len(panels), squeeze=False)[:, 0]
    for panel, place in zip(panels, axes, strict=True):
        draw_panel(panel, place)
    found = {}
    for kind in ("svg", "png"):
        data = io.BytesIO()
        figure.savefig(data, format=kind, dpi=150)
        found[kind] = data.getvalue()
    return found


def draw_panel(panel: Panel, axes: Any) -> None:
    """Draw lines of numbers, or bars side by side if x has words."""
    for index, series in enumerate(panel.series):
        if any(isinstance(x, str) for x in series.x):
            draw_bars(series, axes, index, len(panel.series))
            continue
        if isinstance(series.x, range):
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.plot(series.x, numbers(series), marker="o", markersize=4, label=series.name)
        for x, y, label in zip(series.x, series.y, series.labels, strict=False):
            if y is not None:
                axes.annotate(label, (x, y), textcoords="offset points", xytext=(4, 5), fontsize=8)
    if panel.limit is not None:
        axes.axhline(panel.limit, color="grey", linestyle="--", linewidth=1)
    if panel.logarithmic:
        axes.set_yscale("log")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(alpha=0.3)
    if len(panel.series) > 1:
        axes.legend(fontsize=8)


def draw_bars(series: Series, axes: Any, index: int, count: int) -> None:
    """Draw bar ``index`` of ``count`` for every word."""
    width = 0.8 / count
    middle = (count - 1) / 2
    places = [k + (index - middle) * width for k in range(len(series.x))]
    axes.bar(places, numbers(series), width, label=series.name)
    axes.set_xticks(range(len(series.x)), list(series.x), fontsize=8)


def numbers(series: Series) -> list[float]:
    """The numbers of a series. Missing values are NaN, which is not drawn."""
    return [float("nan") if y is None else y for y in series.y]
