"""``palladion run``."""

from __future__ import annotations

from pathlib import Path

import click

import palladion
from palladion import files
from palladion.cli.common import (
    FILE,
    json_option,
    peak_memory,
    phases,
    print_json,
    print_rows,
    program_option,
    size,
    threads_option,
)
from palladion.cli.progress import Steps


@click.command()
@program_option
@click.option("--keys", type=FILE, required=True, help="Evaluation keys.")
@click.option("--output", type=FILE, required=True, help="Where to write the answer.")
@click.argument("query", type=FILE)
@threads_option
@json_option
def run(program: palladion.Program, keys: Path, query: Path, output: Path, as_json: bool) -> None:
    """Run a program on ciphertexts. Reads no secret key."""
    with Steps(quiet=as_json) as steps:
        with steps.step("read keys"):
            evaluation = palladion.EvaluationKeys.from_bytes(program, files.read(keys))
        given = palladion.Query.from_bytes(program, files.read(query))
        steps.start_run()
        answer, report = program.run(evaluation, given, steps.update)
        data = answer.to_bytes()
        files.write(output, data)
    if as_json:
        extra = {"ciphertext_bytes": len(data), "peak_memory_bytes": peak_memory()}
        print_json({**report, **extra, "output": str(output)})
        return
    print_rows({name: f"{taken:.2f} s" for name, taken in phases(report["steps"]).items()})
    click.echo(f"{output}: {size(len(data))}, in {report['seconds']:.2f} s")
