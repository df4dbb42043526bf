"""``palladion decrypt``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

import palladion
from palladion import files
from palladion.cli.common import (
    FILE,
    OUTPUT,
    client_option,
    json_option,
    print_json,
    threads_option,
)
from palladion.nn.boundary import Boundary

SHOWN = 16  # numbers of an output in one line


@click.command()
@client_option()
@click.option("--secret", type=FILE, required=True, help="The client's secret key.")
@click.option("--query", type=FILE, required=True, help="The query, as encrypt wrote it.")
@click.option("--integers", is_flag=True, help="Print the network's integers too.")
@click.option("--output", type=OUTPUT, help="File to write the outputs to, in .npz form.")
@click.argument("answer", type=FILE)
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
    key = files.parsed(secret, partial(palladion.SecretKey.from_bytes, terms), b"SKEY")
    sent = files.parsed(query, partial(palladion.Query.from_bytes, terms), b"ENCI")
    received = files.parsed(answer, partial(palladion.Answer.from_bytes, terms), b"ENCO")
    found, margin = key.decrypt(received, sent)
    boundary = Boundary.of_terms(terms)
    logits = np.array(found, dtype=np.int64)
    outputs = boundary.outputs(logits)
    classes = boundary.interface.classes(outputs)
    predicted = None if classes is None else classes.tolist()
    if output is not None:
        files.write_arrays(output, outputs)
    if as_json:
        print_json({
            "predicted": predicted,
            "outputs": {name: values.tolist() for name, values in outputs.items()},
            **({"logits": found} if integers else {}),
            "noise_margin_bits": round(margin, 1),
        })  # fmt: skip
        return
    show_outputs(outputs, predicted, logits if integers else None)
    click.echo(f"noise margin left: {margin:.1f} bits")


def show_outputs(
    outputs: Mapping[str, Any], predicted: Sequence[object] | None, logits: Any | None = None
) -> None:
    """Print the class of each input, its outputs, and the network's integers if asked for."""
    for index in range(len(next(iter(outputs.values())))):
        of_class = "" if predicted is None else f" {predicted[index]}"
        click.echo(f"input {index}:{of_class}")
        for name, values in outputs.items():
            click.echo(f"  {name}: {row(values[index])}")
        if logits is not None:
            click.echo(f"  integers: {row(logits[index])}")


def row(values: Any) -> str:
    """The first numbers of one output."""
    flat = np.ravel(values)
    words = [f"{v:.4g}" if flat.dtype.kind == "f" else str(v) for v in flat[:SHOWN]]
    more = f" and {flat.size - SHOWN} more" if flat.size > SHOWN else ""
    return " ".join(words) + more
