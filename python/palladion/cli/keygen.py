"""``palladion keygen``."""

from __future__ import annotations

from pathlib import Path

import click

import palladion
from palladion import IntNetwork, files, memory
from palladion.cli.budget import Budget, budget_options
from palladion.cli.common import (
    FILE,
    FOLDER,
    json_option,
    print_json,
    print_rows,
    security_rows,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.errors import DataError, UsageError
from palladion.text import size

SECRET, EVALUATION, PROGRAM = "secret.key", "evaluation.key", "program"


@click.command()
@click.option(
    "--network",
    type=FILE,
    help="Integer network, as JSON; default: the packaged MNIST network.",
)
@click.option("--program", "compiled", type=FILE, help="Program, as compile wrote it.")
@click.option("--batch", type=click.IntRange(min=1), help="Images in one run; default 1.")
@click.option("--output", type=FOLDER, required=True, help="Folder to write to.")
@click.option("--force", is_flag=True, help="Replace existing keys.")  # fmt: skip
@budget_options
@threads_option
@json_option
def keygen(
    network: Path | None,
    compiled: Path | None,
    batch: int | None,
    output: Path,
    force: bool,
    budget: Budget,
    as_json: bool,
) -> None:
    """Make the keys for a program or a network.

    A network is compiled first. Writes three files. `secret.key` stays with the client.
    `evaluation.key` and `program` are for the server.
    """
    if (output / SECRET).exists() and not force:
        raise DataError(f"{output / SECRET} exists: give another folder, or --force to replace it")
    if compiled is not None and (network is not None or batch is not None):
        raise UsageError("--program is compiled already: give no --network and no --batch with it")
    with Steps(quiet=as_json) as steps:
        if compiled is not None:
            program = files.parsed(compiled, palladion.Program.from_bytes, b"PROG")
        else:
            given = palladion.mnist_network() if network is None else IntNetwork.load(network)
            with steps.step("compile"):
                program = palladion.compile_network(given.to_json(), batch or 1)
        report = program.report()
        budget.check(report)
        memory.check_writing(report)
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot make the folder {output}: {error.strerror}") from error
        with steps.step("make and write keys"):
            secret = palladion.SecretKey.generate(program)
            with files.replacing(output / EVALUATION) as name:
                written = secret.write_evaluation_keys(name)
            data = program.to_bytes()
            files.write(output / PROGRAM, data)
            files.write(output / SECRET, secret.to_bytes(), secret=True)
    if as_json:
        sizes = {"evaluation_key_bytes": written}
        print_json({**report, **sizes, "output": str(output)})
        return
    print_rows(
        {
            f"{output / SECRET}": "keep it: only this file decrypts",
            f"{output / EVALUATION}": f"{size(written)}, for the server",
            f"{output / PROGRAM}": f"{size(len(data))}, for both",
            **security_rows(report["security"]),
        }
    )
