"""``palladion simulate run``: a program on a vector machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import click

from palladion.accelerators.pictures import PARTS, of_run
from palladion.cli.common import FILE, FOLDER, OUTPUT, Command, json_option, print_json, print_rows
from palladion.cli.machines import work_of, write_pictures
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import FormatError, UsageError
from palladion.machines import Machine
from palladion.reproduce.plot import require
from palladion.simulation import Simulation, SimulationReport, simulate
from palladion.support import files
from palladion.support.destination import make_folder
from palladion.support.text import short, size


class StreamFields(TypedDict):
    """The fields of a report on the instruction streams."""

    streams_bytes: int
    streams_share: float
    streams: dict[str, int]


WIDTH = 98
"""Largest number of columns of a line of notes."""

TIMES = (
    "A step's time is from the end of all steps before it to its own end. Loads for later steps "
    "pass memory in it too: traffic is that of the step which reads them."
)

BYTES = ("register files", "scratchpad", "network", "memory")
"""The components that pass bytes. All others that pass anything are units, and pass words."""

MOST_STEPS = 12
"""Number of steps that are printed: the longest ones, in the order of the program."""


def passes_options(command: Command) -> Command:
    """``--order`` and ``--eviction``, given to the command under these names."""
    command = click.option(
        "--eviction",
        type=click.Choice(["belady", "lru"]),
        default="belady",
        help="The value that leaves a full scratchpad: read last, or read least recently.",
    )(command)
    return click.option(
        "--order",
        type=click.Choice(["hints", "program"]),
        default="hints",
        help="Order of operations: by their key-switch hints, or as in the trace.",
    )(command)


def window_of(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Cycles ``A:B``."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,18}):(\d{1,18})", text, re.ASCII)
    if found is None:
        raise UsageError(
            f"the window of the timeline is {text!r}, expected A:B, its first cycle and the one "
            "behind its last"
        )
    return int(found[1]), int(found[2])


@click.command()
@click.argument("given", type=FILE, metavar="TRACE_OR_PROGRAM")
@click.option(
    "--machine",
    required=True,
    help="f1, athena, craterlake, sharp, hyena, tiny, or a TOML file.",
)
@passes_options
@click.option("--plot", type=FOLDER, help="Folder for pictures; needs matplotlib.")
@click.option("--timeline", type=OUTPUT, help="File for https://ui.perfetto.dev to write.")
@click.option(
    "--timeline-cycles",
    "window",
    metavar="A:B",
    callback=window_of,
    help="Cycles of the timeline; default: all of them.",
)
@click.option("--keys", type=FILE, help="Evaluation keys: the schedule is executed on them.")
@click.option("--query", type=FILE, help="Encrypted query on which it is executed.")
@click.option("--output", type=OUTPUT, help="File to write the answer to.")
@click.option("--streams", type=FOLDER, help="Folder for the instruction streams.")
@json_option
def run(
    given: Path,
    machine: str,
    order: str,
    eviction: str,
    plot: Path | None,
    timeline: Path | None,
    window: tuple[int, int] | None,
    keys: Path | None,
    query: Path | None,
    output: Path | None,
    streams: Path | None,
    as_json: bool,
) -> None:
    """Simulate a whole program on a vector machine: time, energy, traffic.

    TRACE_OR_PROGRAM is a trace that `lower` wrote, or a program that `compile` wrote. Every
    instruction on limbs gets a unit and a cycle. An independent checker accepts the schedule
    before anything is printed.

    With --keys, --query and --output the instruction streams of the schedule are executed on the
    encrypted query, in the order of cycles. The answer has the words of `run`.
    """
    execution = execution_of(keys, query, output)
    if window is not None and timeline is None:
        raise UsageError("--timeline-cycles cuts a timeline, expected --timeline FILE beside it")
    model = Machine.of(machine)
    if plot is not None:
        require()
        make_folder(plot)
    if streams is not None:
        make_folder(streams)
    written: list[str] = []
    with Steps(quiet=as_json) as steps:
        with steps.step("read trace"):
            work = work_of(given)
        values = None
        if execution is not None:
            # Read before the schedule is searched, which may take a minute.
            with steps.step("read keys"):
                evaluation = files.parsed(execution.keys, work.keys, b"EKEY")
            values = evaluation, files.parsed(execution.query, work.query, b"ENCI")
        steps.start_run()
        try:
            simulation = simulate(work, model, steps.count, order=order, eviction=eviction)
        except FormatError as error:
            raise FormatError(f"{machine}: {error}") from error
        with steps.step("report"):
            report = simulation.report
        shown = model.titled(report.machine)
        if timeline is not None:
            with steps.step("timeline"):
                files.write(timeline, simulation.timeline(window))
            written.append(str(timeline))
        if streams is not None:
            with steps.step("streams"):
                written += map(str, simulation.streams.save(streams))
        digest = None
        if execution is not None and values is not None:
            steps.start_run()
            replayed = simulation.run(*values, steps.count)
            files.write(execution.output, replayed.answer)
            digest = {"raw_digest": replayed.raw_digest, "output": str(execution.output)}
        if plot is not None:
            with steps.step("pictures"):
                title = f"{given.stem} on {shown}"
                pictures = of_run(title, report, simulation.series(PARTS))
                written += write_pictures(plot, pictures)
    if as_json:
        source = None if model.source is None else str(model.source)
        over_time = simulation.series(PARTS).to_json()
        own = {"machine_file": source, "over_time": over_time, "files": written,
               **stream_fields(simulation, report), **(digest or {})}  # fmt: skip
        print_json({**report.to_json(), **own})
        return
    show(report, shown)
    fields = stream_fields(simulation, report)
    click.echo(
        f"streams: {size(fields['streams_bytes'])}, "
        f"{100 * fields['streams_share']:.3f} % of the traffic if each instruction is fetched once"
    )
    if digest is not None:
        click.echo(f"executed on words: {digest['output']}, raw digest {digest['raw_digest']}")
    for name in written:
        click.echo(f"written: {name}")


@dataclass(frozen=True)
class Execution:
    """The files of an execution on words."""

    keys: Path
    query: Path
    output: Path


def execution_of(keys: Path | None, query: Path | None, output: Path | None) -> Execution | None:
    """The files of an execution, if one is asked for.

    Raises
    ------
    UsageError
        If some of the three are missing.
    """
    if keys is None and query is None and output is None:
        return None
    if keys is None or query is None or output is None:
        named = {"--keys": keys, "--query": query, "--output": output}
        missing = ", ".join(name for name, path in named.items() if path is None)
        raise UsageError(f"to execute a schedule, {missing} is missing, expected --keys, --query "
                         "and --output together")  # fmt: skip
    return Execution(keys, query, output)


def stream_fields(simulation: Simulation, report: SimulationReport) -> StreamFields:
    """The size of the streams: bytes, and their share of all traffic with them."""
    fetched = simulation.streams.fetched_bytes
    return {
        "streams_bytes": fetched,
        "streams_share": fetched / max(report.traffic_total + fetched, 1),
        "streams": {one.name: one.size for one in simulation.streams.sizes},
    }


def show(report: SimulationReport, machine: str) -> None:
    """The report of a run on a machine, for a terminal."""
    traffic, compulsory = report.traffic_total, report.traffic_compulsory
    bounds = report.lower_bounds
    largest = max(bounds, key=lambda name: bounds[name])
    print_rows(
        {
            "machine": f"{machine}, {report.area_mm2:.1f} mm2",
            "time": f"{digits(1000 * report.seconds)} ms, {report.cycles:,} cycles",
            "energy": f"{report.joules:.4g} J, EDP {report.edp:.4g} J s, "
            f"EDAP {report.edap:.4g} J s mm2",
            "traffic": f"{size(traffic)}, {size(compulsory)} of it compulsory",
            "lower bound": f"{bounds[largest]:,} cycles: {largest}",
            "gap": f"{report.gap:.2f} times the lower bound, {report.tight_gap:.2f} times the "
            f"tighter one of {report.tight_bound:,} cycles",
        }
    )
    tables: list[list[dict[str, object]]] = [
        [
            {"unit": name, "busy": f"{100 * share:.1f}%"}
            for name, share in report.utilisation.items()
        ],
        [
            {"waited for": name, "share": f"{100 * share:.1f}%"}
            for name, share in report.stalls.items()
        ],
        [{"traffic": name, "bytes": size(n)} for name, n in report.traffic_bytes.items()],
        [{"instructions": name, "number": f"{n:,}"} for name, n in report.instructions.items()],
        components(report),
        kinds(report),
        step_rows(report),
    ]
    for rows in filter(None, tables):
        click.echo()
        print_table(rows)
    click.echo()
    click.echo(click.wrap_text(TIMES, WIDTH))


def digits(number: float) -> str:
    """A number with three places, or with four digits if it is small."""
    return f"{number:.3f}" if number >= 1 or number == 0 else f"{number:.4g}"


def components(report: SimulationReport) -> list[dict[str, object]]:
    """Energy, what it is counted by, and area by component."""
    joules, areas = report.joules_by_component, report.area_mm2_by_component
    accesses = report.accesses
    return [
        {
            "component": name,
            "energy": f"{100 * joules.get(name, 0) / max(report.joules, 1e-300):.1f}%",
            "mJ": f"{1000 * joules.get(name, 0):.4g}",
            "accesses": accessed(name, accesses),
            "pJ each": f"{1e12 * joules[name] / accesses[name]:.4g}" if accesses.get(name) else "-",
            "mm2": f"{areas[name]:.2f}" if name in areas else "-",
        }
        for name in [*joules, *(name for name in areas if name not in joules)]
    ]


def accessed(name: str, accesses: Mapping[str, int]) -> str:
    """The accesses of a component: bytes of memories and network, words of units."""
    if name not in accesses:
        return "-"
    count = accesses[name]
    return f"{count / 1e9:.4g} GB" if name in BYTES else f"{count / 1e9:.4g} G words"


def kinds(report: SimulationReport) -> list[dict[str, object]]:
    """How kinds of clusters work side by side, where there are several."""
    works, cycles = report.works_cycles, max(report.cycles, 1)
    if len(works) < 2:
        return []
    rows = {**works, "two at a time": report.together_cycles}
    return [
        {"clusters": name, "work": f"{100 * share / cycles:.1f}%"} for name, share in rows.items()
    ]


def step_rows(report: SimulationReport) -> list[dict[str, object]]:
    """The steps that take longest, in the order of the program, and all others as one."""
    steps = report.steps
    longest = sorted(range(len(steps)), key=lambda place: -steps[place].cycles)
    shown = sorted(longest[:MOST_STEPS])
    rest = longest[MOST_STEPS:]

    def row(name: str, places: list[int]) -> dict[str, object]:
        def total(field: str) -> float:
            return sum(float(getattr(steps[place], field)) for place in places)

        traffic = sum(sum(steps[place].traffic_bytes.values()) for place in places)
        return {
            "step": short(name, 40),
            "ms": digits(1000 * total("seconds")),
            "time": f"{100 * total('cycles') / max(report.cycles, 1):.1f}%",
            "joules": f"{total('joules'):.3g}",
            "traffic": size(traffic),
        }

    rows = [row(steps[place].name, [place]) for place in shown]
    return [*rows, row(f"{len(rest)} other steps", rest)] if rest else rows
