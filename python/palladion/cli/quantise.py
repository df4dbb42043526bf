"""``palladion import`` and ``palladion quantize``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palladion.cli.calibrate import calibrate, calibration_options
from palladion.cli.common import FILE, OUTPUT, json_option, print_json
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.nn.importer import load
from palladion.nn.quality.layers_report import LayersReport
from palladion.support import files


@click.command("import")
@click.argument("model", type=FILE)
@click.option(
    "--output-name",
    "outputs",
    multiple=True,
    help="Output of the model to import; may be repeated; default: all outputs.",
)
@json_option
def import_(model: Path, outputs: tuple[str, ...], as_json: bool) -> None:
    """Print the graph of an ONNX model, one line per node."""
    graph = load(model, outputs=outputs or None)
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
@click.option(
    "--output", type=OUTPUT, required=True, help="File to write the integer network to, as JSON."
)
@json_option
def quantize(model: Path, output: Path, as_json: bool, **options: Any) -> None:
    """Turn an ONNX model into an integer network.

    The model is calibrated on real inputs, unless it has its own grids.
    """
    with Steps(quiet=as_json) as steps, steps.step("quantise"):
        graph, found = calibrate(model, **options)
        files.write(output, found.network.to_json().encode())
    report = LayersReport.of(found.network, found, graph.notes)
    if as_json:
        print_json({"output": str(output), **report.to_dict()})
    else:
        click.echo(str(report))
