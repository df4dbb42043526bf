"""``palladion simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from palladion import _native
from palladion.cli.common import json_option, print_json, print_rows
from palladion.cli.machines import machine_of
from palladion.cli.simulate_run import run
from palladion.cli.simulate_sweep import sweep
from palladion.cli.table import print_table
from palladion.machines import SETS, Machine


@click.group()
def simulate() -> None:
    """Simulate accelerators, cycle by cycle. Nothing is encrypted."""


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


@simulate.command()
@json_option
def machines(as_json: bool) -> None:
    """List the packaged machines."""
    found = {name: Machine.named(name).summary() for name in _native.machine_names()}
    if as_json:
        print_json(found)
        return
    print_table(
        [
            {"machine": name, "family": summary["family"], "what it has": words(summary)}
            for name, summary in found.items()
        ]
    )
    click.echo()
    click.echo(
        "spatial machines: `simulate pbs`; vector machines: `simulate run`, `simulate sweep`"
    )


def words(summary: Mapping[str, Any]) -> str:
    """What a machine has, in a line."""
    if summary["family"] == "spatial":
        return f"{summary['tiles']} tiles"
    area = sum(summary["area_mm2"].values())
    mebibytes = summary["scratchpad_bytes"] / 2**20
    clusters = summary["clusters"]
    return (
        f"{summary['word_bits']}-bit words, {clusters} cluster{'s' * (clusters > 1)}, "
        f"{mebibytes:g} MiB, {summary['bytes_per_second'] / 1e12:g} TB/s, "
        f"{area:.1f} mm2"
    )


simulate.add_command(run)
simulate.add_command(sweep)
