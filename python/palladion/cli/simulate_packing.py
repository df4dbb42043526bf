"""``palladion simulate packing``: Hyena's packings by an analytical model, or cycle by cycle."""

from __future__ import annotations

from pathlib import Path

import click

from palladion import IntNetwork
from palladion.accelerators.packing_model import (
    CORRECTIONS,
    NETWORKS,
    PACKINGS,
    Layers,
    Model,
    PackingMachine,
    layers_of_network,
    network_named,
    packing_named,
    simulate,
)
from palladion.accelerators.packing_model.machine import MACHINES, machine_file
from palladion.accelerators.packing_model.results import Step, security_of, steps
from palladion.accelerators.packing_model.scheduled import Scheduled, schedule, totals
from palladion.accelerators.packing_model.simulate import Run
from palladion.cli.common import batch_option, json_option, print_json, print_rows
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.machines import Machine
from palladion.support.text import short, size


def layers_of(name: str) -> Layers:
    """A network of the package by its name, or an integer network from its file.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if name in NETWORKS:
        return network_named(name)
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name} is no file, and no network of ours: {', '.join(NETWORKS)}")
    return layers_of_network(IntNetwork.load(path))


def packing_machine_of(name: str) -> PackingMachine:
    """A machine of the packing model by its name, or from its file.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if name in MACHINES:
        return PackingMachine.named(name)
    path = Path(name)
    if not path.is_file():
        known = ", ".join(MACHINES)
        raise UsageError(f"{name} is no file, and no machine of the packing model: {known}")
    return PackingMachine.load(path)


@click.command()
@click.argument("network")
@click.option("--packing", "name", default="hyena", help=f"{', '.join(PACKINGS)}; default hyena.")
@click.option(
    "--machine",
    default="hyena",
    help="hyena, f1, or a JSON file; with --cycle-level one of `simulate run`. Default: hyena.",
)
@batch_option
@click.option(
    "--published", is_flag=True, help="The public simulator's formulas, with their errors."
)
@click.option("--log-tree", is_flag=True, help="Hyena's sums of slots by a tree of rotations.")
@click.option("--memory-bound", is_flag=True, help="Wait for memory where it is slower.")
@click.option(
    "--cycle-level",
    is_flag=True,
    help="Schedule the circuit of each layer on a vector machine, at 128 bits.",
)
@click.option(
    "--log-n",
    type=click.IntRange(13, 15),
    default=13,
    help="With --cycle-level: log2 of the ring degree. Default: 13.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=300,
    help="With --cycle-level: products, rotations or ciphertexts above which a part of a layer is "
    "scheduled. Default: 300.",
)
@click.option("--layers", is_flag=True, help="Every layer too.")
@json_option
def packing(
    network: str,
    name: str,
    machine: str,
    batch: int,
    published: bool,
    log_tree: bool,
    memory_bound: bool,
    cycle_level: bool,
    log_n: int,
    most: int,
    layers: bool,
    as_json: bool,
) -> None:
    """Time, energy and traffic of a packing on Hyena's accelerator.

    NETWORK is resnet50, mobilenetv2, gnmt or resnet20, as the public simulator of Hyena has them,
    or the file of an integer network. The model is analytical. Without --published the errors of
    the published model are mended, and the report has the cost of each correction.

    With --cycle-level there is no model of packings. The circuit of each layer is lowered to
    instructions on limbs, and these are scheduled on a vector machine and checked.
    """
    if cycle_level:
        if published or log_tree or memory_bound:
            raise UsageError(
                "--published, --log-tree and --memory-bound are of the analytical model: leave "
                "them out, or --cycle-level"
            )
        at_cycle_level(layers_of(network), name, machine, (batch, log_n, most), layers, as_json)
        return
    given, cut, model_machine = layers_of(network), packing_named(name), packing_machine_of(machine)
    if published and (log_tree or memory_bound):
        raise UsageError("--published has neither --log-tree nor --memory-bound: leave one out")
    model = Model.corrected(log_tree=log_tree, memory_bound=memory_bound)
    if published:
        model = Model.published()
    run = simulate(given, cut, model_machine, model, batch)
    found = [] if published else steps(given, cut, model_machine, run)
    if as_json:
        data = run.to_dict(layers=layers)
        data["steps"] = [step.to_dict() for step in found]
        data["skipped"] = given.skipped
        print_json({**data, "security": security_of(model_machine).text})
        return
    show(run, given, found)
    if layers:
        click.echo()
        print_table(layer_rows(run))


def at_cycle_level(
    given: Layers,
    name: str,
    machine: str,
    sizes: tuple[int, int, int],
    layers: bool,
    as_json: bool,
) -> None:
    """Schedule a network's layers, and report it. ``sizes`` are the batch, log2 of the ring degree,
    and the largest circuit."""
    batch, log_n, most = sizes
    packing, model = packing_named(name).name, Machine.of(machine)
    with Steps(quiet=as_json) as progress:
        progress.start_run()
        found = schedule(
            given, packing, model, batch=batch, log_n=log_n, most=most,
            hear=lambda done, count: progress.count("schedule", done, count),
        )  # fmt: skip
    total, security = totals(found), found[0].taken["security"]
    parts = sum(not layer.taken["whole"] for layer in found)
    chip = found[0].report.machine
    if as_json:
        data = {"network": given.name, "packing": packing, "machine": chip, "batch": batch,
                "machine_file": None if model.source is None else str(model.source),
                "cycle_level": True, "log_n": log_n, "most": most, **total, "in_part": parts,
                "skipped": given.skipped, "security": security["text"]}  # fmt: skip
        if layers:
            data["layers"] = [layer.to_dict() for layer in found]
        print_json(data)
        return
    rows: dict[str, object] = {
        "network": f"{given.name}, {len(found)} layers, batch {batch}",
        "packing": packing,
        "machine": f"{model.titled(chip)}, cycle by cycle, N = {1 << log_n}",
        "security": security["text"],
        "time": duration(total["seconds"]),
        "energy": f"{total['joules']:.5g} J",
        "cycles": f"{total['cycles']:,.0f}",
        "traffic": ", ".join(
            f"{kind} {size(round(count))}" for kind, count in total["traffic"].items() if count
        ),
    }
    if parts:
        rows["in part"] = (
            f"{parts} layers: circuits above {most} operations, --most; time, energy and traffic "
            "are the part's over its share, but hints, one for each distinct key. Times are "
            "at most: a part loads its keys for less work than its layer"
        )
    print_rows(rows)
    if layers:
        click.echo()
        print_table([scheduled_row(layer) for layer in found])


def scheduled_row(layer: Scheduled) -> dict[str, object]:
    """A row for a scheduled layer."""
    values = layer.to_dict()
    return {
        "layer": short(layer.name, 24),
        "us": f"{1e6 * values['seconds']:,.1f}",
        "uJ": f"{1e6 * values['joules']:,.1f}",
        "traffic": size(round(values["traffic"])),
        "over the bound": f"{values['tight_gap']:.2f}",
        "scheduled": "whole" if values["part"] is None else f"{100 * values['share']:.2g}%",
    }


@click.command(name="packing-machine")
@click.argument("name", default="hyena")
def packing_machine(name: str) -> None:
    """Print the file of a machine of the packing model, as a start for your own."""
    click.echo(machine_file(name), nl=False)


def show(run: Run, given: Layers, found: list[Step]) -> None:
    """The report for a terminal."""
    traffic = run.traffic_bytes
    kinds = ("inputs", "weights", "hints", "partial_sums")
    counts = run.counts
    rows: dict[str, object] = {
        "network": f"{run.network}, {len(run.layers)} layers, batch {run.batch}",
        "packing": f"{run.packing.name}: {run.packing.summary}",
        "machine": f"{run.machine.name}, N = {run.machine.n}",
        "security": security_of(run.machine).text,
        "model": "as published" if not run.model.corrections else "corrected",
        "time": duration(run.seconds),
        "energy": f"{run.joules:.5g} J",
        "cycles": f"{run.cycles:,}",
        "products": f"{counts['multiplications']:,}",
        "rotations": f"{counts['shifts']:,} shifts, {counts['permutations']:,} permutations",
        "traffic": f"{size(int(traffic['total']))}: "
        + ", ".join(f"{kind.replace('_', ' ')} {size(int(traffic[kind]))}" for kind in kinds),
        "memory alone": f"{duration(run.memory_seconds)} at "
        f"{run.machine.bytes_per_second / 1e9:g} GB/s",
    }
    print_rows(rows)
    click.echo()
    total = max(run.joules, 1e-300)
    print_table(
        [
            {"component": part, "joules": f"{value:.5g}", "share": f"{100 * value / total:.1f}%"}
            for part, value in run.joules_by_component.items()
        ]
    )
    if found:
        click.echo()
        print_table(correction_rows(found))
        for step in found:
            if step.correction is not None:
                text = f"{step.correction.value}: {CORRECTIONS[step.correction]}"
                click.echo(click.wrap_text(text, 98, subsequent_indent="  "))
    if run.memory_seconds > run.seconds:
        way_out = "--memory-bound counts its time as well"
        if not run.model.corrections:
            way_out = "the published model does not count its time"
        click.echo(f"\nmemory is slower than the pipelines here; {way_out}")
    if given.skipped:
        text = f"left out: {given.skipped}; both parties apply them to their shares"
        click.echo("\n" + click.wrap_text(text, 98, subsequent_indent="  "))


def correction_rows(found: list[Step]) -> list[dict[str, object]]:
    """The cost of each correction, with all before it."""
    rows: list[dict[str, object]] = []
    for step in found:
        run = step.run
        rows.append(
            {
                "model": step.name if step is found[0] else f"and {step.name}",
                "time": duration(run.seconds),
                "energy": f"{run.joules:.5g} J",
                "traffic": size(int(run.traffic_bytes["total"])),
            }
        )
    return rows


def layer_rows(run: Run) -> list[dict[str, object]]:
    """A row for each layer."""
    return [
        {
            "layer": short(layer.name, 30),
            "products": f"{float(layer.times * layer.work.multiply):,.0f}",
            "sums rotate": f"{float(layer.times * layer.work.partial_sums):,.0f}",
            "inputs rotate": f"{float(layer.times * layer.work.inputs):,.0f}",
            "us": f"{float(layer.nanoseconds) / 1e3:,.1f}",
            "uJ": f"{1e6 * sum(layer.joules.values()):,.1f}",
            "in a polynomial": " ".join(f"{k} {v}" for k, v in layer.work.sizes.items()),
        }
        for layer in run.layers
    ]


def duration(seconds: float) -> str:
    """A time in milliseconds."""
    return f"{1000 * seconds:,.6g} ms"


__all__ = ["packing", "packing_machine"]
