"""``palladion inspect``: the predicted cost of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import palladion
from palladion import IntNetwork, files
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
    security_rows,
    threads_option,
)
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.cli.why import mark, show_why
from palladion.errors import DataError, UsageError
from palladion.nn.boundary import Boundary
from palladion.nn.quantisation.report import refuse_warned
from palladion.prediction import (
    on_this_machine,
    reading_seconds,
    seconds_here,
    threads,
    wall_seconds,
)
from palladion.text import at_most, size, times

Report = dict[str, Any]


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--network",
    "beside",
    type=FILE,
    help="For a program: the network it was compiled from, to print shapes and bounds.",
)
@click.option("--why", is_flag=True, help="For a network: print what the compiler compared.")
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
                text = IntNetwork.load(file).to_json()
                program, choices = palladion.compile_with_choices(text, batch)
        elif why:
            raise UsageError(
                f"{file} is a program, --why needs the network: a program does not hold what "
                "its compilation compared"
            )
        elif given("batch"):
            raise UsageError(f"{file} is a program, which has a batch of its own: --batch is for a "
                             "network, `palladion compile` makes another program")  # fmt: skip
        else:
            program = files.parsed(file, palladion.Program.from_bytes, b"PROG")
    network = None if beside is None else IntNetwork.load(beside)
    report, boundary = program.report(), Boundary.of_terms(program.terms())
    if network is not None and boundary != network.boundary:
        raise DataError(f"the program {file} and the network {beside} take or give other values: "
                        "it was compiled from another")  # fmt: skip
    report["layers"] = layers_of(report, network)
    report["phases"] = phases_of(report)
    report["warnings"] = list(boundary.interface.warnings)
    report.update(on_this_machine(report))
    if why and choices is not None:
        mark(choices)
        report["why"] = choices
    if as_json:
        print_json(report)
    else:
        show(report)
        if "why" in report:
            show_why(report["why"])
        print_warnings(report["warnings"])
    budget.check(report)
    refuse_warned(report["warnings"], strict=strict)


def layers_of(report: Report, network: IntNetwork | None) -> list[dict[str, Any]]:
    """One entry per layer, in the order of the program."""
    found: dict[str, dict[str, Any]] = {}
    for step in report["steps"]:
        entry = found.setdefault(
            step["layer"],
            {
                "name": step["layer"],
                "shape": None,
                "bound": None,
                "noise_sigma": report["layer_sigmas"].get(step["layer"]),
                "table_entries": None,
                "packings": 0,
                "products": 0,
                "predicted_seconds": 0.0,
            },
        )
        entry["table_entries"] = step.get("entries", entry["table_entries"])
        entry["packings"] += step["operation"] == "pack"
        entry["products"] += step.get("products", 0)
        entry["predicted_seconds"] += step["predicted_seconds"]
    if network is None:
        return list(found.values())
    if list(found) != [layer.name for layer in network.layers]:
        raise DataError(
            f"the program of {report['network']} has {len(found)} layers, the network "
            f"{network.name} has {len(network.layers)} or other names: it was compiled from another"
        )
    for layer, shape in zip(network.layers, network.shapes, strict=True):
        found[layer.name] |= {"shape": list(shape), "bound": layer.bound}
    return list(found.values())


def phases_of(report: Report) -> dict[str, float]:
    """Predicted seconds of each phase of the loop, over all layers."""
    seconds: dict[str, float] = {}
    for step in report["steps"]:
        name = phase(step["name"]).rpartition(": ")[2]
        seconds[name] = seconds.get(name, 0.0) + step["predicted_seconds"]
    return seconds


def show(report: Report) -> None:
    count = report["ciphertexts"]
    click.echo(f"{report['network']}, {report['batch']} images of {times(report['input_shape'])}")
    print_rows(
        {
            **security_rows(report["security"]),
            "parameters": f"N = {1 << report['log_n']}, log2(QP) = {report['log_qp']:.0f}, "
            f"t = {report['plaintext_modulus']}",
            "moduli": f"{report['limbs']} limbs, {report['special_limbs']} special ones, "
            f"{report['digit_limbs']} limbs per digit, up to {report['largest_modulus_bits']} bits",
            "LWE samples": f"dimension {report['lwe_dimension']}, rounding noise of deviation "
            f"{report['rounding_sigma']:.1f} each",
            "noise margin": f"{report['predicted_margin_bits']:.1f} bits",
            "failure": f"{at_most(report['predicted_log2_failure'])} for a run",
            "worst step": worst_step(report["worst_step"]),
            "ciphertexts": f"{size(report['predicted_ciphertext_bytes'])} in {count}",
            "evaluation keys": f"{size(report['predicted_evaluation_key_bytes'])}, "
            f"read in {reading_seconds(report):.1f} s",
            "memory": f"{size(report['predicted_run_memory_bytes'])}, "
            f"{size(report['predicted_peak_memory_bytes'])} if every layer is compared",
            "time": f"{wall_seconds(report, threads()):.1f} s on {threads()} threads here",
        }
    )
    click.echo()
    here = seconds_here(report) / report["predicted_seconds"]
    rows = [row_of(layer, here) for layer in report["layers"]]
    total = {name: sum(layer[name] for layer in report["layers"]) for name in SUMMED}
    rows.append(
        row_of(
            {
                "name": "all",
                "shape": None,
                "bound": None,
                "noise_sigma": None,
                "table_entries": None,
                **total,
            },
            here,
        )
    )
    known = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    print_table([{name: row[name] for name in known} for row in rows])
    click.echo("\npredicted seconds on one thread here")
    phases = {**report["phases"], "in all": report["predicted_seconds"]}
    print_rows({name: f"{taken * here:9.1f}" for name, taken in phases.items()})


def worst_step(worst: Mapping[str, Any]) -> str:
    """The step that is most often wrong. For a table, how far beyond its bound it is still
    right."""
    words = f"{worst['name']}, 2^{worst['log2_failure']:.1f}"
    if "bound" not in worst:
        return words
    return f"{words}, right {worst['border'] - worst['bound']} beyond {worst['bound']}"


SUMMED = ("packings", "products", "predicted_seconds")


def row_of(layer: Mapping[str, Any], here: float) -> dict[str, Any]:
    """A layer as a row of the table, with the seconds of one thread here."""
    shape = layer["shape"]
    return {
        "layer": layer["name"],
        "shape": None if shape is None else times(shape),
        "bound": layer["bound"],
        "noise": None if layer["noise_sigma"] is None else f"{layer['noise_sigma']:.1f}",
        "table": layer["table_entries"],
        "packings": layer["packings"],
        "products": layer["products"],
        "seconds": round(layer["predicted_seconds"] * here, 2),
    }
