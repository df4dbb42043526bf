"""The command ``palladion``: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import os
import sys

import click

from palladion import __version__
from palladion.cli.bench import bench
from palladion.cli.compile import compile_
from palladion.cli.decrypt import decrypt
from palladion.cli.demo import demo
from palladion.cli.download import download
from palladion.cli.encrypt import encrypt
from palladion.cli.evaluate import evaluate
from palladion.cli.export import export
from palladion.cli.info import info
from palladion.cli.inspect import inspect
from palladion.cli.keygen import keygen
from palladion.cli.params import params
from palladion.cli.quantise import import_, quantize
from palladion.cli.reproduce import reproduce
from palladion.cli.run import run
from palladion.cli.simulate import simulate
from palladion.cli.train import train
from palladion.errors import PalladionError

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="palladion")
def commands() -> None:
    """Neural networks on data that they cannot see."""


COMMANDS = (
    demo, download, import_, quantize, train, export, compile_, inspect, keygen, encrypt, run,
    decrypt, evaluate, bench, reproduce, simulate, info, params
)  # fmt: skip
for command in COMMANDS:
    commands.add_command(command)


def main() -> None:
    """Run a command. What a user can get wrong ends in one line and a non-zero exit."""
    try:
        result = commands.main(prog_name="palladion", standalone_mode=False)
        sys.stdout.flush()
        status = result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        status = INTERRUPTED
    except PalladionError as error:
        click.echo(f"error: {error}", err=True)
        status = 1
    except MemoryError:
        click.echo("error: not enough memory", err=True)
        status = 1
    except BrokenPipeError:  # whoever read our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        status = 1
    sys.exit(status)
