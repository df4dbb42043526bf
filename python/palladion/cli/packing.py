"""``palladion packing``."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import palladion
from palladion.accelerators.packing_trials import SURVEY, Layer, layers_of, names
from palladion.cli.common import FILE, OUTPUT, json_option, print_json, threads_option
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.nn.datasets.dataset import read_array
from palladion.support.files import write
from palladion.support.text import size

Array = npt.NDArray[np.generic]
Row = dict[str, Any]

SMALL = 100_000
"""Counts below this are printed in full."""


@click.command()
@click.argument("layers", nargs=-1, metavar="[LAYER|NETWORK]...")
@click.option("--packing", "only", metavar="NAME", help="Show and run this packing alone.")
@click.option("--scheme", type=click.Choice(["bfv", "ckks"]), default="bfv", help="Default: bfv.")
@click.option(
    "--log-n",
    type=click.IntRange(12, 15),
    default=13,
    help="log2 of the ring degree; default: 13. At 12 there is room for one product, in bfv.",
)
@click.option(
    "--bandwidth",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MBIT",
    help="Count the transfer of ciphertexts too, over a link of MBIT megabits per second.",
)
@click.option("--run", is_flag=True, help="Encrypt, run, and compare all results.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=2000,
    help="With --run: products, rotations or ciphertexts above which a part of a layer is run. "
    "Default: 2000.",
)
@click.option(
    "--whole", is_flag=True, help="With --run: all parts of such a layer, one after the other."
)
@click.option(
    "--input",
    "values",
    type=FILE,
    help="With --run: an .npy file of integers, images x channels x rows x columns, that LAYER is "
    "computed on, whole, in the cheapest packing or that of --packing.",
)
@click.option(
    "--weights",
    type=FILE,
    help="With --input: an .npy file of integers, kernels x channels of a group x rows x columns. "
    "Default: those of the network, or random ones.",
)
@click.option("--output", type=OUTPUT, help="With --input: the .npy file of the results.")
@click.option("--survey", is_flag=True, help="Take the shapes of docs/packings.md.")
@threads_option
@json_option
def packing(
    layers: tuple[str, ...],
    only: str | None,
    scheme: str,
    log_n: int,
    bandwidth: float | None,
    run: bool,
    most: int,
    whole: bool,
    values: Path | None,
    weights: Path | None,
    output: Path | None,
    survey: bool,
    as_json: bool,
) -> None:
    """Compare ways to pack a layer into ciphertexts, and choose the cheapest.

    LAYER is a shape: 16x32x32-32x3x3/2 has 16 channels of 32x32, 32 kernels of 3x3, stride 2.
    64-10 is dense. :g4 adds groups, :p0 padding, :d2 dilation, :b8 images. NETWORK is a file of an
    integer network: all its convolutions and dense layers. With --input a layer of yours is
    computed on values of yours, and --output has its results, images x kernels x rows x columns.

    Seconds are predicted for one thread of this machine. With --run they are measured, and wrong
    results make the command fail. With --json there is one object a line.
    """
    if only is not None and only not in names():
        raise UsageError(f"the packing is {only!r}, expected one of {', '.join(names())}")
    shapes = [layer for text in layers for layer in _read(text)]
    if survey:
        shapes += [Layer.parse(text) for group in SURVEY.values() for text in group]
    if not shapes:
        raise UsageError("no layer: give a shape, a network, or --survey")
    if whole and not run:
        raise UsageError("--whole is of --run: give both")
    own = None
    if values is not None:
        if not run or len(shapes) != 1:
            raise UsageError(f"--input is of --run and one layer: {len(shapes)} were given")
        own = read_array(values)
        if weights is not None:
            shapes = [shapes[0].weighted(read_array(weights))]
    elif weights is not None or output is not None:
        raise UsageError("--weights and --output are of --input: give the values")
    link = None if bandwidth is None else bandwidth * 1e6 / 8
    wrong = 0
    for layer in shapes:
        found = layer.choice(scheme, log_n, link)
        shown = [row for row in found["candidates"] if only in (None, row["packing"])]
        if own is not None:
            shown = shown[:1]
        if run:
            with Steps(quiet=as_json) as progress:
                for row in shown:
                    trial = Trial(layer, row["packing"], scheme, log_n, most, whole, own)
                    row["run"] = trial.run(progress)
                    wrong += row["run"]["wrong"]
                    results = row["run"].pop("values")
        refused = {name: why for name, why in found["refused"] if only in (None, name)}
        chosen = found["candidates"][0]
        if as_json:
            head = {"name": layer.name, "layer": found["layer"], "chosen": chosen["packing"]}
            sizes = {"scheme": scheme, "log_n": log_n, "bandwidth_mbit": bandwidth}
            print_json({**head, **sizes, "packings": shown, "refused": refused})
        else:
            title = found["layer"] if layer.weights is None else f"{layer.name}: {found['layer']}"
            click.echo(title)
            _show(shown, chosen, refused)
    if wrong:
        raise UsageError(f"{wrong} results differ from the layer on integers")
    if output is not None:
        data = io.BytesIO()
        np.save(data, np.array(results).reshape(shapes[0].output_shape), allow_pickle=False)
        write(output, data.getvalue())


def _read(text: str) -> list[Layer]:
    if Path(text).suffix or Path(text).exists():
        return layers_of(palladion.IntNetwork.load(Path(text)))
    return [Layer.parse(text)]


@dataclass(frozen=True)
class Trial:
    """An encrypted run of a layer, or of a part of it."""

    layer: Layer
    packing: str
    scheme: str
    log_n: int
    most: int
    whole: bool
    values: Array | None

    def run(self, progress: Steps) -> Row:
        """Run it."""
        name = f"{self.layer.name} {self.packing}"
        ring = (self.packing, self.scheme, self.log_n, self.most)
        if not self.whole and self.values is None:
            with progress.step(name):
                return self.layer.trial(*ring)
        progress.start_run()
        return self.layer.trial(
            *ring, lambda done, parts: progress.count(name, done, parts), self.values
        )


def _show(shown: list[Row], chosen: Row, refused: dict[str, str]) -> None:
    """Print a layer's packings."""
    if shown:
        print_table([_row(row, row is chosen) for row in shown])
    for name, why in refused.items():
        click.echo(f"  {name}: {why}")
    if len(shown) > 1:
        seconds = _seconds(chosen["seconds"] + chosen["moving_seconds"])
        others = f"compared with {len(shown) - 1} others"
        click.echo(f"  chosen: {chosen['packing']}, {seconds} predicted, {others}")
    click.echo()


def _row(row: Row, chosen: bool) -> Row:
    shown: Row = {
        "packing": row["packing"] + (" *" if chosen else ""),
        "products": _count(row["products"]),
        "rotations": _count(row["rotations"]),
        "paper's": _count(row["published_shifts"] + row["published_permutes"]),
        "transforms": _count(row["transforms"]),
        "in": _count(row["inputs"]),
        "out": _count(row["outputs"]),
        "traffic": size(row["input_bytes"] + row["output_bytes"]),
        "predicted": _seconds(row["seconds"]),
    }
    if row["moving_seconds"] > 0:
        shown["transfer"] = _seconds(row["moving_seconds"])
    if "run" in row:
        run = row["run"]
        part = "" if run["whole"] else f", part: {run['layer']}"
        if run["parts"] > 1:
            part = f", {run['parts']} parts"
        shown["measured"] = _seconds(run["seconds"])
        shown["keys"] = "" if run["key_bytes"] is None else size(run["key_bytes"])
        right = f"{run['results'] - run['wrong']} of {run['results']}"
        shown["right"] = right + part
        if not run["whole"]:
            shown["measured"] += f" of {_seconds(run['predicted_seconds'])}"
    return shown


def _count(count: int) -> str:
    if count < SMALL:
        return f"{count:,}"
    return f"{count:.2g}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms" if seconds < 1 else f"{seconds:,.1f} s"
