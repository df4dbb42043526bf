"""``palladion keys``: names, lives and seals of keys."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import click

import palladion
from palladion.cli.common import (
    FILE,
    FOLDER,
    OUTPUT,
    client_option,
    json_option,
    print_json,
    print_rows,
    threads_option,
)
from palladion.cli.keygen import EVALUATION, SECRET
from palladion.cli.progress import Steps
from palladion.cli.secrets import first_line, open_secret, passphrase, passphrase_option
from palladion.client import Client
from palladion.errors import DataError, UsageError
from palladion.key_files import KeyFile, number_of_keys
from palladion.secret import Secret
from palladion.support import files
from palladion.support.destination import make_folder
from palladion.support.records import Json
from palladion.support.text import size


@click.group()
def keys() -> None:
    """Show, seal, copy and replace keys."""


@keys.command()
@click.argument("file", type=FILE)
@json_option
def show(file: Path, as_json: bool) -> None:
    """Show the identity, the life and the seal of a secret, or the profile of other keys."""
    found = describe(file)
    if as_json:
        print_json(found)
        return
    print_rows({name.replace("_", " "): value for name, value in found.items()
                if value is not None})  # fmt: skip


@keys.command()
@click.argument("file", type=FILE)
@click.option("--output", type=OUTPUT, help="File to write to; default: FILE itself.")
@passphrase_option
def seal(file: Path, output: Path | None) -> None:
    """Seal a secret by a passphrase, in its file or in another one.

    Argon2id derives a key from the passphrase, and ChaCha20-Poly1305 encrypts the secret under it.
    Commands that need the secret then ask for the passphrase, or take --passphrase-file.
    """
    secret = Secret.load(file)
    if secret.seal is not None:
        raise UsageError(f"{file} is sealed already: `palladion keys backup` writes it under "
                         "another passphrase")  # fmt: skip
    secret.save(output or file, passphrase=passphrase("new passphrase", new=True))
    click.echo(f"{output or file}: key {secret.key_id[:12]}, sealed by your passphrase")


@keys.command()
@click.argument("file", type=FILE)
@click.option("--output", type=OUTPUT, required=True, help="File to write the copy to.")
@click.option(
    "--new-passphrase-file", type=FILE, help="File whose first line seals the copy; default: you "
    "are asked."
)  # fmt: skip
@passphrase_option
def backup(file: Path, output: Path, new_passphrase_file: Path | None) -> None:
    """Write a sealed copy of a secret, to be kept elsewhere.

    The copy is a secret key like any other: every command takes it with its passphrase. It has the
    same identity, so all evaluation keys, queries and answers belong to it too.
    """
    secret = open_secret(file)
    if new_passphrase_file is not None:
        word = first_line(new_passphrase_file)
    else:
        word = passphrase("passphrase of the copy", new=True)
    secret.save(output, passphrase=word)
    click.echo(f"{output}: a copy of key {secret.key_id[:12]}, sealed by its passphrase")


@keys.command()
@click.argument("file", type=FILE)
@client_option()
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="Life of the new secret.")
@click.option("--seal", "sealed", is_flag=True, help="Seal the new secret by a passphrase.")
@click.option("--output", type=FOLDER, required=True, help="Folder for the new keys.")
@threads_option
@passphrase_option
def rotate(
    file: Path, terms: palladion.Terms, days: float | None, sealed: bool, output: Path
) -> None:
    """Make a new secret in the place of FILE, and its evaluation keys.

    FILE is kept: it decrypts the answers to queries that were encrypted under it. Remove it when
    none is left, and the evaluation keys of it at the server.
    """
    old = Secret.load(file)
    for name in (SECRET, EVALUATION):
        if (output / name).exists():
            raise DataError(f"{output / name} exists: give another folder")
    new = Secret.generate(days=days)
    word = passphrase("new passphrase", new=True) if sealed else None
    with Steps(quiet=False) as steps:
        make_folder(output)
        with steps.step("make and write keys"):
            length = Client.of(terms, new).write_keys(output / EVALUATION)
        new.save(output / SECRET, passphrase=word)
    print_rows({
        "new key": f"{new.key_id[:12]}, in {output / SECRET}",
        f"{output / EVALUATION}": f"{size(length)}, for the server",
        "old key": f"{old.key_id[:12]}: {file} still decrypts its answers",
    })  # fmt: skip


@keys.command()
@click.argument("file", type=FILE)
@client_option()
@click.option("--output", type=OUTPUT, required=True, help="File to write the public key to.")
@passphrase_option
@json_option
def public(file: Path, terms: palladion.Terms, output: Path, as_json: bool) -> None:
    """Write the public key of a secret, FILE, under which anyone can encrypt.

    Give it to those whose inputs you alone are to decrypt: `encrypt --public` takes it. It serves
    every program of the same parameters. It has no secret in it, but whoever replaces it reads what
    is then encrypted: compare the `sha256` of `palladion id` over another way.
    """
    client = Client.of(terms, open_secret(file))
    data = client.public_key().to_bytes()
    files.write(output, data)
    promised = client.facts.public_log2_failure
    note = None
    if promised is None:
        note = ("the program of --client takes no inputs under a public key: compile it again, "
                "where `palladion compile` says what they lack")  # fmt: skip
    if as_json:
        print_json({"key_id": client.key_id, "public_key_bytes": len(data), "output": str(output),
                    "public_log2_failure": promised})  # fmt: skip
        return
    click.echo(f"{output}: public key of {client.key_id[:12]}, {size(len(data))}, for `palladion "
               "encrypt --public`")  # fmt: skip
    if note is not None:
        click.echo(f"warning: {note}", err=True)


def describe(file: Path) -> Json:
    """The statements of a file of keys about itself."""
    kind = files.kind(files.read(file))
    readers = {files.OURS[b"EKEY"][0]: KeyFile.read, files.OURS[b"PKEY"][0]: KeyFile.read_public}
    if kind in readers:
        held = readers[kind](file)
        profile = json.loads(held.profile)
        return {
            "kind": kind,
            "key_id": held.key_id,
            "profile_id": held.profile_id,
            "created": text_of(held.created),
            "expires": life_of(held.expires),
            "keys": number_of_keys(held.profile),
            "parameters": f"N = {profile['n']}, {len(profile['q'])} limbs and {len(profile['p'])} "
            f"special ones, digits of {profile['digit_limbs']}",
            "size": size(held.bytes),
        }
    secret = Secret.load(file)
    protected = {None: "none: whoever has the file has the secret", "passphrase": "a passphrase",
                 "wrapped": f"wrapped by {secret.wrapped_by}"}  # fmt: skip
    return {
        "kind": files.OURS[b"SKEY"][0],
        "key_id": secret.key_id,
        "created": text_of(secret.created),
        "expires": life_of(secret.expires),
        "seal": protected[secret.seal],
    }


def text_of(moment: datetime | None) -> str | None:
    """A moment in UTC, to the second."""
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def life_of(expires: datetime | None) -> str | None:
    """The end of a life, and whether it is over."""
    if expires is None:
        return None
    over = expires <= datetime.now(timezone.utc)
    return f"{text_of(expires)}{', which is over' if over else ''}"
