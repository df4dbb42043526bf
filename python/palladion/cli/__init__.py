"""The command ``palladion``: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Final

import click

from palladion import __commit__, __version__
from palladion.cli.ending import Stdout, report
from palladion.cli.stopping import sigterm_as_error
from palladion.errors import IO, Stop
from palladion.support.events import show_events

COMMANDS: Final = {
    "demo": ("demo", "Encrypt a real digit, classify it, decrypt the answer."),
    "download": ("download", "Fetch and check the files of MNIST or CIFAR-10."),
    "import": ("quantise:import_", "Print the graph of an ONNX model."),
    "quantize": ("quantise:quantize", "Turn an ONNX model into an integer network."),
    "train": ("train", "Quantise an ONNX model and train its integers."),
    "export": ("export", "Write an integer network as an ONNX model."),
    "compile": ("compile:compile_", "Compile a network or an ONNX model."),
    "index": ("index", "Compile a collection of vectors for encrypted search."),
    "split": ("split", "Write the client's file of a program."),
    "inspect": ("inspect", "Predict the cost of a program or a network."),
    "cost": ("cost", "Predict what a request costs."),
    "keygen": ("keygen", "Make the keys of a program."),
    "keys": ("keys", "Show, seal, copy and replace keys."),
    "id": ("id:id_", "Show what a file is, and what it belongs to."),
    "encrypt": ("encrypt", "Encrypt pictures or arrays: the client's half."),
    "run": ("run", "Run a program on encrypted inputs."),
    "serve": ("serve", "Serve programs to clients that are elsewhere."),
    "tenants": ("tenants", "Say who may use a service."),
    "remote": ("remote", "Use a service: the client's half."),
    "serve-hybrid": ("hybrid:serve_hybrid", "Serve a program between two parties: its weights."),
    "identity": ("hybrid:identity_", "Make a client's certificate for such a server."),
    "query": ("hybrid:query", "Ask such a server: the client's half."),
    "decrypt": ("decrypt", "Decrypt an answer: the client's half."),
    "verify": ("verify", "Make a program again, and compare."),
    "lower": ("lower", "Write a program as instructions on limbs: a trace."),
    "replay": ("lower:replay", "Execute a trace on encrypted inputs."),
    "levelled": ("levelled", "Run polynomial networks on thousands of inputs."),
    "evaluate": ("evaluate", "Count right answers: float, integer, encrypted."),
    "packing": ("packing", "Compare packings of a layer, and run them."),
    "bench": ("bench", "Measure transforms, schemes, tables, and the loop."),
    "reproduce": ("reproduce", "Reproduce tables and figures of papers."),
    "simulate": ("simulate", "Simulate machines, cycle by cycle."),
    "xla": ("xla", "Measure XLA's kernels on this machine."),
    "info": ("info", "Show version, kernels, threads and security."),
    "params": ("params", "Show parameter sets and their security."),
}
"""For each command: its module here, its name there if it differs, and its description."""


class Commands(click.Group):
    """Imports a command's module when the command is called: the importer takes half a second."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, other = COMMANDS[name][0].partition(":")
        found = getattr(import_module(f"palladion.cli.{module}"), other or name)
        assert isinstance(found, click.Command), "the table names commands"
        return found

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__,
    prog_name="palladion",
    message=f"%(prog)s, version %(version)s, commit {__commit__}",
)
def commands() -> None:
    """Run neural networks on encrypted data."""


def main() -> None:
    """Run a command. One that fails gives one line, and the exit status of its kind."""
    stdout = Stdout()
    try:
        with sigterm_as_error():
            show_events(os.environ.get("PALLADION_LOG", ""))
            result = commands.main(prog_name="palladion", standalone_mode=False, obj=stdout)
        sys.stdout.flush()
        status = result if isinstance(result, int) else 0
    except SystemExit:  # click's own, when the reader of the output has ended
        status = IO.status
    except (Exception, KeyboardInterrupt, Stop) as error:
        status = report(error, sys.argv[1:], stdout)
    sys.exit(status)
