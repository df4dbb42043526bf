"""Figure 12: accuracy and time over the precision of weights and activations."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.measure.accuracy import Steps
from palladion.nn.datasets.calibration import calibrated
from palladion.nn.floats.graph import Graph
from palladion.nn.integers.network import IntNetwork
from palladion.nn.quantisation import Settings
from palladion.reproduce.athena.measured import (
    RECIPES,
    folder_of,
    images_for,
    in_integers,
    share,
    source,
)
from palladion.reproduce.athena.measured import (
    encrypted as run_encrypted,
)
from palladion.reproduce.athena.paper import BENCHMARKS, Benchmark
from palladion.reproduce.athena.simulated import simulated_run
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series

PRECISIONS: Final = ((4, 4), (5, 5), (6, 6), (6, 7), (7, 7), (8, 8))
"""Bits of weights and activations that section 5.6 names."""
BASE: Final = "w7a7"
"""The precision with which times are compared."""
CALIBRATION: Final = 512


@dataclass(frozen=True)
class Candidate:
    """A network at a precision. Networks of one ``family`` differ only in precision."""

    precision: str
    family: str
    network: IntNetwork


@dataclass(frozen=True)
class Measured:
    """A candidate's accuracy in percent, and seconds for one image.

    ``predicted`` is on one thread. ``encrypted`` and ``seconds`` are from encrypted runs, if any,
    and ``simulated`` is on the paper's accelerator, in milliseconds, if asked for.
    """

    candidate: Candidate
    integer: float
    noisy: float
    predicted: float
    encrypted: float | None
    seconds: float | None
    note: str
    simulated: float | None = None


def run(
    networks: tuple[Path, ...],
    onnx: Path | None,
    data: Path,
    benchmark: str,
    images: int | None,
    encrypted: int,
    on_machine: bool,
    steps: Steps,
) -> Reproduction:
    """All precisions of an ONNX model, quantised without training, and the given integer
    networks."""
    if onnx is None and not networks:
        raise UsageError("fig12 needs --onnx, a model to quantise, or --network, integer networks")
    candidates = [given(path) for path in networks]
    if onnx is not None:
        from palladion.nn.importer import load  # needs ONNX

        candidates += quantised(load(onnx), data, steps)
    measured = [measure(each, data, images, encrypted, steps) for each in candidates]
    if on_machine:
        measured = [on_accelerator(each, benchmark, steps) for each in measured]
    measured.sort(key=lambda each: (each.candidate.family, each.candidate.precision))
    rows = [row(each, measured, BENCHMARKS[benchmark]) for each in measured]
    notes = dict.fromkeys(each.note for each in measured)
    title = f"Figure 12: accuracy and time over the precision, {benchmark}"
    return Reproduction(title, COLUMNS, rows, (*NOTES, *notes), panels(measured))


def given(path: Path) -> Candidate:
    """An integer network whose file name contains its precision.

    Raises
    ------
    UsageError
        If the name has none.
    """
    found = re.search(r"w\d+a\d+", path.stem)
    if found is None:
        raise UsageError(f"--network {path}: the name has no precision, expected one like w6a7")
    family = path.stem.replace(found[0], "").strip("_-") or "given"
    return Candidate(found[0], family, IntNetwork.load(path))


def quantised(graph: Graph, data: Path, steps: Steps) -> list[Candidate]:
    """The model at every precision, calibrated on training images."""
    channels, height, width = graph.input.shape
    folder = folder_of(channels * height * width, data)
    recipe = RECIPES[folder.name]
    found = []
    steps.start_run()
    for done, (weights, activations) in enumerate(PRECISIONS):
        precision = f"w{weights}a{activations}"
        settings = Settings(
            weights=weights, activations=activations, per_channel=False, method=recipe.method
        )
        steps.count(f"quantise to {precision}", done, len(PRECISIONS))
        made = calibrated(graph, folder, CALIBRATION, recipe.normalisation, settings)
        found.append(Candidate(precision, "quantised", made.network))
    return found


def measure(
    candidate: Candidate, data: Path, images: int | None, encrypted: int, steps: Steps
) -> Measured:
    """Evaluate a network in integers, and encrypted if asked for."""
    network = candidate.network
    test = images_for(network, data, images)
    clear = in_integers(network, test, steps)
    correct, seconds = None, None
    if encrypted:
        real = run_encrypted(network, test, encrypted, steps)
        predicted = real["report"]["predicted_seconds"]
        correct, seconds = share(real["correct"], real["images"]), real["seconds"] / real["images"]
    else:
        with steps.step(f"compile {candidate.precision}"):
            predicted = CompiledModel.of_network(network).facts.predicted_seconds
    return Measured(
        candidate,
        share(clear["integer_correct"], len(test.labels)),
        share(clear["noisy_correct"], len(test.labels)),
        predicted,
        correct,
        seconds,
        source(test),
    )


def on_accelerator(found: Measured, benchmark: str, steps: Steps) -> Measured:
    """With the time on the paper's accelerator."""
    candidate = found.candidate
    run = simulated_run(benchmark, candidate.precision, candidate.network, steps)
    return replace(found, simulated=run.milliseconds)


def row(found: Measured, others: list[Measured], printed: Benchmark) -> tuple[Cell, ...]:
    """A network beside the paper's at that precision. Times are also relative to :data:`BASE`."""
    precision, family = found.candidate.precision, found.candidate.family
    accuracy = printed.accuracy.get(precision)
    milliseconds = printed.milliseconds.get(precision)
    bases = [o for o in others if (o.candidate.precision, o.candidate.family) == (BASE, family)]
    simulated = bases[0].simulated if bases else None
    return (
        *(precision, family),
        *(accuracy.integer if accuracy else None, found.integer),
        *(accuracy.encrypted if accuracy else None, found.noisy, found.encrypted),
        max(layer.bound for layer in found.candidate.network.layers),
        *(found.predicted, found.seconds),
        milliseconds and milliseconds / printed.milliseconds[BASE],
        found.predicted / bases[0].predicted if bases else None,
        found.simulated,
        found.simulated and simulated and found.simulated / simulated,
    )


def panels(found: list[Measured]) -> tuple[Panel, Panel]:
    """Accuracy against time, in integers and with noise."""
    families = dict.fromkeys(each.candidate.family for each in found)
    of = {name: [each for each in found if each.candidate.family == name] for name in families}

    def lines(accuracy: Callable[[Measured], float]) -> list[Series]:
        return [
            Series(
                name,
                [each.predicted for each in members],
                [accuracy(each) for each in members],
                [each.candidate.precision for each in members],
            )
            for name, members in of.items()
        ]

    seconds = "predicted seconds of one image on one thread"
    return (
        Panel(seconds, "accuracy, % (integer)", lines(lambda each: each.integer)),
        Panel(seconds, "accuracy, % (noise-simulated)", lines(lambda each: each.noisy)),
    )


COLUMNS: Final = (
    Column("precision", "bits"),
    Column("family", "network"),
    Column("paper_integer", "plain-Q", ".2f"),
    Column("integer", "int.", ".2f"),
    Column("paper_encrypted", "cipher", ".2f"),
    Column("noise_simulated", "noisy", ".2f"),
    Column("encrypted", "enc.", ".1f"),
    Column("largest_bound", "bound"),
    Column("predicted_seconds", "pred s", ".1f"),
    Column("measured_seconds", "run s", ".1f"),
    Column("paper_time_ratio", "paper", ".2f"),
    Column("predicted_time_ratio", "ours", ".2f"),
    Column("simulated_ms", "sim ms", ".1f"),
    Column("simulated_time_ratio", "sim", ".2f"),
)
NOTES: Final = (
    "plain-Q, cipher: the paper's (Table 5), in percent; int.: the integer network; noisy: with "
    "simulated rounding noise; enc.: really encrypted images. The figure's other points are not "
    "printed.",
    "bound: largest accumulator of the largest table; pred s: predicted, of one image on one "
    "thread; run s: of an encrypted image; sim ms: simulated on the paper's accelerator, by "
    f"--simulate. paper, ours, sim: time over {BASE}'s, the paper's (Table 6), ours predicted, and "
    "ours simulated.",
    "Section 5.6: accuracy gains little beyond w6a7, time nearly doubles from w7a7 to w8a8.",
)
