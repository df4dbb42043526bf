"""``palladion simulate``."""

from __future__ import annotations

import click

from palladion.cli.common import json_option, print_json
from palladion.cli.simulate_packing import packing, packing_machine
from palladion.cli.simulate_pbs import pbs
from palladion.cli.simulate_run import run
from palladion.cli.simulate_sweep import sweep
from palladion.cli.table import print_table
from palladion.machines import Machine, SpatialSummary, VectorSummary, names
from palladion.support.records import to_json


@click.group()
def simulate() -> None:
    """Simulate accelerators, cycle by cycle or by a model. Nothing is encrypted."""


@simulate.command()
@click.argument("name", default="versal")
def machine(name: str) -> None:
    """Print the file of a packaged machine, as a start for your own."""
    click.echo(Machine.named(name).text, nl=False)


@simulate.command()
@json_option
def machines(as_json: bool) -> None:
    """List the packaged machines."""
    found = {name: Machine.named(name).summary() for name in names()}
    if as_json:
        print_json({name: to_json(summary) for name, summary in found.items()})
        return
    print_table(
        [
            {"machine": name, "family": summary.family, "parts": words(summary)}
            for name, summary in found.items()
        ]
    )
    click.echo()
    click.echo(
        "spatial machines: `simulate pbs`; vector machines: `simulate run`, `simulate sweep`"
    )


def words(summary: SpatialSummary | VectorSummary) -> str:
    """The parts of a machine, in a line."""
    if isinstance(summary, SpatialSummary):
        return f"{summary.tiles} tiles"
    clusters = summary.clusters
    return (
        f"{summary.word_bits}-bit words, {clusters} cluster{'s' * (clusters > 1)}, "
        f"{summary.scratchpad_bytes / 2**20:g} MiB, {summary.bytes_per_second / 1e12:g} TB/s, "
        f"{sum(summary.area_mm2.values()):.1f} mm2"
    )


simulate.add_command(packing)
simulate.add_command(packing_machine)
simulate.add_command(pbs)
simulate.add_command(run)
simulate.add_command(sweep)
