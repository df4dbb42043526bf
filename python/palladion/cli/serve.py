"""``palladion serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from palladion.cli.common import FILE, FOLDER, json_option, print_json
from palladion.cli.table import print_table
from palladion.errors import DataError
from palladion.service.capacity import Check, TwoPartyServable, check
from palladion.service.sessions.budgets import BOUND
from palladion.service.start import first_token, open_service, serve_until_stopped
from palladion.support.text import size


@click.command()
@click.argument("models", type=FOLDER, required=False)
@click.option("--config", type=FILE, help="File of settings, in TOML.")
@click.option("--data", type=FOLDER, help="Folder of the service's own files.")
@click.option("--host", help="Address to listen on; default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; default: 8000.")
@click.option(
    "--grpc-port",
    type=click.IntRange(0, 65535),
    help="Port for gRPC; default: no gRPC. 0 for any that is free.",
)
@click.option(
    "--workers", type=click.IntRange(min=0), help="Processes that run programs; default: 1."
)
@click.option(
    "--threads", type=click.IntRange(min=0), help="Threads of each worker; default: all cores."
)
@click.option("--ray", help="Address of a cluster of Ray whose machines run the workers, or auto.")
@click.option("--check", "only_check", is_flag=True, help="Check settings and programs, and end.")
@json_option
def serve(
    models: Path | None,
    config: Path | None,
    only_check: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Serve the programs of a folder to clients that are elsewhere.

    MODELS has files NAME.program, as `compile` writes them, or folders NAME with files
    VERSION.program. Programs of `compile --mode hybrid` end in .hybrid instead. New and changed
    files are served within seconds. The service stores keys of clients, but never a secret.
    docs/service.md says how to run it for others.
    """
    service = open_service(config, programs=models, **options)
    if only_check:
        show(check(service), as_json)
        return
    token = first_token(service)
    if token is not None:
        click.echo(
            f"tenant `default` was made. Its token, which is not shown again:\n{token}", err=True
        )
    serve_until_stopped(service)


def two_party_row(model: TwoPartyServable) -> dict[str, str]:
    """A model for two parties in the table of `--check`."""
    return {"two parties": f"{model.model} {model.version}",
            "inputs of a tenant": f"{model.inputs_allowed:,}",
            "distance": f"2^{model.log2_distance:.1f}",
            "seconds": f"{model.seconds:.3g}", "bytes": size(model.bytes),
            "rounds": str(model.rounds), "program": model.program_hash}  # fmt: skip


def show(checked: Check, as_json: bool) -> None:
    """Print what a check checked. A program that is refused is an error."""
    if as_json:
        print_json(checked.to_json())
    else:
        rows = [
            {"model": f"{model.model} {model.version}", "cores": str(row.cores),
             "workers": f"{row.workers} of {row.threads} threads",
             "seconds": f"{row.seconds:.3g}", "an hour": f"{row.requests_per_hour:,.0f}",
             "memory": size(row.memory_bytes), "a client's keys": size(model.key_bytes)}
            for model in checked.models for row in model.capacity
        ]  # fmt: skip
        if rows:
            print_table(rows)
        if checked.two_parties:
            print_table([two_party_row(model) for model in checked.two_parties])
        if checked.grpc is not None:
            click.echo(f"gRPC would listen on {checked.grpc}")
        click.echo("predicted, for cores like those of this machine, each with nothing else to do")
        for model in checked.two_parties:
            if model.gives_away:
                click.echo(
                    f"warning: the limit hybrid_inputs allows {model.inputs_allowed} inputs of "
                    f"{model.model} {model.version} to each tenant, which add up to "
                    f"2^{model.log2_distance:.1f}, more than 2^{BOUND:.0f}",
                    err=True,
                )
    if checked.refused:
        reasons = "; ".join(f"{refused.path}: {refused.reason}" for refused in checked.refused)
        raise DataError(f"{len(checked.refused)} programs are refused: {reasons}")
