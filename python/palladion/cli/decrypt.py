"""``palladion decrypt``."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

import palladion
from palladion import files
from palladion.cli.common import FILE, json_option, print_json, program_option, threads_option


@click.command()
@program_option
@click.option("--secret", type=FILE, required=True, help="The client's key.")
@click.option("--query", type=FILE, required=True, help="What encrypt wrote for this answer.")
@click.argument("answer", type=FILE)
@threads_option
@json_option
def decrypt(
    program: palladion.Program, secret: Path, query: Path, answer: Path, as_json: bool
) -> None:
    """Decrypt the answer to a query: the class of each picture, and its logits."""
    key = palladion.SecretKey.from_bytes(program, files.read(secret))
    sent = palladion.Query.from_bytes(program, files.read(query))
    logits, margin = key.decrypt(palladion.Answer.from_bytes(program, files.read(answer)), sent)
    predicted = [int(np.argmax(row)) for row in logits]
    if as_json:
        print_json({"predicted": predicted, "logits": logits, "noise_margin_bits": margin})
        return
    for index, (digit, row) in enumerate(zip(predicted, logits, strict=True)):
        click.echo(f"image {index}: {digit}   logits {' '.join(map(str, row))}")
    click.echo(f"noise margin left: {margin:.1f} bits")
