"""``palladion simulate pbs``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import click

from palladion.cli.common import json_option, print_json, print_rows
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.machines import BootstrapSet, Machine, Placement, Wholes
from palladion.reproduce.athena_tfhe.published import (
    PUBLISHED,
    SETS,
    log2_failure,
    published,
)
from palladion.support.folders import check_new
from palladion.support.text import size

NOT_ESTIMATED = "NOT ESTIMATED: parameters of your own"
"""The security of parameters that are in no published set."""


class Sizes(TypedDict, total=False):
    """The sizes of a bootstrapping that replace those of a set."""

    lwe_dimension: int
    rank: int
    n: int
    digits: tuple[int, int]
    switch: tuple[int, int]


def given_of(
    *,
    lwe_dimension: int | None,
    rank: int | None,
    n: int | None,
    digits: tuple[int, int] | None,
    switch: tuple[int, int] | None,
) -> Sizes:
    """The sizes that are given.

    Raises
    ------
    UsageError
        If one is less than 1.
    """
    sizes: Sizes = {}
    for option, value in [("lwe-dimension", lwe_dimension), ("rank", rank), ("ring-degree", n)]:
        if value is not None and not 1 <= value < 2**32:
            raise UsageError(f"--{option} is {value}, expected 1 or more")
    if lwe_dimension is not None:
        sizes["lwe_dimension"] = lwe_dimension
    if rank is not None:
        sizes["rank"] = rank
    if n is not None:
        sizes["n"] = n
    if digits is not None:
        sizes["digits"] = digits
    if switch is not None:
        sizes["switch"] = switch
    return sizes


def parameters(sizes: BootstrapSet) -> dict[str, object]:
    """The sizes of a bootstrapping, as ``simulate pbs --json`` has them."""
    return {
        "lwe_dimension": sizes.lwe_dimension,
        "rank": sizes.rank,
        "ring_degree": sizes.n,
        "digits": list(sizes.digits),
        "switch_digits": list(sizes.switch),
    }


def digits_of(
    _context: click.Context, option: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Bits and number of digits: ``10x3``."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text, re.ASCII)
    if match is None:
        raise UsageError(
            f"{option.opts[0]} is {text!r}, expected BITSxNUMBER, as 10x3: three digits of 10 bits"
        )
    return int(match[1]), int(match[2])


@click.command()
@click.option("--machine", default="versal", help="Name of a packaged machine, or a TOML file.")
@click.option("--set", "name", type=click.Choice([*SETS]), default="I", help="Parameter set.")
@click.option(
    "--multiplier",
    type=click.Choice(["direct", "fft"]),
    default="direct",
    help="Products by definition, or by pipelines of transforms.",
)
@click.option("--lwe-dimension", type=int, help="n in place of the set's.")
@click.option("--rank", type=int, help="k in place of the set's.")
@click.option("--ring-degree", type=int, help="N in place of the set's.")
@click.option(
    "--digits", callback=digits_of, metavar="BITSxNUMBER", help="Of products: 10x3 for set II."
)
@click.option(
    "--switch-digits",
    callback=digits_of,
    metavar="BITSxNUMBER",
    help="Of the key switch: 1x15 for set II.",
)
@click.option(
    "--emit",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write kernels, graph and host as C++ for AI engines, with words for a run.",
)
@json_option
def pbs(
    machine: str,
    name: str,
    multiplier: str,
    lwe_dimension: int | None,
    rank: int | None,
    ring_degree: int | None,
    digits: tuple[int, int] | None,
    switch_digits: tuple[int, int] | None,
    emit: Path | None,
    as_json: bool,
) -> None:
    """Simulate a programmable bootstrapping: tiles, time, power, energy.

    First the blind rotation alone, then a whole bootstrapping from LWE sample in to LWE sample out:
    with the memory behind the logic, the processor, and the key switch on the processor, as in the
    paper's code, or on the array. Parameters of your own replace those of the set.

    With --emit, FOLDER has the design as source code. `make check` in it compiles and runs that.
    """
    if emit is not None:
        check_new(emit, "--emit")
    given, versal = SETS[name], Machine.of(machine)
    own = given_of(
        lwe_dimension=lwe_dimension,
        rank=rank,
        n=ring_degree,
        digits=digits,
        switch=switch_digits,
    )
    if own:
        given = replace(given, name=f"{name}, changed", security=NOT_ESTIMATED, **own)
    try:
        run = versal.bootstrap(given, multiplier)
    except UsageError as error:
        raise UsageError(f"{machine}: {error}") from error
    emitted = None if emit is None else emitted_in(emit, versal.emit(given, emit, multiplier))
    says = published(given, run) if multiplier == "direct" and not own else []
    failure = None if own else log2_failure(name)
    printed = None
    if multiplier == "fft":
        printed = versal.bootstrap(given, "fft as printed")
    if as_json:
        print_json(
            {
                "set": given.name,
                "parameters": parameters(given),
                "security": given.security,
                "log2_failure": failure,
                "multiplier": multiplier,
                **run.to_json(),
                "machine_file": None if versal.source is None else str(versal.source),
                "as_printed": printed and {key: getattr(printed, key) for key in PRINTED},
                "published_ms": None if own else PUBLISHED[name].milliseconds,
                "published": says,
                "emitted": emitted,
            }
        )
        return
    passes = "" if multiplier == "direct" else f", {run.passes} passes for a product"
    base_log, levels = given.digits
    print_rows(
        {
            "machine": versal.titled(run.machine),
            "set": f"{given.name}: n = {given.lwe_dimension}, k = {given.rank}, N = {given.n}, "
            f"{levels} digits of {base_log} bits",
            "security": given.security,
            "failure": wrong_in(failure),
            "multipliers": f"{run.multipliers} of {run.elements} elements{passes}",
            "tiles": f"{run.tiles} of {run.tiles_available}",
            "channels": f"{run.channels}, {run.channel_gigabits:.2f} Gbit/s at most",
            "places": in_words(run.placement),
            "keys": f"{run.key_gigabits:.2f} Gbit/s",
            "an iteration": f"{run.iteration_us:.2f} us, {run.iterations} of them",
            "simulated time": f"{run.latency_ms:.2f} ms, the blind rotation alone",
            "power": f"{run.watts:.1f} W: {run.static_watts:.1f} static, "
            f"{run.tile_watts:.1f} tiles, {run.channel_watts:.1f} keys",
            "energy": f"{run.energy_mj:.1f} mJ",
        }
    )
    if printed:
        click.echo(
            f"in the {printed.passes} passes that the paper prints: "
            f"{printed.latency_ms:.2f} ms, with wrong words"
        )
    click.echo()
    print_table(
        [
            {
                "tiles of": kind.name,
                "number": kind.tiles,
                "busy": "-" if kind.busy is None else f"{100 * kind.busy:.1f}%",
                "task": kind.does,
            }
            for kind in run.kinds
        ]
    )
    print_whole(run.whole)
    for line in says:
        click.echo()
        click.echo(click.wrap_text(line, 98))
    if emitted:
        click.echo()
        click.echo(
            f"written to {emitted['folder']}: {emitted['files']} files, "
            f"{size(emitted['bytes'])}; `make check` there compiles and runs them"
        )


class Emitted(TypedDict):
    """A folder of source code."""

    folder: str
    files: int
    bytes: int


def emitted_in(folder: Path, sizes: dict[str, int]) -> Emitted:
    """A folder that was written, with the bytes of each file."""
    return {"folder": str(folder), "files": len(sizes), "bytes": sum(sizes.values())}


def wrong_in(log2: float | None) -> str:
    """How often a bootstrapping is wrong, in words."""
    if log2 is None:
        return "not known for parameters of your own"
    often = f": one bootstrapping in {2**-log2:.0f} is WRONG" if log2 > -20 else ""
    return f"2^{log2:.1f}{often}"


def in_words(placement: Placement) -> str:
    """The places of tiles and channels, in a line."""
    shims = placement.shim_columns
    return (
        f"{placement.columns} columns, {placement.rows} rows, {len(shims)} shim tiles; longest "
        f"stream {placement.longest} places: {placement.latency_ms:.2f} ms"
    )


PRINTED = ("passes", "iteration_us", "latency_ms", "energy_mj")
"""Time and energy in the three passes of the paper's FFT multiplier."""


def print_whole(wholes: Wholes) -> None:
    """A whole bootstrapping, with the key switch in both places."""
    places = wholes.places()
    click.echo()
    click.echo("A whole bootstrapping, from LWE sample in to LWE sample out, in us:")
    longest = max((whole.parts for whole in places.values()), key=len)
    rows: dict[str, dict[str, str]] = {part.name: {} for part in longest}
    for place, whole in places.items():
        for part in whole.parts:
            rows[part.name][place] = f"{part.us:,.1f} {part.at}"
    rows["all, ms"] = {place: f"{whole.latency_ms:.2f}" for place, whole in places.items()}
    rows["energy, mJ"] = {place: f"{whole.energy_mj:.2f}" for place, whole in places.items()}
    rows["average power, W"] = {place: f"{whole.watts:.2f}" for place, whole in places.items()}
    rows["tiles"] = {place: str(whole.tiles) for place, whole in places.items()}
    print_table(
        [
            {
                "part": part,
                **{f"key switch on {place}": cells.get(place, "-") for place in places},
            }
            for part, cells in rows.items()
        ]
    )
    if wholes.array_refused:
        click.echo(f"no key switch on the array: {wholes.array_refused}")
