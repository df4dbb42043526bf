"""``palladion reproduce``: commands generated from the registry of papers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from palladion.cli.common import (
    FILE,
    FOLDER,
    json_option,
    network_option,
    print_json,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.reproduce import PAPERS, Item, Paper, Reproduction
from palladion.reproduce.athena.paper import BENCHMARKS
from palladion.reproduce.cross.operations import SETS
from palladion.reproduce.f1.paper import FIGURE_5
from palladion.reproduce.plot import NO_PLOTS, draw, plots_possible
from palladion.support import files
from palladion.support.destination import make_folder

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
THERE = click.Path(path_type=Path, file_okay=False, exists=True)
WIDTH: Final = 98
"""Characters per line of notes."""

DATA_HELP = "Folder with MNIST's files in mnist/ and CIFAR-10's in cifar10/."


def folder_of_models(_context: click.Context, _option: click.Parameter, folder: Path) -> Path:
    """The folder of ``--models``.

    Raises
    ------
    UsageError
        If there is none.
    """
    if folder.is_dir():
        return folder
    raise UsageError(
        f"--models {folder}: no such folder. The networks of the papers are the folder models of "
        "Palladion's repository, and no part of the package: run the command in the repository, or "
        "give its folder with --models"
    )


OPTIONS: Final[dict[str, Decorator]] = {
    "network": network_option,
    "networks": click.option(
        "--network", "networks", type=FILE, multiple=True, help="Integer network; may be repeated."
    ),
    "data": click.option("--data", type=THERE, help=DATA_HELP),
    "data_required": click.option("--data", type=THERE, required=True, help=DATA_HELP),
    "models": click.option(
        "--models",
        type=click.Path(path_type=Path),
        default="models",
        callback=folder_of_models,
        help="Folder of integer networks, as the folder models of the repository; default models.",
    ),
    "examples": click.option(
        "--examples",
        type=THERE,
        help="Folder examples of Palladion's repository: also its own programs.",
    ),
    "onnx": click.option("--onnx", type=FILE, help="ONNX model to quantise."),
    "onnx_folder": click.option(
        "--onnx", "onnx_folder", type=THERE, help="Folder of ONNX models, for accuracy in floats."
    ),
    "benchmark": click.option(
        "--benchmark",
        type=click.Choice([*BENCHMARKS]),
        default="ResNet-20",
        help="The paper's network to compare with.",
    ),
    "athena_benchmarks": click.option(
        "--benchmark",
        "benchmarks",
        type=click.Choice([*BENCHMARKS]),
        multiple=True,
        help="The paper's networks to simulate; may be repeated.",
    ),
    "precisions": click.option(
        "--precision",
        "precisions",
        type=click.Choice(["w7a7", "w6a7"]),
        multiple=True,
        default=("w7a7", "w6a7"),
        help="Bits of weights and activations; both unless given.",
    ),
    "f1_benchmarks": click.option(
        "--benchmark",
        "f1_benchmarks",
        type=click.Choice([*FIGURE_5]),
        multiple=True,
        help="A benchmark; may be repeated. All unless given.",
    ),
    "digit_limbs": click.option(
        "--digit-limbs",
        type=click.IntRange(min=1),
        multiple=True,
        help="Limbs of a digit of key switching; may be repeated, and the fastest is shown. "
        "Several are tried unless given.",
    ),
    "cross_sets": click.option(
        "--set",
        "cross_sets",
        type=click.Choice([*SETS]),
        multiple=True,
        help="A set of the paper's, or ours; may be repeated. All unless given.",
    ),
    "measured": click.option("--measure", "measured", is_flag=True, help="Also measure here."),
    "on_machine": click.option(
        "--simulate",
        "on_machine",
        is_flag=True,
        help="Also simulate each network on the paper's accelerator.",
    ),
    "softmax": click.option(
        "--softmax",
        is_flag=True,
        help="Also simulate MNIST and LeNet with their softmax encrypted.",
    ),
    "measured_here": click.option(
        "--measure/--no-measure", "measured_here", default=True, help="Also measure here; default."
    ),
    "through_xla": click.option(
        "--xla", "through_xla_too", is_flag=True, help="Also measure through JAX here."
    ),
    "runs": click.option(
        "--runs", type=click.IntRange(min=1), default=5, help="Runs of a measurement; default 5."
    ),
    "images": click.option("--images", type=click.IntRange(min=1), help="Test images at most."),
    "encrypted": click.option(
        "--encrypted", type=click.IntRange(min=0), default=0, help="Images to run encrypted."
    ),
}
"""The options that items may name."""


@click.group()
def reproduce() -> None:
    """Compute tables and figures of papers again."""


def group_of(name: str, paper: Paper) -> click.Group:
    """The commands of one paper."""
    group = click.Group(name, help=f"{paper.summary}.")
    for item_name, item in paper.items.items():
        group.add_command(command_of(name, item_name, item))
    return group


def command_of(paper: str, name: str, item: Item) -> click.Command:
    """The command of one table or figure."""

    @threads_option
    @click.option(
        "--output", type=FOLDER, help=f"Folder for a CSV file{', and for plots' * item.plots}."
    )
    @json_option
    def command(output: Path | None, as_json: bool, **options: Any) -> None:
        if output is not None:
            prepare(output)
        with Steps(quiet=as_json) as steps:
            found = item.run(**options, steps=steps)
        written = [] if output is None else write(output, f"{paper}-{name}", found)
        if output is not None and found.panels and not plots_possible():
            click.echo(f"warning: no plots: {NO_PLOTS}; the table and its CSV file are complete",
                       err=True)  # fmt: skip
        if as_json:
            data = {"paper": paper, "item": name, **found.to_dict()}
            print_json({**data, "files": [str(path) for path in written]})
        else:
            show(found, written)

    for option in reversed(item.options):
        command = OPTIONS[option](command)
    return click.command(name, help=item.summary)(command)


def prepare(output: Path) -> None:
    """Make the folder before the computation starts."""
    make_folder(output)


def write(output: Path, stem: str, found: Reproduction) -> list[Path]:
    """Write the table, and its plots if it has any and matplotlib is there."""
    contents = {"csv": found.to_csv().encode()}
    if found.panels and plots_possible():
        contents |= draw(found.title, found.panels)
    for kind, data in contents.items():
        files.write(output / f"{stem}.{kind}", data)
    return [output / f"{stem}.{kind}" for kind in contents]


def show(found: Reproduction, written: list[Path]) -> None:
    """Print a table for a terminal, followed by its notes."""
    click.echo(f"{found.title}\n")
    print_table(found.shown())
    click.echo()
    for note in found.notes:
        click.echo(click.wrap_text(note, WIDTH, subsequent_indent="  "))
    for path in written:
        click.echo(f"written: {path}")


for paper_name, paper_found in PAPERS.items():
    reproduce.add_command(group_of(paper_name, paper_found))
