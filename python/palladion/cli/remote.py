"""``palladion remote``: the client of a service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import click

from palladion.cli.common import (
    FILE,
    FOLDER,
    OUTPUT,
    json_option,
    print_json,
    threads_option,
    warned,
)
from palladion.cli.decrypt import outputs_json, show_outputs
from palladion.cli.images import load_inputs, of_array
from palladion.cli.progress import Steps
from palladion.cli.secrets import first_line, open_secret, passphrase_option
from palladion.cli.table import print_table
from palladion.data.digits import takes_digits
from palladion.errors import UsageError
from palladion.remote.hybrid_model import RemoteHybridModel
from palladion.remote.service import RemoteModel, Service, connect
from palladion.search import places_of, records_of, top
from palladion.secret import Secret
from palladion.support import files
from palladion.support.records import Json
from palladion.support.text import size

Command = TypeVar("Command", bound=Callable[..., Any])

TOKEN = "PALLADION_TOKEN"
"""The variable of the environment with a token: others can read the arguments of a command."""


@click.group()
def remote() -> None:
    """Use a service: `palladion serve` on another machine.

    The token comes from the variable PALLADION_TOKEN or from --token-file.
    """


def service_options(command: Command) -> Command:
    """The options with which :func:`opened` connects."""
    for option in (
        click.option("--home", type=FOLDER, help="Folder of secrets; default: $PALLADION_HOME."),
        click.option("--patience", type=click.FloatRange(min=0), default=120.0, show_default=True,
                     help="Seconds to go on asking while the service is away or busy."),
        click.option("--token-file", type=FILE, help=f"File with the token; default: ${TOKEN}."),
        click.option("--url", envvar="PALLADION_URL", required=True, show_envvar=True,
                     help="Address of the service."),
    ):  # fmt: skip
        command = option(command)
    return passphrase_option(command)


@contextmanager
def opened(
    url: str,
    token_file: Path | None,
    patience: float,
    home: Path | None,
    secret: Path | None = None,
) -> Iterator[Service]:
    """A connection to a service."""
    token = first_line(token_file) if token_file else os.environ.get(TOKEN, "").strip()
    if not token:
        raise UsageError(f"there is no token: set {TOKEN}, or give --token-file")
    own: Secret | None = None if secret is None else open_secret(secret)
    with connect(url, token, secret=own, home=home, patience=patience) as service:
        yield service


@remote.command()
@service_options
@click.option("--model", help="Name of the model; default: the only one.")
@click.option("--version", help="Its version; default: the one that the service chooses.")
@click.option("--secret", type=FILE, help="Secret; default: one of this service, in --home.")
@click.option("--client-digest", help="SHA-256 of the client's file, if it was told to you.")
@click.option("--program", help="Hash of the program, to refuse another one (two parties).")
@click.option("--output", type=OUTPUT, help="File for the model's outputs, as .npz.")
@click.argument("inputs", type=FILE, nargs=-1, required=True)
@threads_option
@json_option
def predict(
    inputs: tuple[Path, ...],
    model: str | None,
    version: str | None,
    secret: Path | None,
    client_digest: str | None,
    program: str | None,
    output: Path | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Have the service run a model on INPUTS that it does not see.

    INPUTS are pictures, .npy or .npz files, as `encrypt` takes them. At the first time keys are
    made and uploaded, which can take a minute. The secret stays here. A model for two parties is
    asked in a session, and needs no keys.
    """
    with opened(secret=secret, **where) as service, Steps(quiet=as_json) as steps:
        with steps.step("fetch the model's description"):
            choice = service.choose(model, version)
            name, number = choice.name, choice.version
            chosen: RemoteModel | RemoteHybridModel
            if choice.has_two_parties:
                refuse(client_digest, "--client-digest", "runs on encrypted queries")
                chosen = service.hybrid_model(name, number, program_hash=program)
            else:
                refuse(program, "--program", "has two parties")
                chosen = service.model(name, number, client_digest=client_digest)
        with warned() as warnings:
            rows = load_inputs(chosen.boundary, inputs, digits=takes_digits(chosen.boundary))
        steps.start_run()
        prediction = chosen.predict_integers(rows, progress=steps.count)
    if output is not None:
        files.write_arrays(output, prediction.outputs)
    if as_json:
        print_json({
            "model": chosen.name,
            "version": chosen.version,
            **identities(chosen),
            "inputs": len(prediction),
            **outputs_json(prediction),
            "margin_bits": prediction.margin_bits,
            "warnings": warnings,
            "output": None if output is None else str(output),
        })  # fmt: skip
        return
    show_outputs(prediction)


def refuse(value: str | None, option: str, words: str) -> None:
    """Refuse an option that a model has no use for."""
    if value is not None:
        raise UsageError(f"{option} is for a model that {words}, and this one does not: leave it "
                         "out, or name another model")  # fmt: skip


def identities(chosen: RemoteModel | RemoteHybridModel) -> Json:
    """The identities of program and keys."""
    if isinstance(chosen, RemoteHybridModel):
        return {"protocol": "hybrid", "program_hash": chosen.program_hash}
    return {"program_id": chosen.client.terms.program_id, "key_id": chosen.client.key_id}


@remote.command()
@service_options
@click.option("--model", help="Name of the collection's model; default: the only one.")
@click.option("--version", help="Its version; default: the one that the service chooses.")
@click.option("--secret", type=FILE, help="Secret; default: one of this service, in --home.")
@click.option("--client-digest", help="SHA-256 of the client's file, if it was told to you.")
@click.option("-k", type=click.IntRange(min=1), default=10, show_default=True,
              help="The most vectors to show for a query.")  # fmt: skip
@click.option("--threshold", type=float, help="The smallest score to show.")
@click.option("--records", metavar="MODEL", help="Fetch their records, by this second model.")
@click.argument("queries", type=FILE)
@threads_option
@json_option
def search(
    queries: Path,
    model: str | None,
    version: str | None,
    secret: Path | None,
    client_digest: str | None,
    k: int,
    threshold: float | None,
    records: str | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Find the vectors of a collection that are nearest to QUERIES.

    QUERIES is a .npy file with one vector or an array of shape (N, d). They are encrypted. The
    service returns the scores of all vectors, and this command sorts them: a threshold hides
    nothing from it.
    """
    with opened(secret=secret, **where) as service, Steps(quiet=as_json) as steps:
        with steps.step("fetch the client's file"):
            chosen = service.model(model, version, client_digest=client_digest)
        with warned() as warnings:
            rows = of_array(chosen.client.boundary, queries)
        steps.start_run()
        prediction = chosen.predict_integers(rows, progress=steps.count)
        matches = top(prediction, k, threshold)
        texts = [[""] * len(each) for each in matches]
        if records is not None:
            with steps.step("fetch the records"):
                second = service.model(records)
                (places,) = second.client.boundary.interface.takes.shape
                for each, own in zip(matches, texts, strict=True):
                    if len(each):
                        answer = second.predict(places_of(each.indices, places))
                        own[:] = [line.decode(errors="replace") for line in records_of(answer)]
    if as_json:
        print_json({
            "model": chosen.name,
            "version": chosen.version,
            "program_id": chosen.client.terms.program_id,
            "matches": [{"indices": each.indices.tolist(), "scores": each.scores.tolist(),
                         **({} if records is None else {"records": own})}
                        for each, own in zip(matches, texts, strict=True)],
            "margin_bits": prediction.margin_bits,
            "warnings": warnings,
        })  # fmt: skip
        return
    rows_shown = [
        {
            "query": str(query),
            "rank": str(rank),
            "vector": str(vector),
            "score": f"{score:.4f}",
            **({} if records is None else {"record": text}),
        }
        for query, (each, own) in enumerate(zip(matches, texts, strict=True))
        for rank, (vector, score, text) in enumerate(
            zip(each.indices, each.scores, own, strict=True), 1
        )
    ]
    if rows_shown:
        print_table(rows_shown)
    else:
        click.echo(f"no score is at least {threshold}")


@remote.command()
@service_options
@json_option
def models(as_json: bool, **where: Any) -> None:
    """Show the models of a service."""
    with opened(**where) as service:
        versions_of = service.models()
    if as_json:
        print_json({"models": versions_of})
        return
    print_table([{"model": name, "versions": ", ".join(of)} for name, of in versions_of.items()])


@remote.command()
@service_options
@click.option("--delete", metavar="DIGEST", help="Delete a file of keys.")
@json_option
def keys(delete: str | None, as_json: bool, **where: Any) -> None:
    """Show the evaluation keys that the service has of you, or delete some."""
    with opened(**where) as service:
        if delete is not None:
            service.delete_keys(delete)
        stored = service.keys()
    if as_json:
        print_json({"keys": stored})
        return
    print_table([
        {"digest": key["digest"], "key": key["key_id"][:12], "size": size(key["bytes"]),
         "stored": at(key["created"]), "ends": at(key["expires"])}
        for key in stored
    ])  # fmt: skip


@remote.command()
@service_options
@json_option
def jobs(as_json: bool, **where: Any) -> None:
    """Show your last jobs."""
    with opened(**where) as service:
        latest = service.jobs()
    if as_json:
        print_json({"jobs": latest})
        return
    print_table([job_row(job) for job in latest])


def job_row(job: Json) -> dict[str, str]:
    """A job as a line of a table."""
    seconds = "" if job["seconds"] is None else f"{job['seconds']:.2f}"
    return {"job": job["id"], "model": f"{job['model']} {job['version']}", "state": job["state"],
            "done": f"{100 * job['done']:.0f} %", "seconds": seconds,
            "submitted": at(job["created"])}  # fmt: skip


def at(moment: float | None) -> str:
    """A time in a table."""
    if moment is None:
        return "never"
    return f"{datetime.fromtimestamp(moment, timezone.utc):%Y-%m-%d %H:%M}"
