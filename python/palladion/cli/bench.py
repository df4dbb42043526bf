"""``palladion bench``."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import click

import palladion
from palladion import _native
from palladion.cli.common import json_option, print_json, threads_option

Row = dict[str, Any]


@click.command()
@click.argument("what", type=click.Choice(["ntt", "bfv", "bgv", "ckks", "tfhe", "lut", "loop"]))
@click.option("--samples", type=click.IntRange(min=1), default=5, help="Samples for each figure.")
@click.option("--bootstrap/--no-bootstrap", default=True, help="Measure bootstrapping with ckks.")
@threads_option
@json_option
def bench(what: str, samples: int, bootstrap: bool, as_json: bool) -> None:
    """Measure the core: schemes, transforms, tables, or the whole loop.

    ckks ends with a bootstrapping, which takes 7 GB of memory. --no-bootstrap leaves it out.

    tfhe measures the fastest 128-bit sets that fail in less than one of 2^64 bootstrappings. Rows
    of a batch give the time of one of 64 gates or tables, on all threads.

    With --json each row is one object: name, parameters, threads, seconds (the median), samples.
    Short operations are repeated for at least a tenth of a second.
    """

    def hear(row: Row) -> None:
        if as_json:
            print_json(row)
        else:
            sizes = ", ".join(f"{name} {value}" for name, value in row["parameters"].items())
            click.echo(f"{row['name']:36}{row['seconds'] * 1e3:12.3f} ms   {sizes}")

    if what == "loop":
        loop(samples, hear)
    else:
        _native.bench(what, samples, hear)
    if what == "ckks" and bootstrap:
        _native.bench("bootstrap", samples, hear)


def loop(samples: int, hear: Callable[[Row], None]) -> None:
    """Measure the steps of the demo's program, including the client's work."""
    network = palladion.mnist_network()
    program = palladion.compile_network(network.to_json(), batch=1)
    report = program.report()
    secret, keys = palladion.keygen(program.terms())
    image = network.inputs_of_pixels(palladion.mnist_sample().images[:1]).tolist()
    seconds: dict[str, list[float]] = defaultdict(list)
    for _ in range(samples + 1):
        query = secret.encrypt(image)
        _answer, ran = program.run(keys, query)
        for step in ran["steps"]:
            seconds[step["name"]].append(step["seconds"])
        seconds["whole run"].append(ran["seconds"])
    parameters = {
        "network": report["network"],
        "batch": report["batch"],
        "log_n": report["log_n"],
        "log_qp": round(report["log_qp"]),
    }
    for name, taken in seconds.items():
        hear(
            {
                "name": f"loop {name}",
                "parameters": parameters,
                "threads": palladion.info()["threads"],
                "seconds": statistics.median(taken[1:]),  # the first one fills caches and tables
                "samples": samples,
            }
        )
