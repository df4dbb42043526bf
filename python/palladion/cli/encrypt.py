"""``palladion encrypt``."""

from __future__ import annotations

from pathlib import Path

import click

import palladion
from palladion.cli.common import (
    FILE,
    OUTPUT,
    client_option,
    json_option,
    print_json,
    threads_option,
    warned,
)
from palladion.cli.images import load_inputs
from palladion.cli.progress import Steps
from palladion.cli.secrets import open_secret, secret_option
from palladion.cli.stopping import timeout_option
from palladion.client import Client
from palladion.data.digits import takes_digits
from palladion.support import files
from palladion.support.text import size


@click.command()
@client_option()
@secret_option
@click.option("--output", type=OUTPUT, required=True, help="File to write the ciphertexts to.")
@click.argument("images", type=FILE, nargs=-1, required=True)
@timeout_option
@threads_option
@json_option
def encrypt(
    terms: palladion.Terms,
    secret: Path,
    output: Path,
    images: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Encrypt pictures or arrays.

    Pictures are PNG or JPEG files. Arrays are .npy files, or x of .npz files. An array has the
    model's own shape and unit, for one input or for N inputs.
    """
    with Steps(quiet=as_json) as steps:
        client = Client.of(terms, open_secret(secret))
        with warned() as warnings:
            inputs = load_inputs(client.boundary, images, digits=takes_digits(client.boundary))
        with steps.step("encrypt"):
            query = client.encrypt_integers(inputs)
        data = query.to_bytes()
        files.write(output, data)
    if as_json:
        print_json({"images": len(inputs), "ciphertext_bytes": len(data), "output": str(output),
                    "key_id": client.key_id, "layout_id": terms.layout_id,
                    "warnings": warnings})  # fmt: skip
    else:
        click.echo(f"{output}: {len(inputs)} encrypted, {size(len(data))}")
