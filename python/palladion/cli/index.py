"""``palladion index``."""

from __future__ import annotations

from pathlib import Path

import click

from palladion.cli.common import (
    FILE,
    OUTPUT,
    batch_option,
    json_option,
    print_json,
    print_rows,
    program_json,
    security_rows,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.deployment import client_file
from palladion.errors import DataError, UsageError
from palladion.identity import ids_of
from palladion.nn.datasets.dataset import read_array
from palladion.search import FEWEST_BITS, MOST_BITS, Records, SearchIndex
from palladion.support import files
from palladion.support.seconds import threads
from palladion.support.text import at_most, size


@click.command()
@click.argument("vectors", type=FILE)
@click.option("--output", type=OUTPUT, required=True, help="File to write the program to.")
@click.option(
    "--bits",
    type=click.IntRange(FEWEST_BITS, MOST_BITS),
    help="Size of the integers with their sign; default: the largest at which scores fit.",
)
@click.option(
    "--limit", type=float,
    help="Largest absolute coordinate of a query; default: that of the vectors.",
)  # fmt: skip
@click.option(
    "--records", type=FILE,
    help="Text with a line for each vector: write a program that fetches them, too.",
)  # fmt: skip
@batch_option
@threads_option
@json_option
def index(
    vectors: Path,
    output: Path,
    bits: int | None,
    limit: float | None,
    records: Path | None,
    batch: int,
    as_json: bool,
) -> None:
    """Compile a collection for encrypted search.

    VECTORS is a .npy file with an array of shape (N, d). Writes the program, for the service, and
    the client's file beside it, with the ending .client. The program has the vectors in the clear.
    With --records, it also writes NAME-records.program and its client's file.
    """
    if files.streams(output):
        raise UsageError("--output is a stream: give a file, beside which the client's file goes")
    beside = client_file(output)
    files.check(beside)
    with Steps(quiet=as_json) as steps:
        with steps.step("round the vectors"):
            array = read_array(vectors)
            collection = SearchIndex.of_vectors(array, bits=bits, limit=limit, name=output.stem)
        with steps.step("compile"):
            program = collection.compile(batch)
        data, for_client = program.to_bytes(), program.terms.to_bytes()
        files.write(output, data)
        files.write(beside, for_client)
        if records is not None:
            with steps.step("compile the records"):
                write_records(records, output, len(array), batch)
    count, dimension = collection.vectors.shape
    if as_json:
        print_json({**program_json(program), **ids_of(program.terms), "vectors": count,
                    "dimension": dimension, "levels": collection.levels,
                    "largest_score": collection.bound, "output": str(output),
                    "program_bytes": len(data), "client": str(beside),
                    "client_bytes": len(for_client)})  # fmt: skip
        return
    facts, costs = program.facts, program.costs()
    print_rows({
        f"{output}": f"{size(len(data))}, for the service: it has the vectors in the clear",
        f"{beside}": f"{size(len(for_client))}, for the client",
        "vectors": f"{count} of dimension {dimension}, as integers up to {collection.levels}",
        "scores": f"exact, up to {collection.bound}",
        **security_rows(facts.security),
        "failure": f"{at_most(facts.predicted_log2_failure)} for a run",
        "predicted": f"{costs.wall_seconds():.2f} s on {threads()} threads, "
        f"{size(costs.predicted_run_memory_bytes)} of memory",
    })  # fmt: skip


def write_records(path: Path, output: Path, count: int, batch: int) -> None:
    """Write the program of the records beside that of the vectors."""
    lines = files.read(path).splitlines()
    if len(lines) != count:
        raise DataError(f"{path} has {len(lines)} lines, expected {count}, one for each vector")
    target = output.with_name(f"{output.stem}-records{output.suffix}")
    program = Records.of_bytes(lines, name=target.stem).compile(batch)
    files.write(target, program.to_bytes())
    files.write(client_file(target), program.terms.to_bytes())
