"""The command ``palladion-hardware``, or ``python -m palladion_hardware``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from palladion_hardware import machine as machines
from palladion_hardware.circuit.inventory import count
from palladion_hardware.circuit.rtl import to_verilog
from palladion_hardware.errors import HardwareError, ParameterError
from palladion_hardware.tools import amaranth_simulator, verilator, yosys
from palladion_hardware.units.check import compare, report, try_model
from palladion_hardware.units.cross.reduction import CrossReduction
from palladion_hardware.units.registry import UNITS, unit_class
from palladion_hardware.units.unit import Shape, Unit

ALL_KINDS = tuple(dict.fromkeys(kind for cls in UNITS.values() for kind in cls.multipliers))

PRINTED: Final = {"plain": 1.0, "barrett": 1.55, "hardcoded": 1.49, "montgomery": 2.03}
"""CROSS, table 8: areas of elements beside a plain one."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Functional units of accelerators: models of every cycle, Verilog, cells."""


def with_shape(command: Callable[..., None]) -> Callable[..., None]:
    """The options that choose a unit's sizes."""
    for option in reversed([
        click.argument("unit"),
        click.option("--lanes", type=click.IntRange(min=1), help="words of a vector"),
        click.option("--word", type=click.IntRange(2, 64), help="bits of a word"),
        click.option("--degree", type=click.IntRange(min=2), help="the largest ring degree N"),
        click.option("--modulus", type=click.IntRange(min=3), help="by default the largest prime"),
        click.option("--multiplier", type=click.Choice(ALL_KINDS), help="a kind of the unit"),
        click.option("--round-bits", type=click.IntRange(min=1), help="of restricted"),
        click.option("--product-cycles", type=click.IntRange(1, 16), help="of a product; 2"),
        click.option("--machine", type=click.Path(path_type=Path), help="take its sizes"),
    ]):  # fmt: skip
        command = option(command)
    return command


def build(name: str, *, machine: Path | None, **sizes: int | str | None) -> Unit:
    """A unit with the paper's sizes, those of a machine, and those that are chosen."""
    cls = unit_class(name)
    shape = cls.full()
    if machine is not None:
        if cls.machine is None:
            raise ParameterError(
                f"{name} is a unit of no machine's file: --lanes, --word and --multiplier choose it"
            )
        file = machines.read(machine, cls.machine[1])
        degree = min(file.degree, file.lanes**2)
        shape = replace(shape, lanes=file.lanes, word=file.word, degree=degree)
    chosen: dict[str, Any] = {key: value for key, value in sizes.items() if value is not None}
    return cls(replace(shape, **chosen))


@commands.command("list")
@click.option("--machine", type=click.Path(path_type=Path), help="compare with a machine's file")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
def list_units(machine: Path | None, as_json: bool) -> None:
    """All units at the papers' sizes: latency, multipliers, registers, memory."""
    rows: list[dict[str, object]] = []
    name_of_file = None if machine is None else machines.name_of(machine)
    chosen = {
        name: cls
        for name, cls in UNITS.items()
        if machine is None or (cls.machine and cls.machine[0] == name_of_file)
    }
    if not chosen:
        known = sorted({cls.machine[0] for cls in UNITS.values() if cls.machine})
        raise ParameterError(
            f"no unit here is of a machine {name_of_file}: expected the file of one of "
            f"{', '.join(known)}, or one with its name; `generate UNIT --machine FILE` takes the "
            "sizes of any file"
        )
    for name, cls in chosen.items():
        unit = build(name, machine=machine)
        inventory = count(unit.circuit)
        latency = None
        if machine is not None and cls.machine is not None:
            latency = machines.read(machine, cls.machine[1]).latency
        rows.append({
            "unit": name, "lanes": unit.shape.lanes, "word": unit.shape.word,
            "degree": unit.shape.degree, "latency": unit.latency, "latency_of_file": latency,
            "products": inventory.multipliers, "register_bits": inventory.register_bits,
            "delay_bits": inventory.delay_bits, "table_bits": inventory.table_bits,
        })  # fmt: skip
    show(rows, as_json=as_json)


@commands.command()
@with_shape
@click.option("--output", type=click.Path(path_type=Path), required=True, help="a folder")
def generate(output: Path, unit: str, **options: Any) -> None:
    """Verilog of a unit, and a JSON file of its sizes, latency and settings."""
    made = build(unit, **options)
    output.mkdir(parents=True, exist_ok=True)
    stem = made.circuit.name
    (output / f"{stem}.v").write_text(to_verilog(made.circuit), encoding="utf-8")
    facts = {
        **asdict(made.shape), "unit": made.name, "source": made.source,
        "latency": made.latency, "interval": made.interval(), "settings": dict(made.settings()),
        "ports": {
            name: {"bits": node.bits, "lanes": node.lanes}
            for name, node in (*made.circuit.inputs.items(), *made.circuit.outputs.items())
        },
    }  # fmt: skip
    (output / f"{stem}.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    click.echo(f"{output / stem}.v and .json: latency {made.latency} cycles, {made.interval()}")


@commands.command()
@with_shape
@click.option("--seed", type=int, default=1, help="of random words")
@click.option(
    "--judge", "judges", multiple=True, type=click.Choice(["verilator", "amaranth"]),
    help="also run the RTL beside the model",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
def check(seed: int, judges: Sequence[str], as_json: bool, unit: str, **options: Any) -> None:
    """The model beside the definition, every cycle; and the RTL beside the model."""
    made = build(unit, **options)
    trial = try_model(made, seed=seed)
    if "amaranth" in judges:
        compare(made, trial, amaranth_simulator.simulate(made.circuit, trial.ports), "Amaranth")
    if "verilator" in judges:
        compare(made, trial, verilator.simulate(made.circuit, trial.ports), "Verilator")
    show([dict(report(made, trial, ["definition", *judges]))], as_json=as_json)


@commands.command()
@with_shape
@click.option("--whole", is_flag=True, help="all at once, which small units allow; with depth")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
def synthesise(whole: bool, as_json: bool, unit: str, **options: Any) -> None:
    """Cells by Yosys: of each operation, times how often the unit has it."""
    made = build(unit, **options)
    cells = (yosys.synthesise if whole else yosys.estimate)(made.circuit)
    row = {"unit": unit, "lanes": made.shape.lanes, "word": made.shape.word, **asdict(cells)}
    area = made.machine[2] if made.machine else None
    if made.shape == made.full() and area is not None:
        row["printed_mm2"] = area
        row["um2_per_gate"] = round(area * 1e6 / cells.gates, 4)
    show([row], as_json=as_json)


@commands.command("multipliers")
@click.option("--word", type=click.IntRange(21, 64), default=32, help="bits of a word")
@click.option("--json", "as_json", is_flag=True, help="one JSON object")
def compare_multipliers(word: int, as_json: bool) -> None:
    """One lane of each multiplier, and each element of CROSS's table 8: cycles and gates."""
    kinds = [("montgomery", 1), ("barrett", 1), ("restricted", -(-word // 3)),
             ("restricted", word // 2), ("hardcoded", 1)]  # fmt: skip
    rows: list[dict[str, object]] = []
    for kind, bits in kinds:
        name = f"{kind}, rounds of {bits} bits" if kind == "restricted" else kind
        rows.append({"multiplier": name, **counted("f1-multiplier", kind, word, round_bits=bits)})
    with_ratio(rows, "beside_montgomery", "montgomery")
    elements: list[dict[str, object]] = [
        {"element": kind, **counted("cross-reduction", kind, word)}
        for kind in CrossReduction.multipliers
    ]
    with_ratio(elements, "beside_plain", "plain")
    with_ratio(elements, "beside_plain_low", "plain-low")
    for row in elements:
        row["printed"] = PRINTED.get(str(row["element"]))
    if as_json:
        click.echo(json.dumps({"multipliers": rows, "elements": elements}))
        return
    show(rows, as_json=False)
    show(elements, as_json=False)
    click.echo(
        "Gates of a synthesis without a library. Restricted: moduli that are 1 modulo a power of "
        "2.\nF1 prints 30 % less area than the best multiplier before it, in 14/12 nm. CROSS "
        "prints\nthe areas of elements beside a plain one, in 28 nm."
    )


def counted(unit: str, kind: str, word: int, **sizes: int) -> dict[str, object]:
    """The synthesis of one lane of a unit."""
    made = unit_class(unit)(Shape(lanes=1, word=word, degree=2, multiplier=kind, **sizes))
    cells = yosys.synthesise(made.circuit)
    return {
        "latency": made.latency, "gates": cells.gates, "registers": cells.registers,
        "depth": cells.depth,
    }  # fmt: skip


def with_ratio(rows: Sequence[dict[str, object]], name: str, base: str) -> None:
    """The gates of each row beside those of the row whose first word is ``base``."""
    gates = {next(iter(row.values())): float(str(row["gates"])) for row in rows}
    for row in rows:
        row[name] = round(float(str(row["gates"])) / gates[base], 3)


def show(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rows if len(rows) > 1 else rows[0]))
        return
    table = Table(box=SIMPLE)
    for key in rows[0]:
        table.add_column(key.replace("_", " "), justify="left" if key == "unit" else "right")
    for row in rows:
        table.add_row(*(text_of(value) for value in row.values()))
    Console(width=150).print(table)


def text_of(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if isinstance(value, float) and value > 100 else str(value)


def main() -> None:
    """Runs the command: errors in one line, with status 2."""
    try:
        commands.main(standalone_mode=False)
    except HardwareError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
