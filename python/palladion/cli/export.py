"""``palladion export``."""

from __future__ import annotations

from pathlib import Path

import click

from palladion import IntNetwork
from palladion.cli.common import (
    json_option,
    prepare_output,
    print_json,
    print_rows,
)
from palladion.cli.progress import Steps
from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.nn.integers.export import to_onnx
from palladion.support import files
from palladion.support.destination import check_folder
from palladion.support.text import size


@click.command()
@click.argument("source", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="ONNX model to write (.onnx), or the folder of the bundle.",
)
@click.option(
    "--target",
    type=click.Choice(["onnx", "stablehlo"]),
    default="onnx",
    help="onnx, a model of an integer network; or stablehlo, a program as a folder that runs where "
    "only JAX is (docs/xla.md). Default: onnx.",
)
@click.option(
    "--platform",
    "platforms",
    type=click.Choice(["cpu", "cuda", "rocm", "tpu"]),
    multiple=True,
    help="Platform of the target stablehlo; may be repeated. Default: cpu, cuda, tpu.",
)
@json_option
def export(
    source: Path, output: Path, target: str, platforms: tuple[str, ...], as_json: bool
) -> None:
    """Write an integer network as an ONNX model, or a program as a bundle of StableHLO.

    The model gives the same integers as the network. Every command that reads an integer network
    also reads such a model. The bundle gives the same answers as `palladion run`.
    """
    if target == "stablehlo":
        export_bundle(source, output, platforms, as_json)
        return
    if platforms:
        raise UsageError("--platform is for the target stablehlo: give --target stablehlo with it")
    prepare_output(output)
    if output.suffix.lower() != ".onnx" and not files.streams(output):
        raise UsageError(f"--output: {output} does not end in .onnx, as models do")
    given = IntNetwork.load(source)
    data = to_onnx(given).SerializeToString()
    files.write(output, data)
    if as_json:
        sizes = {"layers": len(given.layers), "model_bytes": len(data)}
        print_json({"network": given.name, **sizes, "output": str(output)})
        return
    print_rows({f"{output}": f"{size(len(data))}, int32 inputs to int64 logits"})


def export_bundle(source: Path, output: Path, platforms: tuple[str, ...], as_json: bool) -> None:
    """Write a program as a bundle."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"--output: {output} exists, expected a new folder or an empty one")
    check_folder(output)
    program = CompiledModel.load(source)
    with Steps(quiet=as_json) as steps, steps.step("export"):
        made = program.export(output, platforms)
    length = sum(path.stat().st_size for path in output.iterdir())
    if as_json:
        fields = {name: made[name] for name in ("network", "jax", "platforms")}
        sizes = {"stages": len(made["stages"]), "bundle_bytes": length}
        print_json({**fields, **sizes, "output": str(output)})
        return
    print_rows({
        f"{output}": f"{size(length)}, for {', '.join(made['platforms'])}, by JAX {made['jax']}",
        "to run it": f"python {output}/run.py --keys evaluation.key --output answer query",
    })  # fmt: skip
