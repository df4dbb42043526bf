"""``palladion info``."""

from __future__ import annotations

import platform
from dataclasses import asdict

import click

import palladion
from palladion.cli.common import (
    json_option,
    print_json,
    print_rows,
    security_rows,
    threads_option,
)
from palladion.schemes.security import Security


@click.command()
@threads_option
@json_option
def info(as_json: bool) -> None:
    """Print versions, kernels, threads, the speed of this machine, and the least security."""
    found = {
        "version": palladion.__version__,
        "commit": palladion.__commit__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **palladion.info(),
        "machine_factors": {k: round(v, 2) for k, v in palladion.machine_factors().items()},
    }
    security = Security.of_programs()
    if as_json:
        print_json({**found, "security": asdict(security)})
    else:
        print_rows(
            {**{name: text(value) for name, value in found.items()}, **security_rows(security)}
        )


def text(value: object) -> object:
    """The items of a list or a dictionary, in a line."""
    if isinstance(value, dict):
        value = [f"{name} {number}" for name, number in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, list) else value
