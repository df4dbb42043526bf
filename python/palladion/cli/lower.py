"""``palladion lower`` and ``palladion replay``."""

from __future__ import annotations

from pathlib import Path

import click

from palladion.cli.common import FILE, OUTPUT, json_option, print_json, threads_option
from palladion.cli.progress import Steps
from palladion.cli.stopping import timeout_option
from palladion.cli.table import print_table
from palladion.cli.target import target_options
from palladion.deployment import CompiledModel
from palladion.errors import FormatError, UsageError
from palladion.support import files
from palladion.support.text import size
from palladion.targets import CPU, Target
from palladion.traces import Trace


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
    compiled = CompiledModel.load(program)
    if to != "trace":
        text = compiled.recording() if to == "recording" else compiled.text().encode()
        files.write(output, text)
        if as_json:
            print_json({"text_bytes": len(text), "output": str(output)})
        else:
            click.echo(f"{output}: {size(len(text))}")
        return
    trace = compiled.lower()
    text, counts = trace.text.encode(), trace.counts()
    files.write(output, text)
    length = len(text)
    if as_json:
        print_json({**counts.to_json(), "trace_bytes": length, "output": str(output)})
        return
    names = list(counts.instructions.items())
    passes = list(counts.passes.items())
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
    click.echo(f"{output}: {size(length)}")


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
@timeout_option
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
            loaded = Trace.load(trace)
            verify(loaded, trace)
        if program is not None:
            with steps.step("compare with the program"):
                check(loaded, trace, program)
        with steps.step("read keys"):
            evaluation = files.parsed(keys, loaded.keys, b"EKEY")
        sent = files.parsed(query, loaded.query, b"ENCI")
        if target == CPU:
            replayer = loaded.prepare(target)
        elif target.devices is not None:
            raise UsageError("a trace is executed on one device: leave out --devices")
        else:
            with steps.step(f"prepare for {target.place()}"):
                replayer = loaded.prepare(target)
        steps.start_run()
        replayed = replayer(evaluation, sent, steps.count if target == CPU else steps.update)
    files.write(output, replayed.answer)
    length = len(replayed.answer)
    if as_json:
        print_json({**loaded.counts().to_json(), "answer_bytes": length,
                    "raw_digest": replayed.raw_digest, "output": str(output)})  # fmt: skip
        return
    click.echo(f"{output}: {size(length)}")


def verify(trace: Trace, path: Path) -> None:
    """Check that a text is the trace of a compiled network.

    Raises
    ------
    FormatError
        The message names the file, the line, its content and the expected one.
    """
    try:
        trace.verify()
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def check(trace: Trace, path: Path, program: Path) -> None:
    """Check that a trace is that of a program.

    Raises
    ------
    FormatError
        The message names the first instruction that differs.
    """
    own = CompiledModel.load(program)
    try:
        own.check_trace(trace)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
