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
from palladion.cli.secrets import SECRET_FILE, open_secret, passphrase_option
from palladion.cli.stopping import timeout_option
from palladion.client import Client
from palladion.data.digits import takes_digits
from palladion.encryption import Encryption, Encryptor
from palladion.errors import UsageError
from palladion.support import files
from palladion.support.text import size


@click.command()
@client_option()
@click.option("--secret", type=SECRET_FILE, help="The client's secret key; - for standard input.")
@click.option("--public", type=FILE, help="Public key to encrypt under, in place of --secret.")
@passphrase_option
@click.option("--output", type=OUTPUT, required=True, help="File to write the ciphertexts to.")
@click.argument("images", type=FILE, nargs=-1, required=True)
@timeout_option
@threads_option
@json_option
def encrypt(
    terms: palladion.Terms,
    secret: Path | None,
    public: Path | None,
    output: Path,
    images: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Encrypt pictures or arrays.

    Pictures are PNG or JPEG files. Arrays are .npy files, or x of .npz files. An array has the
    model's own shape and unit, for one input or for N inputs.

    With --public, a file of `palladion keys public`, only the owner of the secret can decrypt, and
    needs the query to do so. Whoever has the public key can encrypt: nothing shows who did.
    """
    with Steps(quiet=as_json) as steps:
        half = encryption(terms, secret, public)
        with warned() as warnings:
            inputs = load_inputs(half.boundary, images, digits=takes_digits(half.boundary))
        with steps.step("encrypt"):
            query = half.encrypt_integers(inputs)
        data = query.to_bytes()
        files.write(output, data)
    if as_json:
        print_json({"images": len(inputs), "ciphertext_bytes": len(data), "output": str(output),
                    "key_id": half.key_id, "layout_id": terms.layout_id,
                    "warnings": warnings})  # fmt: skip
    else:
        click.echo(f"{output}: {len(inputs)} encrypted, {size(len(data))}")


def encryption(terms: palladion.Terms, secret: Path | None, public: Path | None) -> Encryption:
    """The client, or one who has its public key alone."""
    if secret is not None and public is not None:
        raise UsageError("--secret and --public: give one of them")
    if public is not None:
        return Encryptor.load(terms, public)
    if secret is None:
        raise UsageError("encrypt needs --secret, or --public with a public key, which `palladion "
                         "keys public` makes of the secret")  # fmt: skip
    return Client.of(terms, open_secret(secret))
