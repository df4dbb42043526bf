"""``palladion decrypt``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import palladion
from palladion.cli.common import (
    FILE,
    OUTPUT,
    client_option,
    json_option,
    print_json,
    threads_option,
)
from palladion.cli.secrets import open_secret, secret_option
from palladion.cli.stopping import timeout_option
from palladion.client import Client
from palladion.nn.ends.prediction import Prediction
from palladion.support import files
from palladion.support.records import Json

SHOWN = 16  # numbers of an output in one line


@click.command()
@client_option()
@secret_option
@click.option("--query", type=FILE, required=True, help="The query, as encrypt wrote it.")
@click.option("--integers", is_flag=True, help="Print the network's integers too.")
@click.option("--output", type=OUTPUT, help="File to write the outputs to, in .npz form.")
@click.argument("answer", type=FILE)
@timeout_option
@threads_option
@json_option
def decrypt(
    terms: palladion.Terms,
    secret: Path,
    query: Path,
    integers: bool,
    output: Path | None,
    answer: Path,
    as_json: bool,
) -> None:
    """Decrypt the answer to a query.

    Prints the model's outputs for each input, in the model's own units.
    """
    client = Client.of(terms, open_secret(secret))
    sent = files.parsed(query, client.query, b"ENCI")
    received = files.parsed(answer, client.answer, b"ENCO")
    prediction = client.decrypt(received, sent)
    margin = prediction.margin_bits
    assert margin is not None, "a decrypted answer has a margin"
    if output is not None:
        files.write_arrays(output, prediction.outputs)
    if as_json:
        print_json({
            **outputs_json(prediction, integers=integers),
            "noise_margin_bits": round(margin, 1),
            "key_id": client.key_id,
            "program_id": terms.program_id,
        })  # fmt: skip
        return
    show_outputs(prediction, integers=integers)
    click.echo(f"noise margin left: {margin:.1f} bits")


def outputs_json(prediction: Prediction, *, integers: bool = False) -> Json:
    """The fields ``predicted``, ``outputs`` and ``logits`` of ``--json``."""
    classes, logits = prediction.classes, prediction.integers
    return {
        "predicted": None if classes is None else classes.tolist(),
        "outputs": {name: values.tolist() for name, values in prediction.outputs.items()},
        **({"logits": logits.tolist()} if integers and logits is not None else {}),
    }


def show_outputs(
    prediction: Prediction, *, integers: bool = False, most: int | None = None
) -> None:
    """Print the class of each input, its outputs, and the network's integers if asked for. At
    ``most`` so many inputs are printed."""
    shown = len(prediction) if most is None else min(most, len(prediction))
    for index in range(shown):
        of_class = "" if prediction.classes is None else f" {prediction.classes[index]}"
        click.echo(f"input {index}:{of_class}")
        for name, values in prediction.outputs.items():
            click.echo(f"  {name}: {row(values[index])}")
        if integers and prediction.integers is not None:
            click.echo(f"  integers: {row(prediction.integers[index])}")
    if shown < len(prediction):
        click.echo(f"and {len(prediction) - shown} more: --output writes all")


def row(values: Any) -> str:
    """The first numbers of one output."""
    flat = np.ravel(values)
    words = [f"{v:.4g}" if flat.dtype.kind == "f" else str(v) for v in flat[:SHOWN]]
    more = f" and {flat.size - SHOWN} more" if flat.size > SHOWN else ""
    return " ".join(words) + more
