"""``palladion export``."""

from __future__ import annotations

from pathlib import Path

import click

from palladion import IntNetwork, files
from palladion.cli.common import (
    FILE,
    json_option,
    print_json,
    print_rows,
)
from palladion.errors import UsageError
from palladion.nn.export import to_onnx
from palladion.text import size


@click.command()
@click.argument("network", type=FILE)
@click.option("--output", type=FILE, required=True, help="ONNX model to write (.onnx).")
@json_option
def export(network: Path, output: Path, as_json: bool) -> None:
    """Write an integer network as an ONNX model.

    The model gives the same integers as the network. Every command that reads an integer network
    also reads such a model.
    """
    if output.suffix.lower() != ".onnx":
        raise UsageError(f"--output: {output} does not end in .onnx, as models do")
    given = IntNetwork.load(network)
    data = to_onnx(given).SerializeToString()
    files.write(output, data)
    if as_json:
        sizes = {"layers": len(given.layers), "model_bytes": len(data)}
        print_json({"network": given.name, **sizes, "output": str(output)})
        return
    print_rows({f"{output}": f"{size(len(data))}, int32 inputs to int64 logits"})
