"""``palladion keygen``."""

from __future__ import annotations

from pathlib import Path

import click

import palladion
from palladion import IntNetwork
from palladion.cli.budget import Budget, budget_options
from palladion.cli.common import (
    FILE,
    FOLDER,
    client_option,
    given,
    json_option,
    print_json,
    print_rows,
    program_json,
    security_rows,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.client import Client
from palladion.deployment import CompiledModel, client_file
from palladion.errors import DataError, UsageError
from palladion.support import files, memory
from palladion.support.destination import check_folder, make_folder
from palladion.support.text import size

SECRET, EVALUATION, PROGRAM = "secret.key", "evaluation.key", "program"


@click.command()
@client_option(required=False)
@click.option(
    "--network",
    type=FILE,
    help="Integer network to compile first, as JSON; default: the packaged MNIST network.",
)
@click.option("--batch", type=click.IntRange(min=1), help="Images in one run; default 1.")
@click.option("--output", type=FOLDER, required=True, help="Folder to write to.")
@click.option("--force", is_flag=True, help="Replace existing keys.")  # fmt: skip
@budget_options
@threads_option
@json_option
def keygen(
    terms: palladion.Terms | None,
    network: Path | None,
    batch: int | None,
    output: Path,
    force: bool,
    budget: Budget,
    as_json: bool,
) -> None:
    """Make the keys for a program or a network.

    `secret.key` stays with the client. `evaluation.key` is for the server. A network is compiled
    first: then `program` is written too, for the server, and `program.client`, for the client.
    """
    if (output / SECRET).exists() and not force:
        raise DataError(f"{output / SECRET} exists: give another folder, or --force to replace it")
    check_folder(output)
    if terms is not None:
        refuse_compiling()
    with Steps(quiet=as_json) as steps:
        program = None
        if terms is None:
            chosen = palladion.mnist_network() if network is None else IntNetwork.load(network)
            with steps.step("compile"):
                program = CompiledModel.of_network(chosen, batch or 1)
            budget.check(program)
            terms = program.terms
        client = Client.generate(terms)
        facts = client.facts
        memory.check_writing(facts)
        make_folder(output)
        files.check(output / EVALUATION, facts.predicted_evaluation_key_bytes)
        for name in (SECRET, *[PROGRAM] * (program is not None)):
            files.check(output / name)
        with steps.step("make and write keys"):
            written = client.write_keys(output / EVALUATION)
            if program is not None:
                program.save(output / PROGRAM)
            client.save(output / SECRET)
    if as_json:
        report = facts.to_json() if program is None else program_json(program)
        print_json({**report, "evaluation_key_bytes": written, "output": str(output)})
        return
    rows: dict[str, object] = {
        f"{output / SECRET}": "keep it: only this file decrypts",
        f"{output / EVALUATION}": f"{size(written)}, for the server",
    }
    if program is not None:
        rows[f"{output / PROGRAM}"] = "for the server: it has the network's weights"
        rows[f"{client_file(output / PROGRAM)}"] = "for the client"
    print_rows({**rows, **security_rows(facts.security)})


def refuse_compiling() -> None:
    """Refuse options of compiling where there is a client's file."""
    for option in ("network", "batch", "budget_seconds", "budget_memory"):
        if given(option):
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is for compiling, and the program of --client is compiled "
                             f"already: give --{name} to compile")  # fmt: skip
