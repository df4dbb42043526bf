"""Pictures of simulated runs, by matplotlib: where time, energy and traffic go."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Final

from palladion.accelerators.sweeps import Point
from palladion.reproduce.plot import require
from palladion.simulation import Series, SimulationReport
from palladion.support.text import size

WIDTH: Final = 8.0
"""Inches; with :data:`DOTS` a picture has 1,200 pixels in a row."""
DOTS: Final = 150
PARTS: Final = 240
"""Parts of time of a picture over time."""
MOST_STEPS: Final = 30
"""Bars of steps at most; others are summed."""
MOST_NAMES: Final = 16
"""Best points that are named in a picture at most."""

COMPULSORY: Final = ("hints", "inputs", "constants", "outputs")
"""Kinds of traffic that no scratchpad saves."""

BLUE, ORANGE, GREY = "#3b6ea5", "#d97b29", "#b0b0b0"

Picture = dict[str, bytes]
"""The bytes of a picture as ``svg`` and as ``png``."""


def of_run(title: str, report: SimulationReport, series: Series) -> dict[str, Picture]:
    """The pictures of a run by their names, from its report and its shares over time.

    Raises
    ------
    UsageError
        If matplotlib is not installed.
    """
    return {
        "utilisation": utilisation(title, report, series),
        "traffic": traffic(title, report),
        "steps": steps(title, report),
        "components": components(title, report),
    }


def utilisation(title: str, report: SimulationReport, series: Series) -> Picture:
    """How busy units, network, memory and kinds of clusters are, and how full the scratchpad is."""
    capacity = series.capacity
    full = [limbs / capacity for limbs in series.limbs]
    # Clusters of one kind have nothing beside which they could work.
    works = series.works if len(series.works) > 2 else {}
    works = {name.replace("together", "two regions\nat a time"): works[name] for name in works}
    rows = {**series.busy, **works, "scratchpad,\nfull": full}
    whole = {name: sum(shares) / len(shares) for name, shares in rows.items()}
    whole |= report.utilisation
    figure = new(0.62 * len(rows) + 1.3)
    figure.suptitle(f"{title}: share of time busy", fontsize=11)
    axes = figure.subplots(len(rows), sharex=True, squeeze=False)[:, 0]
    milliseconds = report.seconds * 1000
    edges = [milliseconds * part / len(full) for part in range(len(full) + 1)]
    for place, (name, shares) in zip(axes, rows.items(), strict=True):
        colour = ORANGE if name in ("network", "memory") else BLUE
        colour = GREY if name in works or "full" in name else colour
        place.stairs([100 * share for share in shares], edges, fill=True, color=colour)
        place.set_ylim(0, 100)
        place.set_yticks([0, 50, 100], ["0", "50", "100 %"], fontsize=7)
        place.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
        place.grid(alpha=0.3)
        place.text(
            1.01,
            0.5,
            f"{100 * whole[name]:.0f} %",
            transform=place.transAxes,
            va="center",
            fontsize=9,
        )
    axes[0].set_title("mean", loc="right", fontsize=8)
    axes[-1].set_xlim(0, milliseconds)
    axes[-1].set_xlabel("simulated time, ms")
    return saved(figure)


def traffic(title: str, report: SimulationReport) -> Picture:
    """Bytes between memory and scratchpad by kind. Bytes that are not compulsory have another
    colour."""
    kinds = report.traffic_bytes
    total = max(report.traffic_total, 1)
    figure = new(3.8)
    axes = figure.subplots()
    labels = [f"{size(count)}, {100 * count / total:.1f} %" for count in kinds.values()]
    colours = [BLUE if kind in COMPULSORY else ORANGE for kind in kinds]
    bars(axes, [*kinds], [count / 1e6 for count in kinds.values()], labels, colours)
    axes.set_xlabel("MB between memory and scratchpad")
    axes.set_title(f"{title}: traffic, {size(report.traffic_total)}", fontsize=11)
    for colour, words in [
        (BLUE, "compulsory"),
        (ORANGE, "not: a larger scratchpad saves it"),
    ]:
        axes.bar(0, 0, color=colour, label=words)
    axes.legend(fontsize=8, loc="best")
    return saved(figure)


def steps(title: str, report: SimulationReport) -> Picture:
    """Milliseconds by step of the program, in its order."""
    rows = [(step.name, step.seconds * 1000, step.joules) for step in report.steps]
    if len(rows) > MOST_STEPS:
        least = sorted((row[1] for row in rows), reverse=True)[MOST_STEPS - 2]
        kept = [row for row in rows if row[1] > least]
        rest = [row for row in rows if row[1] <= least]
        name = f"{len(rest)} other steps"
        rows = [*kept, (name, sum(row[1] for row in rest), sum(row[2] for row in rest))]
    figure = new(0.24 * len(rows) + 1.4)
    axes = figure.subplots()
    whole = max(report.seconds * 1000, 1e-12)
    labels = [f"{100 * time / whole:.1f} %, {joules:.3g} J" for _, time, joules in rows]
    bars(axes, [shorter(name) for name, _, _ in rows], [time for _, time, _ in rows], labels)
    axes.set_xlabel("simulated time, ms; beside it the share of time, and the energy")
    axes.set_title(f"{title}: time by step, {report.seconds * 1000:.4g} ms", fontsize=11)
    return saved(figure)


def components(title: str, report: SimulationReport) -> Picture:
    """Energy and area by component, beside each other."""
    joules, areas = report.joules_by_component, report.area_mm2_by_component
    names = [*joules, *(name for name in areas if name not in joules)]
    figure = new(0.28 * len(names) + 1.4)
    figure.suptitle(f"{title}: {report.joules:.4g} J, {report.area_mm2:.4g} mm²", fontsize=11)
    for place, (figures, unit, total) in zip(
        figure.subplots(1, 2),
        [(joules, "J", report.joules), (areas, "mm²", report.area_mm2)],
        strict=True,
    ):
        values = [figures.get(name, 0.0) for name in names]
        labels = [f"{value:.3g}, {100 * value / max(total, 1e-300):.0f} %" for value in values]
        bars(place, names, values, labels, room=1.45)
        place.set_xlabel("simulated energy, J" if unit == "J" else "area, mm²")
    place.set_yticklabels([])
    return saved(figure)


def of_sweep(title: str, points: Sequence[Point], best: Sequence[bool]) -> dict[str, Picture]:
    """Time against area and against energy; points that no other beats are named and joined.

    Raises
    ------
    UsageError
        If matplotlib is not installed.
    """
    figure = new(7.6)
    figure.suptitle(f"{title}: points that none beats in time, area and energy", fontsize=11)
    for place, (goal, label) in zip(
        figure.subplots(2, 1, sharex=True),
        [("area_mm2", "area, mm²"), ("joules", "simulated energy, J")],
        strict=True,
    ):
        for chosen, colour, words in [(False, GREY, "beaten"), (True, ORANGE, "not beaten")]:
            drawn = [
                (point.figures["seconds"] * 1000, point.figures[goal], point.values)
                for point, is_best in zip(points, best, strict=True)
                if point.figures is not None and is_best is chosen
            ]
            xs, ys = [x for x, _, _ in drawn], [y for _, y, _ in drawn]
            place.scatter(xs, ys, color=colour, label=words, zorder=2 + chosen)
            for number, (x, y, values) in enumerate(drawn[:MOST_NAMES] if chosen else []):
                offset = (5, 5) if number % 2 else (5, -11)
                name = " / ".join(map(short, values.values()))
                place.annotate(name, (x, y), textcoords="offset points", xytext=offset, fontsize=8)
        place.set_ylabel(label)
        drawn_figures = [point.figures[goal] for point in points if point.figures is not None]
        place.set_ylim(0, 1.15 * max([*drawn_figures, 1e-12]))
        place.margins(x=0.12)
        place.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    keys = " / ".join(points[0].values)
    place.set_xlabel(f"simulated time, ms; points are named {keys}")
    return {"pareto": saved(figure)}


def new(height: float) -> Any:
    """An empty figure of :data:`WIDTH` and a height in inches."""
    return require().Figure(figsize=(WIDTH, height), layout="constrained")


def saved(figure: Any) -> Picture:
    """The bytes of a figure."""
    found = {}
    for kind in ("svg", "png"):
        data = io.BytesIO()
        figure.savefig(data, format=kind, dpi=DOTS)
        found[kind] = data.getvalue()
    return found


def bars(
    axes: Any,
    names: Sequence[str],
    values: Sequence[float],
    labels: Sequence[str],
    colours: Sequence[str] | str = BLUE,
    *,
    room: float = 1.3,
) -> None:
    """Bars from above to below, with labels behind their ends."""
    places = range(len(names))
    axes.barh(places, values, color=colours)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, room * max([*values, 1e-12]))
    for place, value, label in zip(places, values, labels, strict=True):
        axes.annotate(
            label,
            (value, place),
            textcoords="offset points",
            xytext=(4, 0),
            va="center",
            fontsize=8,
        )
    axes.margins(y=0.02)
    axes.grid(axis="x", alpha=0.3)


def shorter(name: str) -> str:
    """A name of a step for an axis."""
    return name if len(name) <= 34 else f"{name[:12]}..{name[-20:]}"


def short(value: int) -> str:
    """A whole number in few characters, where it is a round one."""
    for unit, factor in (("T", 10**12), ("G", 10**9), ("Mi", 2**20), ("Ki", 2**10)):
        if value >= max(factor, 2**16) and value % (factor // 4) == 0:
            return f"{value / factor:g}{unit}"
    return str(value)
