"""``palladion simulate``."""

from __future__ import annotations

from pathlib import Path

import click

import palladion
from palladion import _native, files
from palladion.cli.common import FILE, json_option, print_json, print_rows
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import FormatError, UsageError
from palladion.machines import SETS, Machine
from palladion.text import size


@click.group()
def simulate() -> None:
    """Simulate accelerators, cycle by cycle. Nothing is encrypted."""


def machine_of(name: str) -> Machine:
    """A packaged machine by its name, or a machine from its file.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if name in _native.machine_names():
        return Machine.named(name)
    path = Path(name)
    if not path.is_file():
        known = ", ".join(_native.machine_names())
        raise UsageError(f"{name} is no file and no packaged machine, expected one of {known}")
    return Machine.load(path)


@simulate.command()
@click.option("--machine", default="versal", help="Name of a packaged machine, or a TOML file.")
@click.option("--set", "name", type=click.Choice([*SETS]), default="I", help="Parameter set.")
@json_option
def pbs(machine: str, name: str, as_json: bool) -> None:
    """Simulate a programmable bootstrapping: tiles, time, power, energy.

    Simulates the blind rotation. The modulus switch and the key switch, which run on the processor,
    are not simulated.
    """
    given = SETS[name]
    found = machine_of(machine).bootstrap(given)
    if as_json:
        print_json({"set": name, "security": given.security, **found})
        return
    print_rows(
        {
            "machine": found["machine"],
            "set": f"{name}: n = {given.lwe_dimension}, k = {given.rank}, N = {given.n}, "
            f"{given.levels} digits of {given.base_log} bits",
            "security": given.security,
            "multipliers": f"{found['multipliers']} of {found['elements']} elements",
            "tiles": f"{found['tiles']} of {found['tiles_available']}",
            "channels": f"{found['channels']}, {found['channel_gigabits']:.2f} Gbit/s at most",
            "keys": f"{found['key_gigabits']:.2f} Gbit/s",
            "an iteration": f"{found['iteration_us']:.2f} us, {found['iterations']} of them",
            "simulated time": f"{found['latency_ms']:.2f} ms",
            "power": f"{found['watts']:.1f} W: {found['static_watts']:.1f} static, "
            f"{found['tile_watts']:.1f} tiles, {found['channel_watts']:.1f} keys",
            "energy": f"{found['energy_mj']:.1f} mJ",
        }
    )
    click.echo()
    print_table(
        [
            {
                "tiles of": kind["name"],
                "number": kind["tiles"],
                "busy": "-" if kind["busy"] is None else f"{100 * kind['busy']:.1f}%",
                "what one does": kind["does"],
            }
            for kind in found["kinds"]
        ]
    )


@simulate.command()
@click.argument("given", type=FILE, metavar="TRACE_OR_PROGRAM")
@click.option("--machine", required=True, help="f1, athena, tiny, or a TOML file.")
@click.option(
    "--order",
    type=click.Choice(["hints", "program"]),
    default="hints",
    help="Order of operations: those that share a key-switch hint together, or that of the trace.",
)
@click.option(
    "--eviction",
    type=click.Choice(["belady", "lru"]),
    default="belady",
    help="What leaves a full scratchpad: what is read last, or what was read least recently.",
)
@json_option
def run(given: Path, machine: str, order: str, eviction: str, as_json: bool) -> None:
    """Simulate a whole program on a vector machine: time, energy, traffic.

    TRACE_OR_PROGRAM is a trace that `lower` wrote, or a program that `compile` wrote. Every
    instruction on limbs gets a unit and a cycle. An independent checker accepts the schedule
    before anything is printed.
    """
    model = machine_of(machine)
    with Steps(quiet=as_json) as steps:
        with steps.step("read trace"):
            trace = trace_of(given)
        steps.start_run()
        try:
            found = model.run(trace, steps.count, order=order, eviction=eviction)
        except FormatError as error:
            raise FormatError(f"{machine}, {given}: {error}") from error
    if as_json:
        print_json(found)
        return
    traffic, compulsory = found["traffic_total"], found["traffic_compulsory"]
    bounds = found["lower_bounds"]
    largest = max(bounds, key=lambda name: bounds[name])
    print_rows(
        {
            "machine": f"{found['machine']}, {found['area_mm2']:.1f} mm2",
            "time": f"{found['seconds'] * 1000:.3f} ms, {found['cycles']:,} cycles",
            "energy": f"{found['joules']:.4g} J, EDP {found['edp']:.4g} J s",
            "traffic": f"{size(traffic)}, {size(compulsory)} of it compulsory",
            "lower bound": f"{bounds[largest]:,} cycles: {largest}",
            "gap": f"{found['gap']:.2f} times the lower bound",
        }
    )
    kinds = [
        (
            "unit",
            "busy",
            {name: f"{100 * share:.1f}%" for name, share in found["utilisation"].items()},
        ),
        (
            "waited for",
            "share",
            {name: f"{100 * share:.1f}%" for name, share in found["stalls"].items()},
        ),
        ("traffic", "bytes", {name: size(count) for name, count in found["traffic_bytes"].items()}),
        ("instructions", "number", {name: f"{n:,}" for name, n in found["instructions"].items()}),
    ]
    for head, value, entries in kinds:
        click.echo()
        print_table([{head: name, value: text} for name, text in entries.items()])


def trace_of(path: Path) -> str:
    """The text of a trace, from its file or from a program's.

    Raises
    ------
    FormatError
        If the file is neither.
    """
    data = files.read(path)
    if data.startswith(files.MAGIC):
        text, _ = files.parsed(path, palladion.Program.from_bytes, b"PROG").lower()
        return text.decode()
    try:
        return data.decode()
    except UnicodeDecodeError:
        found = files.kind(data) or "no text"
        raise FormatError(
            f"{path} is {found}, expected a trace or a program: `palladion lower` and "
            "`palladion compile` write them"
        ) from None


@simulate.command()
@click.argument("name", default="versal")
def machine(name: str) -> None:
    """Print the file of a packaged machine, as a start for your own."""
    click.echo(_native.machine_file(name), nl=False)
