"""How a command ends: its exit status, its message, and the line of JSON."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import click

from palladion.errors import (
    INTERRUPTED,
    IO,
    TERMINATED,
    USAGE,
    Kind,
    PalladionError,
    Stop,
    can_retry,
    kind_of,
)


@dataclass
class Stdout:
    """State of standard output: the object that click passes to a command."""

    has_result: bool = False
    """Whether a result was printed, or the option ``--output`` took standard output."""


def claim_stdout() -> None:
    """Note that standard output has a result, so that no error is printed after it."""
    stdout = click.get_current_context().find_object(Stdout)
    if stdout is not None:
        stdout.has_result = True


@dataclass(frozen=True)
class Failure:
    """The end of a command that has failed."""

    kind: Kind
    message: str
    retry: bool

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure of a command that raised an error."""
        if isinstance(error, (click.Abort, KeyboardInterrupt)):
            return cls(INTERRUPTED, "interrupted", INTERRUPTED.retry)
        if isinstance(error, click.ClickException):
            kind = IO if isinstance(error, click.FileError) else USAGE
            return cls(kind, error.format_message(), retry=False)
        kind = kind_of(error)
        if isinstance(error, MemoryError):
            message = "not enough memory"
        elif isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            message = f"cannot print to standard output: {error.strerror}"
        elif isinstance(error, (OSError, PalladionError, Stop)):
            message = str(error)
        else:
            message = f"{type(error).__name__}: {error}"
        return cls(kind, message, can_retry(error))

    def to_json(self) -> str:
        """The line that ``--json`` prints."""
        fields = {"kind": self.kind.name, "status": self.kind.status, "retry": self.retry,
                  "message": self.message}  # fmt: skip
        return json.dumps({"error": fields})


def report(error: BaseException, arguments: Sequence[str], stdout: Stdout) -> int:
    """Print why a command with these arguments failed. Returns its exit status."""
    failure = Failure.of(error)
    if isinstance(error, BrokenPipeError):  # the reader of the output has ended, such as `head`
        drop_output()
        return failure.kind.status
    if isinstance(error, click.ClickException):
        error.show()
    elif failure.kind in (INTERRUPTED, TERMINATED):
        click.echo(failure.message, err=True)
    elif isinstance(error, (OSError, MemoryError, PalladionError, Stop)):
        click.echo(f"error: {failure.message}", err=True)
    else:  # a fault of this package
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        drop_output()
    elif wants_json(arguments) and not stdout.has_result:
        click.echo(failure.to_json())
    return failure.kind.status


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether ``--json`` is among the options, even if the command has not read them."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def drop_output() -> None:
    """Send standard output nowhere: Python writes the rest at its end, and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
