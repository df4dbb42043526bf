"""``palladion simulate sweep``: a program on machines of many sizes."""

from __future__ import annotations

from pathlib import Path

import click

from palladion.accelerators import sweeps
from palladion.accelerators.pictures import of_sweep
from palladion.accelerators.sweeps import Sweep
from palladion.cli.common import FILE, FOLDER, json_option, print_json
from palladion.cli.machines import work_of, write_pictures
from palladion.cli.progress import Steps
from palladion.cli.simulate_run import passes_options
from palladion.cli.table import print_table
from palladion.errors import FormatError
from palladion.machines import Machine, VectorSummary
from palladion.reproduce.plot import require
from palladion.support.destination import make_folder

WIDTH = 98


def parsed(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> list[Sweep]:
    """The sweeps of ``--sweep``."""
    return [Sweep.parse(text) for text in given]


def lanes_note(model: Machine, given: Sweep) -> str:
    """The unit that `lanes` of a sweep means: the widest."""
    summary = model.summary()
    assert isinstance(summary, VectorSummary), "a sweep is of a vector machine"
    lanes = summary.unit_lanes
    widest = max(lanes, key=lambda name: lanes[name])
    others = {name: count for name, count in lanes.items() if count < lanes[widest]}
    if not others:
        return "lanes: the lanes of every unit."
    first = given.values[0]
    scaled = ", ".join(
        f"{name} {max(1, count * first // lanes[widest]):,}" for name, count in others.items()
    )
    return (
        f"lanes: the lanes of {widest}, the widest unit, which has {lanes[widest]:,} in the file. "
        f"The others keep their proportion to it: with lanes={first} they have {scaled}. "
        "unit.NAME.lanes is that of one unit alone."
    )


@click.command()
@click.argument("given", type=FILE, metavar="TRACE_OR_PROGRAM")
@click.option(
    "--machine",
    required=True,
    help="f1, athena, craterlake, sharp, hyena, tiny, or a TOML file.",
)
@click.option(
    "--sweep",
    "asked",
    multiple=True,
    required=True,
    metavar="KEY=A:B",
    callback=parsed,
    help="Values of an integer of the machine's file: doubling from A to B, or a list A,B,C. KEY "
    "is its path, as memory.latency, or `lanes` for all units. Several make a grid.",
)
@passes_options
@click.option("--plot", type=FOLDER, help="Folder for pictures; needs matplotlib.")
@json_option
def sweep(
    given: Path,
    machine: str,
    asked: list[Sweep],
    order: str,
    eviction: str,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Simulate a program on a machine with other sizes: time, energy, area, EDP.

    Area and watts follow the sizes: linearly, unless the machine's file says otherwise.
    """
    model = Machine.of(machine)
    if plot is not None:
        require()
        make_folder(plot)
    with Steps(quiet=as_json) as steps:
        with steps.step("read trace"):
            work = work_of(given)
        steps.start_run()
        try:
            points = sweeps.run(model, work, asked, steps.count, order=order, eviction=eviction)
        except FormatError as error:
            raise FormatError(f"{machine}: {error}") from error
    best = sweeps.pareto(points)
    written: list[str] = []
    if plot is not None:
        written = write_pictures(plot, of_sweep(f"{given.stem} on {machine}", points, best))
    if as_json:
        found = [sweeps.to_json(*pair) for pair in zip(points, best, strict=True)]
        print_json(
            {"machine": machine, "scaling": model.scaling(), "points": found, "files": written}
        )
        return
    rows: list[dict[str, object]] = []
    for point, is_best in zip(points, best, strict=True):
        figures = point.figures
        rows.append(
            {
                **{key: str(value) for key, value in point.values.items()},
                "ms": "-" if figures is None else f"{figures['seconds'] * 1000:.3f}",
                "J": "-" if figures is None else f"{figures['joules']:.4g}",
                "mm2": "-" if figures is None else f"{figures['area_mm2']:.1f}",
                "EDP, J s": "-" if figures is None else f"{figures['edp']:.3g}",
                "": "does not fit" if figures is None else "best" if is_best else "",
            }
        )
    print_table(rows)
    refused = [point for point in points if point.refused is not None]
    notes = [
        *(lanes_note(model, one) for one in asked if one.key == "lanes"),
        "best: no other point is as good in time, energy and area, and better in one of them, "
        "to four digits.",
        f"Area and watts of a part grow with {model.scaling()}. These are rules, not synthesis.",
        *(f"does not fit: {point.refused}" for point in refused[:1]),
        *(f"written: {name}" for name in written),
    ]
    click.echo()
    for note in notes:
        click.echo(click.wrap_text(note, WIDTH, subsequent_indent="  "))
