"""``palladion evaluate``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stdout
from multiprocessing import get_context
from pathlib import Path

import click

from palladion import IntNetwork
from palladion.cli.batching import Candidate, batch_options, choose, show_candidates
from palladion.cli.budget import Budget, budget_options
from palladion.cli.common import (
    FILE,
    PATH,
    given,
    json_option,
    network_option,
    print_json,
    threads_option,
    warned,
)
from palladion.cli.progress import Steps
from palladion.cli.show_evaluation import show
from palladion.cli.stopping import timeout_option
from palladion.deployment import CompiledModel
from palladion.errors import DataError, UsageError
from palladion.manifest import Manifest, Source
from palladion.measure.accuracy import in_the_clear, inputs_of, plain_correct, under_encryption
from palladion.measure.inspected import Spread
from palladion.measure.on_ray import RayExecutor
from palladion.nn.datasets import dataset
from palladion.nn.integers.network import ROUNDING_SIGMA
from palladion.support.records import Json, to_json


@contextmanager
def spread_over(
    program: CompiledModel, processes: int | None, ray: str | None, cores: int
) -> Iterator[Spread | None]:
    """The processes of the options, or ``None`` for this one."""
    if ray:
        needed = program.costs().predicted_peak_memory_bytes
        # Ray prints the deaths of machines, which are no part of the result.
        with (
            redirect_stdout(sys.stderr),
            RayExecutor(ray, threads=cores, memory_bytes=needed) as executor,
        ):
            yield Spread(executor, cores)
    elif processes:
        context = get_context("spawn")  # the threads of the core do not survive a fork
        threads = max(1, (os.cpu_count() or 1) // processes)
        with ProcessPoolExecutor(processes, context) as executor:
            yield Spread(executor, threads)
    else:
        yield None


@click.command()
@network_option
@click.option(
    "--model", type=FILE, help="ONNX model of the network, to count right answers in floats."
)
@click.option(
    "--data",
    type=PATH,
    required=True,
    help="Folder of MNIST's or CIFAR-10's files, or .npz file of inputs x and labels y.",
)
@click.option("--count", type=click.IntRange(min=1), default=10_000, help="Number of test images.")
@click.option(
    "--noise",
    type=click.FloatRange(min=0),
    default=ROUNDING_SIGMA,
    help="Deviation of the simulated noise of one LWE sample; sums of samples have more.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Seed of the simulated noise."
)
@click.option(
    "--attach",
    type=FILE,
    help="Manifest of a program of this network, to which the result is added: see verify.",
)
@click.option("--encrypted", type=click.IntRange(min=0), default=0, help="Images to run encrypted.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="Processes to spread encrypted images over, which share the cores; default: this one.",
)
@click.option("--ray", metavar="ADDRESS", help="Spread them over a Ray cluster, such as auto.")
@click.option(
    "--cores", type=click.IntRange(min=1), default=2, help="Cores of a task of Ray; default: 2."
)
@batch_options
@budget_options
@timeout_option
@threads_option
@json_option
def evaluate(
    network: IntNetwork,
    model: Path | None,
    data: Path,
    count: int,
    noise: float,
    seed: int,
    attach: Path | None,
    encrypted: int,
    processes: int | None,
    ray: str | None,
    cores: int,
    batches: list[int],
    budget: Budget,
    as_json: bool,
) -> None:
    """Count right answers on test data.

    The data are MNIST's, CIFAR-10's, or your own. The command counts in floating point, in
    integers, with simulated noise, and encrypted. Encrypted images are counted separately, and
    compared with the integer network layer by layer. A budget is for one encrypted run.
    """
    if ray and processes:
        raise UsageError("--ray and --processes are two ways to spread the images: give one")
    if (ray or processes) and not encrypted:
        raise UsageError("only encrypted images are spread: say how many by --encrypted")
    examples = dataset.read(data, "test", count)
    described = None if attach is None else Manifest.load(attach).of_same_network(network)
    try:
        with warned() as warnings:
            inputs = inputs_of(network, examples)
    except DataError as error:
        if given("network"):
            raise
        raise DataError(f"{error}; that is the packaged network: give yours, --network") from error
    with Steps(quiet=as_json) as steps:
        program: CompiledModel | None = None
        candidates: list[Candidate] = []
        if encrypted:
            useful = [size for size in batches if size <= encrypted] or batches
            program, candidates = choose(network, useful, budget, steps)
        result: Json = {
            "network": network.name,
            "dataset": examples.name,
            "note": examples.note,
            "warnings": warnings,
            "images": len(examples.labels),
            "noise_sigma": noise,
            "plain_correct": plain_correct(network, model, examples, steps),
            **in_the_clear(network, inputs, examples.labels, (network.sigmas(noise), seed), steps),
        }
        if program is not None:
            chosen = slice(encrypted)
            with spread_over(program, processes, ray, cores) as spread:
                result["encrypted"] = under_encryption(
                    network, program, inputs[chosen], examples.labels[chosen], steps, spread
                )
            result["encrypted"]["batch"] = program.facts.batch
            result["encrypted"]["candidates"] = [to_json(each) for each in candidates]
    if attach is not None and described is not None:
        described.with_accuracy({**result, "data": to_json(Source.of(data))}).save(attach)
    if as_json:
        print_json(result)
    else:
        if program is not None:
            show_candidates(candidates, program.facts.batch)
        show(result)
