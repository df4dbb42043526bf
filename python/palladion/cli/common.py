"""Parts that several commands share: options, files, and figures as text."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

import palladion
from palladion.cli.ending import claim_stdout
from palladion.errors import InputWarning
from palladion.support.destination import Destination
from palladion.support.records import Json
from palladion.support.text import lined

if TYPE_CHECKING:
    from palladion import CompiledModel, IntNetwork
    from palladion.facts import ClientFacts, Costs
    from palladion.runs import RunStep
    from palladion.schemes.security import Security

Command = TypeVar("Command", bound=Callable[..., Any])


class Output(click.Path):
    """A file that the command writes.

    Whether it can be written is checked before the command starts. Where it is the standard
    output, the text for people goes to standard error, so that the two are not mixed.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        prepare_output(path)
        return path


def prepare_output(path: Path, needed: int = 0) -> None:
    """Check that a command can write ``needed`` bytes to a path, and keep standard output free for
    them.

    Raises
    ------
    DataError
        If they cannot be written.
    """
    to = Destination.of(path)
    to.check(needed)
    if to.is_stdout:
        claim_stdout()
        click.get_current_context().with_resource(redirect_stdout(sys.stderr))


FILE = click.Path(path_type=Path, dir_okay=False)
OUTPUT = Output(path_type=Path, dir_okay=False)
PATH = click.Path(path_type=Path, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False)


def threads_option(command: Command) -> Command:
    """``--threads N``, which takes effect before the command starts."""

    def use(_context: click.Context, _option: click.Parameter, count: int | None) -> int | None:
        if count is not None:
            palladion.set_threads(count)
        return count

    return click.option(
        "--threads",
        type=click.IntRange(min=1, max=4096),
        callback=use,
        help="Threads to compute with; default: all cores.",
        expose_value=False,
    )(command)


def json_option(command: Command) -> Command:
    """``--json``, given to the command as ``as_json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print the result as one JSON object."
    )(command)


def network_option(command: Command) -> Command:
    """``--network FILE``, given to the command as ``network``."""

    def read(_context: click.Context, _option: click.Parameter, path: Path | None) -> IntNetwork:
        return palladion.mnist_network() if path is None else palladion.IntNetwork.load(path)

    return click.option(
        "--network",
        type=FILE,
        callback=read,
        help="Integer network, as JSON or as export wrote it; default: the packaged MNIST network.",
    )(command)


def program_option(command: Command) -> Command:
    """``--program FILE``, given to the command as ``program``."""

    def read(_context: click.Context, _option: click.Parameter, path: Path) -> CompiledModel:
        return palladion.CompiledModel.load(path)

    return click.option(
        "--program",
        type=FILE,
        required=True,
        callback=read,
        help="Program, as compile wrote it.",
    )(command)


def client_option(required: bool = True) -> Callable[[Command], Command]:
    """``--client FILE``, given to the command as ``terms``: None if not given nor required.

    ``--program FILE``, which was there before, still works and says that a client needs none.
    """
    told = "palladion.terms"

    def of_program(context: click.Context, _option: click.Parameter, path: Path | None) -> None:
        if path is not None:
            context.meta[told] = palladion.CompiledModel.load(path).terms
            click.echo(f"warning: {path} has the network's weights, which a client need not have: "
                       "give --client, with the file that `palladion compile` and `palladion "
                       "split` write", err=True)  # fmt: skip

    def read(
        context: click.Context, _option: click.Parameter, path: Path | None
    ) -> palladion.Terms | None:
        if path is not None:
            from palladion.encryption import terms_of

            return terms_of(path)
        terms: palladion.Terms | None = context.meta.get(told)
        if terms is None and required:
            raise click.UsageError("Missing option '--client'.")
        return terms

    def decorated(command: Command) -> Command:
        client = click.option(
            "--client",
            "terms",
            type=FILE,
            callback=read,
            help="Client's file, as compile wrote it beside the program: PROGRAM.client.",
        )
        program = click.option(
            "--program", type=FILE, is_eager=True, hidden=True, expose_value=False,
            callback=of_program,
        )  # fmt: skip
        return client(program(command))

    return decorated


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect warnings about inputs that the body issues, and print them to standard error."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", InputWarning)
        yield found
    for entry in heard:
        if issubclass(entry.category, InputWarning):
            found.append(str(entry.message))
            click.echo(f"warning: {entry.message}", err=True)


def given(option: str) -> bool:
    """True if the user has given an option of the current command."""
    return click.get_current_context().get_parameter_source(option) == ParameterSource.COMMANDLINE


def batch_option(command: Command) -> Command:
    """``--batch K``, given to the command as ``batch``."""
    return click.option(
        "--batch", type=click.IntRange(min=1), default=1, help="Images in one run."
    )(command)


def print_json(data: Json) -> None:
    """Print one object on one line."""
    claim_stdout()
    click.echo(json.dumps(data))


def program_json(program: CompiledModel) -> Json:
    """A program's facts and the costs of its runs, as ``inspect --json`` has them."""
    return {**program.facts.to_json(), **program.costs().to_json()}


def print_rows(rows: Mapping[str, object]) -> None:
    """Print names and values in two columns."""
    for line in lined(rows):
        click.echo(line)


def print_warnings(warnings: Iterable[str]) -> None:
    """Print the warnings of the quantisation of a network."""
    for warning in warnings:
        click.echo(f"warning: {warning}")


def security_rows(security: Security) -> dict[str, object]:
    """The estimated security as rows: bits and cost model, and their source."""
    return {"security": security.text, "estimated by": security.basis}


def public_rows(facts: ClientFacts, costs: Costs) -> dict[str, object]:
    """The row of inputs under a public key: the failure of a run, or why there is none."""
    promised = facts.public_log2_failure
    if promised is None:
        return {"public inputs": f"not taken: {costs.public_inputs_refusal}"}
    return {"public inputs": f"at most 2^{promised} for a run"}


PHASES = {
    "input": "linear",
    "mul_coefficients": "linear",
    "add_coefficients": "linear",
    "dense": "linear",
    "merge": "linear",
    "slots_to_coefficients": "to coefficients",
    "to_samples": "to samples",
    "output": "linear",
}


def phase(step: str) -> str:
    """The phase of the loop to which a step of a program belongs: ``LAYER: PHASE``."""
    layer, _, operation = step.rpartition(": ")
    return f"{layer}: {PHASES.get(operation, operation)}"


def phases(steps: Iterable[RunStep]) -> dict[str, float]:
    """Seconds of each phase of the loop, from the report of a run."""
    seconds: dict[str, float] = {}
    for step in steps:
        name = phase(step.name)
        seconds[name] = seconds.get(name, 0.0) + step.seconds
    return seconds


def peak_memory() -> int:
    """The largest resident memory of this process so far, in bytes."""
    if sys.platform == "win32":  # Windows has no module `resource`
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
