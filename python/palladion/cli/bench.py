"""``palladion bench``."""

from __future__ import annotations

import click

from palladion import _native
from palladion.cli.common import json_option, print_json, threads_option


@click.command()
@click.argument("what", type=click.Choice(["ntt", "bfv", "lut", "loop"]))
@click.option("--samples", type=click.IntRange(min=1), default=5, help="Samples per figure.")
@threads_option
@json_option
def bench(what: str, samples: int, as_json: bool) -> None:
    """Measure the core: transforms, ciphertext products, tables, or the whole loop.

    With --json one object per row: name, parameters, threads, seconds (the median), samples.
    """
    for row in _native.bench(what, samples):
        if as_json:
            print_json(row)
        else:
            click.echo(f"{row['name']:36} {row['parameters']:40} {row['seconds'] * 1e3:12.3f} ms")
