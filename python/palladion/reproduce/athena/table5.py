"""Table 5: accuracy of four networks, before and after quantisation, and encrypted.

The paper's cipher column counts 10,000 encrypted images. Beside it are the integer network with
simulated rounding noise, and as many encrypted images as are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palladion.data.digits import mnist_plain
from palladion.measure.accuracy import Steps, plain_correct, right
from palladion.nn.datasets.dataset import Dataset
from palladion.nn.integers.network import IntNetwork
from palladion.reproduce.athena.measured import (
    encrypted,
    images_for,
    in_integers,
    share,
    source,
)
from palladion.reproduce.athena.paper import BENCHMARKS
from palladion.reproduce.reproduction import Cell, Column, Reproduction

FILES: Final = {
    "MNIST": {"w7a7": "mnist_w7a7.json", "w6a7": "mnist_w6a7.json"},
    "LeNet": {"w7a7": "lenet5_w7a7.json", "w6a7": "lenet5_w6a7.json"},
    "ResNet-20": {"w7a7": "resnet20_w7a7.json", "w6a7": "resnet20_w6a7.json"},
    "ResNet-56": {"w7a7": "resnet56_w7a7.json", "w6a7": "resnet56_w6a7.json"},
}
ONNX: Final = {"LeNet": "lenet5.onnx", "ResNet-20": "resnet20.onnx", "ResNet-56": "resnet56.onnx"}
"""Models in floating point. That of ``MNIST`` is in the package, for all its precisions."""


@dataclass(frozen=True)
class Options:
    """The measured networks in ``models`` with test images, and the models in ``onnx``."""

    data: Path
    models: Path
    onnx: Path | None
    images: int | None
    encrypted: int


def run(
    data: Path,
    models: Path,
    onnx_folder: Path | None,
    images: int | None,
    encrypted: int,
    steps: Steps,
) -> Reproduction:
    """Accuracy of the networks that are in ``models``."""
    options = Options(data, models, onnx_folder, images, encrypted)
    rows: list[tuple[Cell, ...]] = []
    notes = list(NOTES)
    for name, files in FILES.items():
        found: dict[str, IntNetwork] = {}
        for precision, file in files.items():
            if (models / file).is_file():
                found[precision] = IntNetwork.load(models / file)
            else:
                notes.append(f"{name} {precision}: not measured, {file} is not in {models}.")
        given = images_for(next(iter(found.values())), data, images) if found else None
        if given is not None and source(given) not in notes:
            notes.append(source(given))
        rows.append(floating(name, next(iter(found.values()), None), given, options, steps))
        for precision in files:
            rows += of_precision(name, precision, found.get(precision), given, options, steps)
    return Reproduction("Table 5: accuracy in percent", COLUMNS, rows, notes)


def floating(
    name: str, network: IntNetwork | None, given: Dataset | None, options: Options, steps: Steps
) -> tuple[Cell, ...]:
    """The row of the network in floating point."""
    printed = BENCHMARKS[name].floating
    correct = None
    if network is not None and given is not None:
        if name == "MNIST":
            correct = right(mnist_plain().predict(given.images), given.labels)
        else:
            correct = plain_correct(network, model_of(name, options), given, steps)
    if correct is None or given is None:
        return (name, None, "float", printed, None, None, None)
    return row(name, None, "float", printed, correct, len(given.labels))


def model_of(name: str, options: Options) -> Path | None:
    """The ONNX model of a network, if it is in a folder."""
    if name not in ONNX:
        return None
    folders = [folder for folder in (options.onnx, options.models) if folder is not None]
    return next((f / ONNX[name] for f in folders if (f / ONNX[name]).is_file()), None)


def of_precision(
    name: str,
    precision: str,
    network: IntNetwork | None,
    given: Dataset | None,
    options: Options,
    steps: Steps,
) -> list[tuple[Cell, ...]]:
    """The rows of one integer network."""
    printed = BENCHMARKS[name].accuracy[precision]
    head = (name, precision)
    if network is None or given is None:
        return [
            (*head, "integer", printed.integer, None, None, None),
            (*head, "noise-simulated", printed.encrypted, None, None, None),
        ]
    count = len(given.labels)
    clear = in_integers(network, given, steps)
    rows = [
        row(*head, "integer", printed.integer, clear["integer_correct"], count),
        row(*head, "noise-simulated", printed.encrypted, clear["noisy_correct"], count),
    ]
    if options.encrypted:
        real = encrypted(network, given, options.encrypted, steps)
        found = (real["correct"], real["images"])
        rows.append(row(*head, "encrypted", printed.encrypted, *found))
    return rows


def row(
    name: str, precision: str | None, what: str, printed: float, correct: int, count: int
) -> tuple[Cell, ...]:
    ours = share(correct, count)
    return (name, precision, what, printed, ours, ours - printed, count)


COLUMNS: Final = (
    Column("network", "network"),
    Column("precision", "precision"),
    Column("measure", "measure"),
    Column("paper", "paper", ".2f"),
    Column("ours", "ours", ".2f"),
    Column("difference", "difference", "+.2f"),
    Column("images", "images"),
)
NOTES: Final = (
    "float, integer: the paper's plain-G and plain-Q. noise-simulated and encrypted stand beside "
    "its cipher column of 10,000 encrypted images: the first is the integer network with the "
    "rounding noise drawn at random, the second a really encrypted run.",
)
