"""``palladion lower`` and ``palladion replay``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

import palladion
from palladion import files
from palladion.cli.common import FILE, OUTPUT, json_option, print_json, threads_option
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.cli.target import Target, target_options
from palladion.errors import FormatError
from palladion.text import size


@click.command()
@click.argument("program", type=FILE)
@click.option("--output", type=OUTPUT, required=True, help="File to write the text to.")
@click.option(
    "--to",
    type=click.Choice(["program", "recording", "trace"]),
    default="trace",
    help="Floor to stop at: the program's steps, operations on ciphertexts, or instructions on "
    "limbs. Only a trace can be replayed. Default: trace.",
)
@json_option
def lower(program: Path, output: Path, to: str, as_json: bool) -> None:
    """Write a program as a trace: every instruction on limbs that a run executes.

    PROGRAM is a file that `compile` or `keygen` wrote. Prints how often each instruction is
    executed, and the passes over limbs that this takes.
    """
    given = files.parsed(program, palladion.Program.from_bytes, b"PROG")
    if to != "trace":
        text = given.record() if to == "recording" else given.to_text().encode()
        files.write(output, text)
        if as_json:
            print_json({"text_bytes": len(text), "output": str(output)})
        else:
            click.echo(f"{output}: {size(len(text))}")
        return
    text, counts = given.lower()
    files.write(output, text)
    if as_json:
        print_json({**counts, "trace_bytes": len(text), "output": str(output)})
        return
    names = list(counts["instructions"].items())
    passes = list(counts["passes"].items())
    rows = [
        {
            "instruction": name,
            "executed": f"{executed:,}" if name else "",
            "passes over limbs": kind,
            "count": f"{count:,}" if kind else "",
        }
        for (name, executed), (kind, count) in zip(
            names + [("", 0)] * (len(passes) - len(names)),
            passes + [("", 0)] * (len(names) - len(passes)),
            strict=True,
        )
    ]
    print_table(rows)
    click.echo(f"{output}: {size(len(text))}")


@click.command()
@click.argument("trace", type=FILE)
@click.option("--keys", type=FILE, required=True, help="Evaluation keys of the trace's program.")
@click.option("--output", type=OUTPUT, required=True, help="File to write the answer to.")
@click.option(
    "--program",
    type=FILE,
    help="Program that the trace must be of, to the last instruction: it is lowered again.",
)
@click.argument("query", type=FILE)
@target_options
@threads_option
@json_option
def replay(
    trace: Path,
    keys: Path,
    output: Path,
    program: Path | None,
    query: Path,
    target: Target,
    as_json: bool,
) -> None:
    """Execute a trace, instruction by instruction, on an encrypted query.

    Before the answer is hidden it has the words of `run`: both print the same digest of them with
    --json. On the target cpu a replay fuses nothing, so it takes longer than a run: it is the
    definition that runs, simulators and other machines are held to.
    """
    with Steps(quiet=as_json) as steps:
        with steps.step("read trace"):
            given = load(trace)
        if program is not None:
            with steps.step("compare with the program"):
                check(given, trace, program)
        with steps.step("read keys"):
            evaluation = files.parsed(
                keys, partial(palladion.EvaluationKeys.from_bytes, given), b"EKEY"
            )
        sent = files.parsed(query, partial(palladion.Query.from_bytes, given), b"ENCI")
        answer, digest = target.replay(given, evaluation, sent, steps)
    files.write(output, answer)
    if as_json:
        print_json({**given.counts(), "answer_bytes": len(answer), "raw_digest": digest,
                    "output": str(output)})  # fmt: skip
        return
    click.echo(f"{output}: {size(len(answer))}")


def load(path: Path) -> palladion.Trace:
    """Read the text of a trace.

    Raises
    ------
    FormatError
        If the file is no trace. The message names the file, the line, and what was found and
        expected.
    """
    data = files.read(path)
    try:
        return palladion.Trace.from_text(data.decode())
    except UnicodeDecodeError as error:
        found = files.kind(data) or "no text"
        raise FormatError(
            f"{path} is {found}, expected a trace: `palladion lower` writes one"
        ) from error
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def check(trace: palladion.Trace, path: Path, program: Path) -> None:
    """Check that a trace is that of a program.

    Raises
    ------
    FormatError
        The message names the first instruction that differs.
    """
    own = files.parsed(program, palladion.Program.from_bytes, b"PROG")
    try:
        trace.check(own)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
