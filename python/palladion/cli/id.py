"""``palladion id``."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from palladion.cli.common import FILE, json_option, print_json, print_rows
from palladion.identity import identities
from palladion.support import files


@click.command(name="id")
@click.argument("file", type=FILE)
@json_option
def id_(file: Path, as_json: bool) -> None:
    """Show what a file of Palladion is, and what it belongs to.

    Every file has `sha256`, the hash of its bytes. Identities that two files share fit together: a
    query fits a program of the same layout, keys fit a query of the same key, an answer belongs to
    its program and its query.
    """
    data = files.read(file)
    found = {"kind": files.kind(data), **identities(file, data),
             "sha256": hashlib.sha256(data).hexdigest()}  # fmt: skip
    if as_json:
        print_json(found)
    else:
        print_rows({name.replace("_", " "): "unknown" if value is None else value
                    for name, value in found.items()})  # fmt: skip
