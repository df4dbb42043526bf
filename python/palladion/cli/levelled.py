"""``palladion levelled``: networks of polynomials, for thousands of inputs in one run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np

from palladion.cli.common import (
    FILE,
    FOLDER,
    OUTPUT,
    PATH,
    json_option,
    peak_memory,
    print_json,
    print_rows,
    threads_option,
    warned,
)
from palladion.cli.decrypt import outputs_json, show_outputs
from palladion.cli.progress import Steps
from palladion.cli.stopping import timeout_option
from palladion.errors import DataError
from palladion.levelled import (
    LevelledAnswer,
    LevelledClient,
    LevelledModel,
    LevelledProgram,
    LevelledQuery,
    LevelledTerms,
)
from palladion.nn.datasets import dataset
from palladion.nn.datasets.dataset import Array, read_array
from palladion.support import files
from palladion.support.records import Json
from palladion.support.text import size

SECRET, EVALUATION = "secret.key", "evaluation.key"
SHOWN = 16
"""Inputs whose outputs are printed."""

client_file = click.option(
    "--client", type=FILE, required=True, help="The client's file: PROGRAM.client."
)
secret_file = click.option("--secret", type=FILE, required=True, help="The client's secret key.")


@click.group()
def levelled() -> None:
    """Run networks of linear layers and polynomials on thousands of inputs at once.

    There are no tables and no bootstrapping. Results have errors, as floating point has.
    """


@levelled.command(name="compile")
@click.argument("model", type=FILE)
@click.option(
    "--calibrate",
    type=PATH,
    required=True,
    help="Inputs of the model, whose range is that of later inputs: .npy or .npz file, or folder "
    "of MNIST's or CIFAR-10's files.",
)
@click.option(
    "--squares", type=click.IntRange(min=1), metavar="EPOCHS",
    help="Put squares in the place of ReLUs, and train for so many epochs: --calibrate has labels "
    "y too.",
)  # fmt: skip
@click.option("--batch", type=click.IntRange(min=1), default=4096, help="Most inputs in one run.")
@click.option("--output", type=OUTPUT, required=True, help="File to write the program to.")
@timeout_option
@threads_option
@json_option
def compile_(
    model: Path, calibrate: Path, squares: int | None, batch: int, output: Path, as_json: bool
) -> None:
    """Compile an ONNX model whose functions are polynomials, such as squares.

    Writes the program, for the server, and beside it the client's file, with the ending .client.
    """
    network = LevelledModel.from_onnx(model)
    with Steps(quiet=as_json) as steps:
        if squares is None:
            inputs = inputs_of(calibrate)
        else:
            examples = dataset.read(calibrate, "train")
            inputs = examples.images
            steps.start_run()
            network = network.with_squares(
                inputs, examples.labels, epochs=squares,
                progress=lambda done, total, loss: steps.count(
                    "train", done, total, f"loss {loss:.4f}"
                ),
            )  # fmt: skip
        with steps.step("compile"):
            program = network.compile(inputs, batch)
            program.save(output)
        with steps.step("predict errors"):
            bits = program.precision(inputs[:16]).bits
    facts = {**facts_of(program), "predicted_precision_bits": round(bits, 1)}
    if as_json:
        print_json({**facts, "output": str(output), "client": f"{output}.client"})
        return
    terms = program.terms
    print_rows({
        str(output): f"{size(output.stat().st_size)}, for the server: it has the weights",
        f"{output}.client": "for the client's keygen, encrypt and decrypt",
        "inputs": f"at most {terms.batch}, {terms.slots} in a ciphertext",
        "security": f"{terms.params.security.text}",
        "parameters": f"N = {terms.params.n}, {terms.depth} levels of {terms.scale_bits} bits",
        "memory": f"{size(program.memory_bytes)} for a run, beside the query",
        "precision": f"{bits:.1f} bits predicted: the largest output over the largest error",
    })  # fmt: skip


@levelled.command()
@client_file
@click.option("--output", type=FOLDER, required=True, help="Folder to write to.")
@click.option("--force", is_flag=True, help="Replace existing keys.")
@timeout_option
@threads_option
@json_option
def keygen(client: Path, output: Path, force: bool, as_json: bool) -> None:
    """Make keys: secret.key for the client, evaluation.key for the server."""
    terms = LevelledTerms.load(client)
    for name in (SECRET, EVALUATION):
        if (output / name).exists() and not force:
            raise DataError(f"{output / name} exists: give another folder, or --force to replace "
                            "it")  # fmt: skip
    output.mkdir(parents=True, exist_ok=True)
    owner = LevelledClient(terms)
    data = owner.keys().to_bytes()
    files.write(output / EVALUATION, data)
    owner.save(output / SECRET)
    if as_json:
        print_json({"evaluation_key_bytes": len(data), "output": str(output)})
        return
    print_rows({
        str(output / SECRET): "keep it: only this file decrypts",
        str(output / EVALUATION): f"{size(len(data))}, for the server",
    })  # fmt: skip


@levelled.command()
@client_file
@secret_file
@click.option("--output", type=OUTPUT, required=True, help="File to write the query to.")
@click.argument("inputs", type=FILE)
@timeout_option
@threads_option
@json_option
def encrypt(client: Path, secret: Path, output: Path, inputs: Path, as_json: bool) -> None:
    """Encrypt inputs: an .npy file, or x of an .npz file, in the model's own shape and unit."""
    owner = LevelledClient.load(client, secret)
    with warned() as warnings, Steps(quiet=as_json) as steps, steps.step("encrypt"):
        query = owner.encrypt(read_array(inputs))
        data = query.to_bytes()
        files.write(output, data)
    if as_json:
        print_json({"inputs": query.count, "query_bytes": len(data), "output": str(output),
                    "warnings": warnings})  # fmt: skip
    else:
        click.echo(f"{output}: {query.count} inputs encrypted, {size(len(data))}")


@levelled.command()
@click.option("--program", type=FILE, required=True, help="Program, as compile wrote it.")
@click.option("--keys", type=FILE, required=True, help="The client's evaluation keys.")
@click.option("--output", type=OUTPUT, required=True, help="File to write the answer to.")
@click.argument("query", type=FILE)
@timeout_option
@threads_option
@json_option
def run(program: Path, keys: Path, output: Path, query: Path, as_json: bool) -> None:
    """Run a program on encrypted inputs: the server's half."""
    chosen = LevelledProgram.load(program)
    sent = files.parsed(query, lambda data: LevelledQuery.from_bytes(chosen.terms, data), b"LVLQ")
    with Steps(quiet=as_json) as steps, steps.step("run"):
        began = time.perf_counter()
        answer = chosen.run(files.read(keys), sent)
        seconds = time.perf_counter() - began
        data = answer.to_bytes()
        files.write(output, data)
    if as_json:
        print_json({"inputs": sent.count, "seconds": seconds, "answer_bytes": len(data),
                    "peak_memory_bytes": peak_memory(), "output": str(output)})  # fmt: skip
    else:
        click.echo(f"{output}: {sent.count} inputs in {seconds:.2f} s, {size(len(data))}")


@levelled.command()
@client_file
@secret_file
@click.option("--query", type=FILE, required=True, help="The query, as encrypt wrote it.")
@click.option("--output", type=OUTPUT, help="File to write the outputs to, in .npz form.")
@click.argument("answer", type=FILE)
@timeout_option
@threads_option
@json_option
def decrypt(
    client: Path, secret: Path, query: Path, output: Path | None, answer: Path, as_json: bool
) -> None:
    """Decrypt the answer to a query, and print the model's outputs."""
    owner = LevelledClient.load(client, secret)
    terms = owner.terms
    sent = files.parsed(query, lambda data: LevelledQuery.from_bytes(terms, data), b"LVLQ")
    received = files.parsed(answer, lambda data: LevelledAnswer.from_bytes(terms, data), b"LVLA")
    prediction = owner.decrypt(received, sent)
    if output is not None:
        files.write_arrays(output, prediction.outputs)
    if as_json:
        print_json(outputs_json(prediction))
        return
    show_outputs(prediction, most=SHOWN)


@levelled.command()
@click.argument("program", type=FILE)
@click.option(
    "--data", type=PATH, required=True,
    help="Test data: .npz file of inputs x and labels y, or folder of MNIST's or CIFAR-10's files.",
)  # fmt: skip
@click.option("--count", type=click.IntRange(min=1), help="Inputs to run; default: a batch.")
@timeout_option
@threads_option
@json_option
def evaluate(program: Path, data: Path, count: int | None, as_json: bool) -> None:
    """Run a program on test data, in the clear and encrypted, and count right answers."""
    chosen = LevelledProgram.load(program)
    examples = dataset.read(data, "test", min(count or chosen.terms.batch, chosen.terms.batch))
    seconds: dict[str, float] = {}
    with warned() as warnings, Steps(quiet=as_json) as steps:

        @contextmanager
        def timed(name: str) -> Iterator[None]:
            with steps.step(name):
                began = time.perf_counter()
                yield
                seconds[name] = time.perf_counter() - began

        with timed("prepare"):
            assert chosen.circuit is not None, "written here, not in the run"
        with timed("make keys"):
            owner = chosen.client()
            keys = owner.keys().to_bytes()
        with timed("encrypt"):
            query = owner.encrypt(examples.images)
        with timed("run"):
            answer = chosen.run(keys, query)
        with timed("decrypt"):
            encrypted = owner.decrypt(answer, query)
        clear = chosen.predict(examples.images)
    largest = float(np.abs(clear.values).max())
    difference = float(np.abs(encrypted.values - clear.values).max())
    result: Json = {
        **facts_of(chosen), "inputs": len(examples.labels), "seconds": seconds,
        "evaluation_key_bytes": len(keys), "query_bytes": int(query.ciphertexts.size),
        "answer_bytes": int(answer.ciphertexts.size), "peak_memory_bytes": peak_memory(),
        "largest_difference": difference, "largest_output": largest, "warnings": warnings,
    }  # fmt: skip
    if clear.classes is not None and encrypted.classes is not None:
        result["clear_correct"] = int((clear.classes == examples.labels).sum())
        result["encrypted_correct"] = int((encrypted.classes == examples.labels).sum())
        result["same_class"] = int((clear.classes == encrypted.classes).sum())
    if as_json:
        print_json(result)
        return
    total = len(examples.labels)
    lengths = ("evaluation_key_bytes", "query_bytes", "answer_bytes")
    rows: dict[str, object] = {name: f"{value:.2f} s" for name, value in seconds.items()}
    rows["keys, query, answer"] = ", ".join(size(result[name]) for name in lengths)
    if "same_class" in result:
        rows["right in the clear"] = f"{result['clear_correct']} of {total}"
        rows["right encrypted"] = f"{result['encrypted_correct']} of {total}"
        rows["same class"] = f"{result['same_class']} of {total}"
    rows["largest error"] = f"{difference:.3g}, of outputs up to {largest:.4g}"
    rows["peak memory"] = size(result["peak_memory_bytes"])
    print_rows(rows)


def inputs_of(path: Path) -> Array:
    """Inputs of a file, or images of a folder."""
    if path.is_dir():
        return dataset.read(path, "train").images
    return read_array(path)


def facts_of(program: LevelledProgram) -> Json:
    """Facts of a program for ``--json``."""
    terms = program.terms
    return {
        "network": terms.name, "program_id": terms.program, "batch": terms.batch,
        "slots": terms.slots, "log_n": terms.log_n, "levels": terms.depth,
        "scale_bits": terms.scale_bits, "security_bits": terms.params.security.bits,
        "query_ciphertexts": len(terms.used), "mode": "levelled",
    }  # fmt: skip
