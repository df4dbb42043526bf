"""``palladion simulate``."""

from __future__ import annotations

from pathlib import Path

import click

from palladion import _native
from palladion.cli.common import json_option, print_json, print_rows
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.machines import SETS, Machine


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
        raise UsageError(f"{name} is no file, and no machine of ours: {known}")
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
@click.argument("name", default="versal")
def machine(name: str) -> None:
    """Print the file of a packaged machine, as a start for your own."""
    click.echo(_native.machine_file(name), nl=False)
