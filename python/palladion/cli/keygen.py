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
from palladion.cli.secrets import SECRET_FILE, open_secret, passphrase, passphrase_option
from palladion.cli.stopping import timeout_option
from palladion.client import Client
from palladion.deployment import CompiledModel, client_file
from palladion.encryption import terms_of
from palladion.errors import DataError, UsageError
from palladion.key_files import KeyFile
from palladion.secret import Secret
from palladion.support import files, memory
from palladion.support.destination import check_folder, make_folder
from palladion.support.text import size

SECRET, EVALUATION, PROGRAM = "secret.key", "evaluation.key", "program"


@click.command()
@client_option(required=False)
@click.option(
    "--also",
    type=FILE,
    multiple=True,
    help="Client's file of a further program, which the same keys are to serve.",
)
@click.option(
    "--network",
    type=FILE,
    help="Integer network to compile first, as JSON; default: the packaged MNIST network.",
)
@click.option("--batch", type=click.IntRange(min=1), help="Images in one run; default 1.")
@click.option(
    "--secret",
    type=SECRET_FILE,
    help="Secret key to use; default: a fresh one. - for standard input.",
)
@click.option(
    "--have",
    type=FILE,
    multiple=True,
    help="Evaluation keys that the server has already: only the missing ones are made.",
)
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="Life of a fresh secret.")
@click.option("--seal", is_flag=True, help="Seal the fresh secret by a passphrase.")
@click.option("--output", type=FOLDER, required=True, help="Folder to write to.")
@click.option("--force", is_flag=True, help="Replace existing keys.")  # fmt: skip
@passphrase_option
@budget_options
@timeout_option
@threads_option
@json_option
def keygen(
    terms: palladion.Terms | None,
    also: tuple[Path, ...],
    network: Path | None,
    batch: int | None,
    secret: Path | None,
    have: tuple[Path, ...],
    days: float | None,
    seal: bool,
    output: Path,
    force: bool,
    budget: Budget,
    as_json: bool,
) -> None:
    """Make the keys for a program or a network.

    `secret.key` stays with the client. `evaluation.key` is for the server. A network is compiled
    first: then `program` is written too, for the server, and `program.client`, for the client.

    The keys serve every program of the same parameters whose keys they have: a network that was
    trained or compiled again, and with --also further ones. With --secret and --have, the missing
    keys alone are made, and nothing is if none is missing.
    """
    if secret is not None and (days is not None or seal):
        raise UsageError("--days and --seal are for a fresh secret: `palladion keys seal` seals "
                         "the one of --secret")  # fmt: skip
    if have and secret is None:
        raise UsageError("--have is for more keys of the same secret: give it with --secret")
    written = [output / EVALUATION, *[output / SECRET] * (secret is None)]
    for path in written:
        if path.exists() and not force:
            raise DataError(f"{path} exists: give another folder, or --force to replace it")
    check_folder(output)
    if terms is not None:
        refuse_compiling()
    further = [terms_of(path) for path in also]
    held = [KeyFile.read(path) for path in have]
    kept = open_secret(secret) if secret is not None else Secret.generate(days=days)
    kept.check_life()
    word = passphrase("new passphrase", new=True) if seal else None
    with Steps(quiet=as_json) as steps:
        program = None
        if terms is None:
            chosen = palladion.mnist_network() if network is None else IntNetwork.load(network)
            with steps.step("compile"):
                program = CompiledModel.of_network(chosen, batch or 1)
            budget.check(program)
            terms = program.terms
        client = Client.of(terms, kept)
        facts = client.facts
        memory.check_writing(facts)
        make_folder(output)
        files.check(output / EVALUATION, facts.predicted_evaluation_key_bytes)
        for name in (SECRET, *[PROGRAM] * (program is not None)):
            files.check(output / name)
        with steps.step("make and write keys"):
            length = client.write_keys(output / EVALUATION, also=further, have=held)
            if program is not None:
                program.save(output / PROGRAM)
            if secret is None:
                kept.save(output / SECRET, passphrase=word)
    if as_json:
        report = facts.to_json() if program is None else program_json(program)
        ids = {"key_id": client.key_id, "profile_id": terms.profile_id}
        print_json({**report, **ids, "evaluation_key_bytes": length, "output": str(output)})
        return
    rows: dict[str, object] = {"key": client.key_id[:12]}
    if secret is None:
        protected = "sealed by your passphrase" if seal else "keep it: only this file decrypts"
        rows[f"{output / SECRET}"] = protected
    if length:
        rows[f"{output / EVALUATION}"] = f"{size(length)}, for the server"
    else:
        rows["evaluation keys"] = "none is missing: those that the server has serve this program"
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
