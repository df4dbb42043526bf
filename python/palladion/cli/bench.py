"""``palladion bench``."""

from __future__ import annotations

from dataclasses import asdict

import click

from palladion.cli.common import json_option, print_json, threads_option
from palladion.measure.speed import NAMES, Measurement, measure


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--samples", type=click.IntRange(min=1), default=5, help="Samples for each figure.")
@click.option("--bootstrap/--no-bootstrap", default=True, help="Measure bootstrapping with ckks.")
@threads_option
@json_option
def bench(name: str, samples: int, bootstrap: bool, as_json: bool) -> None:
    """Measure the core: schemes, transforms, tables, or the whole loop.

    ckks ends with a bootstrapping, which takes 7 GB of memory. --no-bootstrap leaves it out.

    tfhe measures the fastest 128-bit sets that fail in less than one of 2^64 bootstrappings. Rows
    of a batch give the time of one of 64 gates or tables, on all threads.

    With --json each row is one object: name, parameters, threads, seconds (the median), samples.
    Short operations are repeated for at least a tenth of a second.
    """

    def hear(row: Measurement) -> None:
        if as_json:
            print_json(asdict(row))
        else:
            sizes = ", ".join(f"{key} {value}" for key, value in row.parameters.items())
            click.echo(f"{row.name:36}{row.seconds * 1e3:12.3f} ms   {sizes}")

    measure(name, hear, samples)
    if name == "ckks" and bootstrap:
        measure("bootstrap", hear, samples)
