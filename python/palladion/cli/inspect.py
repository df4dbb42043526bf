"""``palladion inspect``: the predicted cost of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from palladion import IntNetwork
from palladion.cli.budget import Budget, budget_options
from palladion.cli.common import (
    FILE,
    batch_option,
    given,
    json_option,
    phase,
    print_json,
    print_rows,
    print_warnings,
    program_json,
    public_rows,
    security_rows,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.cli.why import show_why
from palladion.deployment import CompiledModel
from palladion.errors import MismatchError, UsageError
from palladion.facts import Facts, WorstStep
from palladion.nn.quantisation.write.layer_report import refuse_warned
from palladion.support import files
from palladion.support.records import to_json
from palladion.support.seconds import threads
from palladion.support.text import at_most, size, times


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--network",
    "beside",
    type=FILE,
    help="For a program: the network it was compiled from, to print shapes and bounds.",
)
@click.option(
    "--why", is_flag=True, help="For a network: print the candidates that the compiler compared."
)
@click.option("--strict", is_flag=True, help="Fail if quantisation gave warnings.")
@batch_option
@budget_options
@threads_option
@json_option
def inspect(
    file: Path,
    beside: Path | None,
    why: bool,
    strict: bool,
    batch: int,
    budget: Budget,
    as_json: bool,
) -> None:
    """Predict the cost of a program or a network. Runs nothing.

    An integer network is compiled first.

    --batch is for a network; a program has its own batch. If a prediction exceeds a budget, the
    command prints the report and then fails. Warnings of quantisation are printed with it.
    """
    is_network = file.suffix.lower() == ".onnx" or files.read(file).lstrip()[:1] == b"{"
    choices = None
    with Steps(quiet=as_json) as steps:
        if is_network:
            beside = file
            with steps.step("compile"):
                program, choices = CompiledModel.with_choices(IntNetwork.load(file), batch)
        elif why:
            raise UsageError(
                f"{file} is a program, --why needs the network: a program does not hold the "
                "candidates of its compilation"
            )
        elif given("batch"):
            raise UsageError(f"{file} is a program, which has a batch of its own: --batch is for a "
                             "network, `palladion compile` makes another program")  # fmt: skip
        else:
            program = CompiledModel.load(file)
    network = None if beside is None else IntNetwork.load(beside)
    if network is not None and program.boundary != network.boundary:
        raise MismatchError(f"the program {file} and the network {beside} take or give other "
                            "values: it was compiled from another")  # fmt: skip
    layers, phases = layers_of(program.facts, network), phases_of(program.facts)
    warnings = program.facts.warnings
    if as_json:
        print_json({
            **program_json(program),
            "layers": [to_json(layer) for layer in layers],
            "phases": phases,
            **to_json(program.costs().here()),
            **({"why": to_json(choices)} if why and choices is not None else {}),
        })  # fmt: skip
    else:
        show(program, layers, phases)
        if why and choices is not None:
            show_why(choices)
        print_warnings(warnings)
    budget.check(program)
    refuse_warned(warnings, strict=strict)


@dataclass(frozen=True)
class Layer:
    """A layer of a program, or all of them together."""

    name: str
    shape: tuple[int, ...] | None
    """Shape of its values, if the network is known."""
    bound: int | None
    """Largest accumulator, if the network is known."""
    noise_sigma: float | None
    table_entries: int | None
    packings: int
    products: int
    predicted_seconds: float


def layers_of(facts: Facts, network: IntNetwork | None) -> list[Layer]:
    """The layers, in the order of the program."""
    names = list(dict.fromkeys(step.layer for step in facts.steps))
    layers = [layer_of(facts, name) for name in names]
    if network is None:
        return layers
    if names != [layer.name for layer in network.layers]:
        raise MismatchError(
            f"the program of {facts.network} has {len(names)} layers, the network "
            f"{network.name} has {len(network.layers)} or other names: it was compiled from another"
        )
    return [
        replace(layer, shape=tuple(shape), bound=own.bound)
        for layer, own, shape in zip(layers, network.layers, network.shapes, strict=True)
    ]


def layer_of(facts: Facts, name: str) -> Layer:
    """The sums over the steps of a layer."""
    steps = [step for step in facts.steps if step.layer == name]
    entries = [step.entries for step in steps if step.entries is not None]
    return Layer(
        name,
        shape=None,
        bound=None,
        noise_sigma=facts.layer_sigmas.get(name),
        table_entries=entries[-1] if entries else None,
        packings=sum(step.operation in {"pack", "pack_all"} for step in steps),
        products=sum(step.products or 0 for step in steps),
        predicted_seconds=sum(step.predicted_seconds for step in steps),
    )


def phases_of(facts: Facts) -> dict[str, float]:
    """Predicted seconds of each phase of the loop, over all layers."""
    seconds: dict[str, float] = {}
    for step in facts.steps:
        name = phase(step.name).rpartition(": ")[2]
        seconds[name] = seconds.get(name, 0.0) + step.predicted_seconds
    return seconds


def show(program: CompiledModel, layers: Sequence[Layer], phases: Mapping[str, float]) -> None:
    facts, costs = program.facts, program.costs()
    click.echo(f"{facts.network}, {facts.batch} images of {times(facts.input_shape)}")
    print_rows(
        {
            **security_rows(facts.security),
            "parameters": f"N = {1 << facts.log_n}, log2(QP) = {facts.log_qp:.0f}, "
            f"t = {facts.plaintext_modulus}",
            "moduli": f"{facts.limbs} limbs, {facts.special_limbs} special ones, "
            f"{facts.digit_limbs} limbs per digit, up to {facts.largest_modulus_bits} bits",
            "LWE samples": f"dimension {facts.lwe_dimension}, rounding noise of deviation "
            f"{facts.rounding_sigma:.1f} each",
            "noise margin": f"{facts.predicted_margin_bits:.1f} bits",
            "failure": f"{at_most(facts.predicted_log2_failure)} for a run",
            **public_rows(facts, costs),
            "worst step": worst_step(costs.worst_step),
            "ciphertexts": f"{size(facts.predicted_ciphertext_bytes)} in {facts.ciphertexts}",
            "evaluation keys": f"{size(facts.predicted_evaluation_key_bytes)}, "
            f"read in {costs.reading_seconds:.1f} s",
            "memory": f"{size(costs.predicted_run_memory_bytes)}, "
            f"{size(costs.predicted_peak_memory_bytes)} if every layer is compared",
            "time": f"{costs.wall_seconds():.1f} s on {threads()} threads here",
        }
    )
    click.echo()
    here = costs.seconds_here / facts.predicted_seconds
    rows = [row_of(layer, here) for layer in [*layers, sum_of(layers)]]
    known = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    print_table([{name: row[name] for name in known} for row in rows])
    click.echo("\npredicted seconds on one thread here")
    all_phases = {**phases, "in all": facts.predicted_seconds}
    print_rows({name: f"{taken * here:9.1f}" for name, taken in all_phases.items()})


def worst_step(worst: WorstStep) -> str:
    """The step that is most often wrong. For a table, how far beyond its bound it is still
    right."""
    words = f"{worst.name}, 2^{worst.log2_failure:.1f}"
    if worst.bound is None or worst.border is None:
        return words
    return f"{words}, right {worst.border - worst.bound} beyond {worst.bound}"


def sum_of(layers: Sequence[Layer]) -> Layer:
    """All layers together."""
    return Layer(
        "all",
        shape=None,
        bound=None,
        noise_sigma=None,
        table_entries=None,
        packings=sum(layer.packings for layer in layers),
        products=sum(layer.products for layer in layers),
        predicted_seconds=sum(layer.predicted_seconds for layer in layers),
    )


def row_of(layer: Layer, here: float) -> dict[str, object]:
    """A layer as a row of the table, with the seconds of one thread here."""
    return {
        "layer": layer.name,
        "shape": None if layer.shape is None else times(layer.shape),
        "bound": layer.bound,
        "noise": None if layer.noise_sigma is None else f"{layer.noise_sigma:.1f}",
        "table": layer.table_entries,
        "packings": layer.packings,
        "products": layer.products,
        "seconds": round(layer.predicted_seconds * here, 2),
    }
