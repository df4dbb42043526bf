"""``palladion compile``."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import click

from palladion import IntNetwork, manifest
from palladion.cli import hiding
from palladion.cli.batching import batch_or_hybrid_options, choose, show_candidates
from palladion.cli.budget import Budget, budget_options
from palladion.cli.calibrate import calibrate, calibration_options
from palladion.cli.common import (
    FILE,
    OUTPUT,
    given,
    json_option,
    print_json,
    print_rows,
    print_warnings,
    program_json,
    public_rows,
    security_rows,
    threads_option,
)
from palladion.cli.hybrid import MBIT, compile_hybrid, show_compiled
from palladion.cli.progress import Steps
from palladion.cli.stopping import timeout_option
from palladion.cli.words import words_of, words_options
from palladion.deployment import client_file, is_named
from palladion.errors import UsageError
from palladion.hybrid import Link
from palladion.identity import ids_of
from palladion.key_files import Earlier
from palladion.manifest import Manifest
from palladion.nn.quantisation.write.layer_report import refuse_warned
from palladion.support import files
from palladion.support.records import to_json
from palladion.support.seconds import threads
from palladion.support.text import at_most, size

MANY: Final = 256
"""Inputs from which on a network of polynomials is faster on levels."""
POLYNOMIAL: Final = ("all functions are polynomials: `palladion levelled compile` makes a program "
                     "that runs thousands of inputs in seconds, with small errors")  # fmt: skip


@click.command(name="compile")
@click.argument("network", type=FILE)
@batch_or_hybrid_options
@click.option("--output", type=OUTPUT, required=True, help="File to write the program to.")
@click.option(
    "--save-network",
    type=OUTPUT,
    help="For an ONNX model: file to write its integer network to.",
)
@click.option(
    "--failure",
    type=click.FloatRange(max=-40),
    default=-40,
    help="Bound on log2 of the probability that a run is wrong: -40, -64 or -128.",
)
@click.option(
    "--reveal-accumulators",
    is_flag=True,
    help="For hybrid: the client sees every accumulator, and could compute weights from them.",
)
@click.option(
    "--bandwidth", type=MBIT, default=2000.0,
    help="For hybrid: Mbit/s of the connection, to choose layouts and to predict with.",
)  # fmt: skip
@click.option("--latency", type=float, default=0.2, help="For hybrid: ms there and back.")
@click.option(
    "--inputs-per-client", type=click.IntRange(min=1, max=1_000_000), default=10,
    help="For hybrid: inputs of one client that floods hide together. Default: 10.",
)  # fmt: skip
@click.option(
    "--profile",
    type=FILE,
    help="Client's file or evaluation keys whose parameters to take: keys that clients have then "
    "serve this program. Or small, medium, large: those that MNIST w7a7, LeNet-5, ResNet-20 get.",
)
@click.option(
    "--like", type=FILE,
    help="Client's file or evaluation keys to compare with: say which keys and queries stay valid.",
)  # fmt: skip
@hiding.hiding_options
@words_options
@calibration_options
@budget_options
@timeout_option
@threads_option
@json_option
def compile_(
    network: Path,
    batches: list[int],
    output: Path,
    save_network: Path | None,
    failure: float,
    words: int | None,
    machine: str | None,
    reveal_accumulators: bool,
    bandwidth: float,
    latency: float,
    inputs_per_client: int,
    profile: Path | None,
    like: Path | None,
    hidden_queries: int | None,
    budget: Budget,
    as_json: bool,
    **options: Any,
) -> None:
    """Compile a network to a program over ciphertexts.

    Writes the program, for the server, and two files beside it. That with the ending .client is for
    the client: it has no weight, bias or table of the network. That with the ending .manifest says
    of what the program was made: see verify.

    NETWORK is an integer network or an ONNX model. An ONNX model is quantised first, as by
    quantize, with --data and the options after it.
    """
    hybrid = not batches
    if hybrid:
        refuse_fhe_options()
    elif reveal_accumulators or any(map(given, ("bandwidth", "latency", "inputs_per_client"))):
        raise UsageError("--reveal-accumulators, --bandwidth, --latency and "
                         "--inputs-per-client are for --mode hybrid")  # fmt: skip
    words = words_of(words, machine)
    if profile is not None and words is not None:
        option = "--words" if machine is None else "--machine"
        raise UsageError(f"{option} with --profile: the moduli are those of the profile")
    compared = like or (None if is_named(profile) else profile)
    earlier = Earlier.read(compared)
    is_model = network.suffix.lower() == ".onnx" and not is_exported(network)
    if not is_model:
        refuse_given(network, {"save_network", *options} - {"strict"})
    beside = None if hybrid or files.streams(output) else client_file(output)
    described = None if beside is None else manifest.beside(output)
    for path in (beside, described):
        if path is not None:
            files.check(path)
    with Steps(quiet=as_json) as steps:
        notes: tuple[str, ...] = ()
        quantisation = None
        if is_model:
            quantisation = {name: value for name, value in options.items() if name != "data"}
            with steps.step("quantise"):
                graph, quantised = calibrate(network, **options)
            net, notes = quantised.network, graph.notes
            if batches and max(batches) >= MANY:
                from palladion.levelled import is_polynomial  # seldom needed

                notes += (POLYNOMIAL,) * is_polynomial(graph)
        else:
            net = IntNetwork.load(network)
            refuse_warned(net.warnings, strict=options["strict"])
        if save_network is not None:
            files.write(save_network, net.to_json().encode())
        if hybrid:
            compiled = compile_hybrid(
                net,
                output,
                revealed=reveal_accumulators,
                link=Link(bandwidth, latency),
                inputs=inputs_per_client,
            )
        else:
            program, candidates = choose(
                net, batches, budget, steps,
                failure=failure, words=words, hidden_queries=hidden_queries, profile=profile,
            )  # fmt: skip
            hidden = None
            if hidden_queries is not None:
                with steps.step("compile without --hide-model, to compare"):
                    hidden = hiding.compare(net, program, failure, words)
            data, for_client = program.to_bytes(), program.terms.to_bytes()
            files.write(output, data)
            if beside is not None and described is not None:
                files.write(beside, for_client)
                chosen = {"quantisation": quantisation, "words": words, "failure": failure,
                          "hidden_queries": hidden_queries,
                          "profile": profile and profile.name}  # fmt: skip
                Manifest.of(program, net, network, options["data"], chosen).save(described)
    if hybrid:
        if as_json:
            found = {**compiled.to_json(), "output": str(output)}
            print_json({**found, "notes": list(notes), "warnings": list(net.warnings)})
        else:
            show_compiled(compiled, output)
            for note in notes:
                click.echo(f"note: {note}")
            print_warnings(net.warnings)
        return
    kept = None if earlier is None else earlier.compare(program.terms)
    if as_json:
        print_json({**program_json(program), **ids_of(program.terms),
                    **({} if kept is None else {"kept": to_json(kept)}),
                    **({"hide_model": to_json(hidden)} if hidden is not None else {}),
                    "candidates": [to_json(each) for each in candidates],
                    "program_bytes": len(data), "output": str(output),
                    "client_bytes": len(for_client), "client": beside and str(beside),
                    "manifest": described and str(described),
                    "notes": list(notes), "warnings": list(net.warnings)})  # fmt: skip
        return
    facts, costs = program.facts, program.costs()
    show_candidates(candidates, facts.batch)
    print_rows(
        {
            f"{output}": f"{size(len(data))}, for the server's run: it has the network's weights",
            **for_clients(beside, len(for_client)),
            **({} if described is None else {f"{described}": "what it was made of: see verify"}),
            "images": f"{facts.batch} in {facts.ciphertexts} ciphertexts",
            **security_rows(facts.security),
            "moduli": f"{facts.limbs} limbs and {facts.special_limbs} special ones, "
            f"up to {facts.largest_modulus_bits} bits",
            **({"hides": hidden} if hidden is not None else {}),
            **({} if kept is None else kept.rows()),
            "failure": f"{at_most(facts.predicted_log2_failure)} for a run",
            **public_rows(facts, costs),
            "predicted": f"{costs.wall_seconds():.1f} s on {threads()} threads, "
            f"{size(costs.predicted_run_memory_bytes)} of memory",
        }
    )
    for note in notes:
        click.echo(f"note: {note}")
    print_warnings(net.warnings)


def for_clients(path: Path | None, length: int) -> dict[str, object]:
    """The row of the client's file."""
    if path is None:
        return {"the client's file": "`palladion split` writes it, of the program"}
    return {f"{path}": f"{size(length)}, for the client's keygen, encrypt and decrypt"}


def is_exported(model: Path) -> bool:
    """True if an ONNX model is one that ``palladion export`` wrote: an integer network."""
    from palladion.nn.integers.export import is_ours  # needs ONNX

    return is_ours(model)


def refuse_fhe_options() -> None:
    """Refuse options that a program for two parties has no use for."""
    for option in (
        "failure", "words", "machine", "profile", "like", "budget_seconds", "budget_memory",
        "hide_model",
    ):  # fmt: skip
        if given(option):
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is not for --mode hybrid: its answers are exact, and "
                             "compile prints its cost")  # fmt: skip


def refuse_given(network: Path, for_models: Collection[str]) -> None:
    """Refuse options that are only for models, if the network is quantised already."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in for_models and given(parameter.name):
            raise UsageError(f"{parameter.opts[0]} is for ONNX models, and {network} is an integer "
                             "network already: leave it out, or give the model")  # fmt: skip
