"""Secrets and passphrases on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from palladion.cli.common import FILE
from palladion.errors import DataError, UsageError
from palladion.secret import Secret

Command = TypeVar("Command", bound=Callable[..., Any])

VARIABLE = "PALLADION_PASSPHRASE"
"""The environment variable that may have a passphrase."""

SOURCE = "palladion.passphrase"

SECRET_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def secret_option(command: Command) -> Command:
    """``--secret FILE``, given to the command as ``secret`` for :func:`open_secret`, and
    ``--passphrase-file FILE``."""
    option = click.option("--secret", type=SECRET_FILE, required=True,
                          help="The client's secret key; - for standard input.")  # fmt: skip
    return passphrase_option(option(command))


def passphrase_option(command: Command) -> Command:
    """``--passphrase-file FILE``, of which :func:`passphrase` knows."""

    def kept(context: click.Context, _option: click.Parameter, path: Path | None) -> None:
        context.meta[SOURCE] = path

    return click.option(
        "--passphrase-file",
        type=FILE,
        is_eager=True,
        expose_value=False,
        callback=kept,
        help=f"File whose first line is the passphrase of the secret; default: ${VARIABLE}, or "
        "you are asked.",
    )(command)


def open_secret(path: Path) -> Secret:
    """The secret in a file. Its passphrase is asked for if it has one.

    Raises
    ------
    UsageError
        If it is wrapped by a service, which only a Python program can ask.
    """
    secret = Secret.load(path)
    if secret.seal == "wrapped":
        raise UsageError(f"{path} is wrapped by {secret.wrapped_by}: use Secret.load(path, "
                         "unwrap=...) from Python")  # fmt: skip
    if secret.seal == "passphrase":
        return secret.open(passphrase(f"passphrase of {path}"))
    return secret


def passphrase(prompt: str, *, new: bool = False) -> str:
    """The passphrase: from ``--passphrase-file``, from the environment, or from the user.

    A ``new`` one is asked for twice.

    Raises
    ------
    DataError
        If the file cannot be read.
    UsageError
        If there is nobody to ask.
    """
    path: Path | None = click.get_current_context().meta.get(SOURCE)
    if path is not None:
        return first_line(path)
    if (found := os.environ.get(VARIABLE)) is not None:
        return found
    if not sys.stdin.isatty():
        raise UsageError(f"the {prompt} is needed: give --passphrase-file or ${VARIABLE}")
    word: str = click.prompt(prompt, hide_input=True, confirmation_prompt=new, err=True)
    return word


def first_line(path: Path) -> str:
    """The passphrase in a file: its first line.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the passphrase in {path}: {error}") from error
