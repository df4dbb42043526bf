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
from palladion.security import Security


@click.command()
@threads_option
@json_option
def info(as_json: bool) -> None:
    """Print versions, kernels, threads, the speed of this machine, and the least security."""
    found = {
        "version": palladion.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **palladion.info(),
        "machine_factor": round(palladion.machine_factor(), 2),
    }
    security = asdict(Security.of_programs())
    if as_json:
        print_json({**found, "security": security})
    else:
        rows = {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in found.items()}
        print_rows({**rows, **security_rows(security)})
