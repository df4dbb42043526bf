"""``palladion encrypt``."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

import palladion
from palladion import files
from palladion.cli.common import (
    FILE,
    json_option,
    network_option,
    print_json,
    program_option,
    size,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.image import load_digit


@click.command()
@program_option
@network_option
@click.option("--secret", type=FILE, required=True, help="The client's key.")
@click.option("--output", type=FILE, required=True, help="Where to write the ciphertexts.")
@click.argument("images", type=FILE, nargs=-1, required=True)
@threads_option
@json_option
def encrypt(
    program: palladion.Program,
    network: palladion.IntNetwork,
    secret: Path,
    output: Path,
    images: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Encrypt pictures of digits (PNG, JPEG)."""
    digits = np.stack([load_digit(image) for image in images])
    with Steps(quiet=as_json) as steps:
        key = palladion.SecretKey.from_bytes(program, files.read(secret))
        with steps.step("encrypt"):
            query = key.encrypt(network.inputs(digits).tolist())
        data = query.to_bytes()
        files.write(output, data)
    if as_json:
        print_json({"images": len(images), "ciphertext_bytes": len(data), "output": str(output)})
    else:
        click.echo(f"{output}: {len(images)} encrypted, {size(len(data))}")
