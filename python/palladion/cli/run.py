"""``palladion run``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

import palladion
from palladion import files, memory
from palladion.cli.common import (
    FILE,
    json_option,
    peak_memory,
    phases,
    print_json,
    program_option,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.text import size


@click.command()
@program_option
@click.option("--keys", type=FILE, required=True, help="Evaluation keys.")
@click.option("--output", type=FILE, required=True, help="Where to write the answer.")
@click.option(
    "--checkpoint",
    type=FILE,
    help="Where to note after each layer how far the run is; if it is there, the run resumes.",
)
@click.argument("query", type=FILE)
@threads_option
@json_option
def run(
    program: palladion.Program,
    keys: Path,
    query: Path,
    output: Path,
    checkpoint: Path | None,
    as_json: bool,
) -> None:
    """Run a program on ciphertexts. Reads no secret key."""
    if checkpoint is not None and checkpoint.resolve() in {
        path.resolve() for path in (keys, query, output)
    }:
        raise click.BadParameter(f"{checkpoint} is another file too", param_hint="--checkpoint")
    memory.check_run(program.report())
    with Steps(quiet=as_json) as steps:
        given = files.parsed(query, partial(palladion.Query.from_bytes, program), b"ENCI")
        with steps.step("read keys"):
            evaluation = files.parsed(
                keys, partial(palladion.EvaluationKeys.from_bytes, program), b"EKEY"
            )
        resumed = files.read(checkpoint) if checkpoint and os.path.lexists(checkpoint) else None
        save = partial(files.write, checkpoint) if checkpoint else None
        steps.start_run()
        answer, report = program.run(evaluation, given, steps.update, resumed, save)
        data = answer.to_bytes()
        files.write(output, data)
        if checkpoint:
            files.remove(checkpoint)
    if as_json:
        extra = {"ciphertext_bytes": len(data), "peak_memory_bytes": peak_memory()}
        print_json({**report, **extra, "output": str(output)})
        return
    print_table(by_layer(report["steps"]))
    if report["resumed_steps"]:
        click.echo(f"{report['resumed_steps']} steps were taken from {checkpoint}")
    click.echo(f"{output}: {size(len(data))}, in {report['seconds']:.2f} s")


def by_layer(steps: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Seconds of each phase of the loop, one line per layer and one for all."""
    taken = phases(steps)
    names = list(dict.fromkeys(name.rpartition(": ")[2] for name in taken))
    layers = list(dict.fromkeys(name.rpartition(": ")[0] for name in taken))
    rows = [{name: taken.get(f"{layer}: {name}", 0.0) for name in names} for layer in layers]
    rows.append({name: sum(row[name] for row in rows) for name in names})
    return [
        {"layer": layer, **{name: f"{seconds:.2f}" for name, seconds in row.items()}}
        for layer, row in zip([*layers, "all, in seconds"], rows, strict=True)
    ]
