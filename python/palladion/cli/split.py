"""``palladion split``."""

from __future__ import annotations

from pathlib import Path

import click

import palladion
from palladion.cli.common import FILE, OUTPUT, json_option, print_json
from palladion.deployment import client_file
from palladion.support import files
from palladion.support.text import size


@click.command()
@click.option("--output", type=OUTPUT, help="File to write to; default: PROGRAM.client.")
@click.argument("program", type=FILE)
@json_option
def split(program: Path, output: Path | None, as_json: bool) -> None:
    """Write the client's file of a program.

    Keys, queries and decryption need this file alone. It has no weight, bias or table of the
    network. `compile` writes it too, so this is for programs that were compiled before.
    """
    data = palladion.CompiledModel.load(program).terms.to_bytes()
    to = output or client_file(program)
    files.write(to, data)
    if as_json:
        print_json({"client_bytes": len(data), "output": str(to)})
    else:
        click.echo(f"{to}: {size(len(data))}, for the client")
