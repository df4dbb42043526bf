"""``palladion info``."""

from __future__ import annotations

import platform

import click

import palladion
from palladion.cli.common import json_option, print_json, print_rows, threads_option


@click.command()
@threads_option
@json_option
def info(as_json: bool) -> None:
    """Print versions, kernels, threads and the speed of this machine."""
    found = {
        "version": palladion.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **palladion.info(),
        "machine_factor": round(palladion.machine_factor(), 2),
    }
    if as_json:
        print_json(found)
    else:
        print_rows(
            {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in found.items()}
        )
