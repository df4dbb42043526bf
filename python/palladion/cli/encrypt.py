"""``palladion encrypt``."""

from __future__ import annotations

from pathlib import Path

import click

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
    times,
)
from palladion.cli.images import load_inputs
from palladion.cli.progress import Steps
from palladion.errors import UsageError


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
    """Encrypt pictures (PNG, JPEG), or .npy files of real inputs, or of pixels if they are bytes.

    An .npy file has shape (C, H, W), or (N, C, H, W) for N images.
    """
    check(program, network)
    inputs = load_inputs(network, images)
    with Steps(quiet=as_json) as steps:
        key = palladion.SecretKey.from_bytes(program, files.read(secret))
        with steps.step("encrypt"):
            query = key.encrypt(inputs.tolist())
        data = query.to_bytes()
        files.write(output, data)
    if as_json:
        print_json({"images": len(inputs), "ciphertext_bytes": len(data), "output": str(output)})
    else:
        click.echo(f"{output}: {len(inputs)} encrypted, {size(len(data))}")


def check(program: palladion.Program, network: palladion.IntNetwork) -> None:
    """Refuse a network that a program was not compiled from, as far as the program tells."""
    report = program.report()
    wanted = f"{report['network']}, images of {times(report['input_shape'])}"
    found = f"{network.name}, images of {times(network.input.shape)}"
    if found != wanted:
        raise UsageError(
            f"the program is of the network {wanted}, not of {found}: give --network the file that "
            "it was compiled from"
        )
