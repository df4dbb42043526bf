"""``palladion import`` and ``palladion quantize``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palladion import files
from palladion.cli.calibrate import calibrate, calibration_options
from palladion.cli.common import FILE, json_option, print_json
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.nn.importer import load

SHOWN = ("name", "shape", "bound", "weight_bits", "coarsened", "weights_error",
         "weights_error_free", "error", "beyond", "changed", "differing")  # fmt: skip
"""Of each layer's report; the rest is in the JSON."""


@click.command("import")
@click.argument("model", type=FILE)
@json_option
def import_(model: Path, as_json: bool) -> None:
    """Print the graph of an ONNX model as it is read: one line per node."""
    graph = load(model)
    rows = [
        {
            "index": index,
            "node": type(node).__name__,
            "name": node.name,
            "sources": list(node.sources),
            "shape": list(node.shape),
            "attributes": node.describe(),
        }
        for index, node in enumerate(graph.nodes)
    ]
    if as_json:
        print_json({"name": graph.name, "nodes": rows, "notes": list(graph.notes)})
        return
    print_table(rows)
    for note in graph.notes:
        click.echo(f"note: {note}")


@click.command()
@click.argument("model", type=FILE)
@calibration_options
@click.option("--output", type=FILE, required=True, help="Integer network to write, as JSON.")
@json_option
def quantize(model: Path, output: Path, as_json: bool, **options: Any) -> None:
    """Turn an ONNX model into an integer network.

    It is calibrated on real inputs, unless it has grids of its own.
    """
    with Steps(quiet=as_json) as steps, steps.step("quantise"):
        graph, found = calibrate(model, **options)
        files.write(output, found.network.to_json().encode())
    rows = [entry.to_dict() for entry in found.layers]
    if as_json:
        print_json({"output": str(output), "layers": rows, "notes": list(graph.notes),
                    "warnings": list(found.warnings)})  # fmt: skip
        return
    shown = [name for name in SHOWN if any(row[name] is not None for row in rows)]
    print_table([{name: row[name] for name in shown} for row in rows])
    for note in graph.notes:
        click.echo(f"note: {note}")
    for warning in found.warnings:
        click.echo(f"warning: {warning}")
