"""``palladion run``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click
import numpy as np

import palladion
from palladion.cli.common import (
    FILE,
    OUTPUT,
    json_option,
    peak_memory,
    phases,
    print_json,
    print_rows,
    program_option,
    security_rows,
    threads_option,
    warned,
)
from palladion.cli.decrypt import outputs_json, show_outputs
from palladion.cli.halves import Figures, both_halves
from palladion.cli.images import load_inputs
from palladion.cli.progress import Steps
from palladion.cli.stopping import saving, timeout_option
from palladion.cli.table import print_table
from palladion.cli.target import prepare, target_options
from palladion.data.digits import takes_digits
from palladion.deployment import CompiledModel
from palladion.errors import DataError, Stop, UsageError
from palladion.measure.threads import Threads, counts, measure_threads
from palladion.nn.datasets.dataset import labels_beside
from palladion.nn.datasets.labels import per_input
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Ints
from palladion.nn.quality.scores import Array, Score, scores
from palladion.runs import RunStep
from palladion.support import files
from palladion.support.text import size
from palladion.targets import Target


@click.command()
@program_option
@click.option(
    "--keys",
    type=FILE,
    multiple=True,
    help="Evaluation keys, for a query. Give several files that complete each other.",
)
@click.option(
    "--output",
    type=OUTPUT,
    help="File to write the answer to; for inputs, an .npz file of outputs.",
)
@click.option(
    "--checkpoint",
    type=OUTPUT,
    help="File to save progress in: after each layer, and when a run on the CPU is stopped. If it "
    "exists, the run resumes from it.",
)
@click.option(
    "--count", type=click.IntRange(min=1), help="Number of inputs to run; one batch unless given."
)
@click.option(
    "--predict-threads",
    "most",
    type=click.IntRange(min=1, max=4096),
    metavar="N",
    help="Run the query once more, on one thread, and predict the seconds on up to N threads.",
)
@click.argument("query", type=FILE)
@target_options
@timeout_option
@threads_option
@json_option
def run(
    program: CompiledModel,
    keys: tuple[Path, ...],
    query: Path,
    output: Path | None,
    checkpoint: Path | None,
    count: int | None,
    most: int | None,
    target: Target,
    as_json: bool,
) -> None:
    """Run a program on encrypted inputs. With --keys it reads no secret key.

    Without --keys, QUERY is a file of inputs, as `encrypt` takes them. Client and server then run
    in this process, with fresh keys that are not kept. Labels `y` of an .npz file are compared with
    the answers.
    """
    if not keys:
        if checkpoint is not None:
            raise UsageError("--checkpoint is for a query: give --keys with it")
        if most is not None:
            raise UsageError("--predict-threads is for a query: give --keys with it")
        run_inputs(program, query, output, count, target, as_json)
        return
    if output is None or count is not None:
        raise UsageError("--keys is for a query: give --output for its answer, and no --count")
    if most is not None and (checkpoint is not None or target.name != "cpu"):
        raise UsageError("--predict-threads is for whole runs on the CPU: give no --checkpoint and "
                         "no --target")  # fmt: skip
    run_query(program, keys, query, output, checkpoint, most, target, as_json)


def run_query(
    program: CompiledModel,
    keys: tuple[Path, ...],
    query: Path,
    output: Path,
    checkpoint: Path | None,
    most: int | None,
    target: Target,
    as_json: bool,
) -> None:
    """Run the server's half."""
    if checkpoint is not None and checkpoint.resolve() in {
        path.resolve() for path in (*keys, query, output)
    }:
        raise click.BadParameter(f"{checkpoint} is another file too", param_hint="--checkpoint")
    security = program.facts.security
    with program.reserved(target), Steps(quiet=as_json) as steps:
        sent = files.parsed(query, program.query, b"ENCI")
        with steps.step("read keys"):
            evaluation = read_keys(program, keys)
        resumed = files.read(checkpoint) if checkpoint and os.path.lexists(checkpoint) else None
        prepared = prepare(program, target, steps, resumed, saving=checkpoint is not None)
        if checkpoint is None:
            answer = prepared(evaluation, sent, steps.update)
        else:
            save, anywhere = partial(files.write, checkpoint), target.name == "cpu"
            with saving(save, steps.update, at_any_step=anywhere) as saver, told(checkpoint):
                answer = prepared(evaluation, sent, saver.progress, saver.save)
        report, data = answer.report, answer.to_bytes()
        files.write(output, data)
        if checkpoint:
            files.remove(checkpoint)
        scaling = None
        if most is not None:
            steps.finish()
            steps.start_run()
            scaling = measure_threads(program, evaluation, sent, report, most, steps.update)
    if as_json:
        extra = {"ciphertext_bytes": len(data), "peak_memory_bytes": peak_memory()}
        ids = {"program_id": program.terms.program_id, "key_id": sent.key,
               "query_id": sent.hash().hex()}  # fmt: skip
        named = {**ids, "security": asdict(security), "output": str(output)}
        more = {} if scaling is None or most is None else {"scaling": scaling.to_json(most)}
        print_json({**report.to_json(), **extra, **named, **more})
        return
    print_table(by_layer(report.steps))
    if report.resumed_steps:
        click.echo(f"{report.resumed_steps} steps were taken from {checkpoint}")
    print_rows(security_rows(security))
    click.echo(f"{output}: {size(len(data))}, in {answer.seconds:.2f} s")
    if scaling is not None and most is not None:
        show_threads(scaling, most)


def show_threads(scaling: Threads, most: int) -> None:
    """Print the predicted seconds, and the steps that gain least from more threads."""
    click.echo(f"\nOne thread took {scaling.work_seconds:.2f} s, of which unlimited threads would "
               f"take {scaling.span_seconds:.2f}. Predicted seconds:\n")  # fmt: skip
    print_table([
        {
            "threads": str(predicted.threads),
            "seconds": f"{predicted.seconds:.2f}",
            "with contention": f"{predicted.contended_seconds:.2f}",
        }
        for predicted in map(scaling.on, counts(most))
    ])  # fmt: skip
    click.echo("\nSteps that would take most of it on unlimited threads:\n")
    longest = sorted(scaling.steps, key=lambda step: -(step.span_seconds or 0.0))[:5]
    print_table([
        {
            "step": step.name,
            "one thread": f"{step.seconds:.2f} s",
            "unlimited threads": f"{step.span_seconds:.2f} s",
        }
        for step in longest
    ])  # fmt: skip


@contextmanager
def told(checkpoint: Path) -> Iterator[None]:
    """Say how a run goes on that is stopped in the body and has a checkpoint."""
    try:
        yield
    except (Stop, KeyboardInterrupt):
        if checkpoint.exists():
            click.echo(f"{checkpoint} has the finished steps: the same command goes on from there",
                       err=True)  # fmt: skip
        raise


def read_keys(program: CompiledModel, paths: tuple[Path, ...]) -> palladion.EvaluationKeys:
    """The evaluation keys of one file, or of several that complete each other."""
    return program.open_keys(*paths)


def run_inputs(
    program: CompiledModel,
    path: Path,
    output: Path | None,
    count: int | None,
    target: Target,
    as_json: bool,
) -> None:
    """Run both halves on the user's inputs, and compare with their labels if there are any."""
    refuse_ciphertexts(path)
    boundary = program.boundary
    with warned() as warnings:
        inputs = load_inputs(boundary, (path,), digits=takes_digits(boundary))
    chosen = slice(count or program.facts.batch)
    labels = labels_beside(path) if path.suffix.lower() == ".npz" else None
    if labels is not None:
        try:
            labels = per_input(labels, len(inputs))[chosen]
            score(boundary, np.zeros((len(labels), program.facts.classes), np.int64), labels)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
    with Steps(quiet=as_json) as steps:
        outcome = both_halves(program, inputs[chosen], steps, target)
    prediction, compared = score(boundary, outcome.integers, labels)
    number = len(prediction)
    if output is not None:
        files.write_arrays(output, prediction.outputs)
    correct = None if compared.accuracy is None else round(compared.accuracy * number)
    r2 = compared.r2 if number > 1 else None
    figures = Figures.of(program, outcome)
    if as_json:
        print_json({
            "inputs": number,
            "inputs_in_file": len(inputs),
            **outputs_json(prediction),
            "correct": correct,
            "r2": r2,
            "warnings": warnings,
            "output": None if output is None else str(output),
            **figures.to_json(),
        })  # fmt: skip
        return
    show_outputs(prediction)
    if correct is not None:
        click.echo(f"right: {correct} of {number}")
    if r2 is not None:
        click.echo(f"r2 against the labels: {r2:.4f}")
    if number < len(inputs):
        click.echo(f"{number} of the {len(inputs)} inputs were run: --count takes more")
    click.echo()
    figures.show()


def score(boundary: Boundary, logits: Ints, labels: Array | None) -> tuple[Prediction, Score]:
    """Answers and their score. Called with any integers, it checks that the labels fit the model.

    Raises
    ------
    DataError
        If the labels do not fit.
    """
    prediction = Prediction.of(boundary, logits)
    if labels is None:
        return prediction, Score("encrypted")
    return prediction, scores({"encrypted": prediction}, labels)["encrypted"]


def refuse_ciphertexts(path: Path) -> None:
    """Refuse a query where inputs are expected."""
    try:
        with path.open("rb") as file:
            start = file.read(len(files.MAGIC) + 4)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if start.startswith(files.MAGIC):
        raise UsageError(f"{path} is {files.kind(start)}, expected inputs where there are no "
                         "--keys: give --keys and --output to run encrypted images")  # fmt: skip


def by_layer(steps: Iterable[RunStep]) -> list[dict[str, str]]:
    """Seconds of each phase of the loop, one line per layer and one in total."""
    taken = phases(steps)
    names = list(dict.fromkeys(name.rpartition(": ")[2] for name in taken))
    layers = list(dict.fromkeys(name.rpartition(": ")[0] for name in taken))
    rows = [{name: taken.get(f"{layer}: {name}", 0.0) for name in names} for layer in layers]
    rows.append({name: sum(row[name] for row in rows) for name in names})
    return [
        {"layer": layer, **{name: f"{seconds:.2f}" for name, seconds in row.items()}}
        for layer, row in zip([*layers, "all, in seconds"], rows, strict=True)
    ]
