"""``palladion tenants``: who may use a service."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from palladion.cli.common import FILE, FOLDER, json_option, print_json
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.service.settings import DAY
from palladion.service.start import open_service
from palladion.service.tenants import Tenant, Tenants
from palladion.support.records import Json


@click.group()
@click.option("--config", type=FILE, help="File of settings of the service, in TOML.")
@click.option("--data", type=FOLDER, help="Folder of the service's own files.")
@click.pass_context
def tenants(context: click.Context, config: Path | None, data: Path | None) -> None:
    """Add tenants of a service, and issue and revoke their tokens."""
    context.obj = open_service(config, data=data).tenants


pass_tenants = click.make_pass_decorator(Tenants)

limit_option = click.option(
    "--limit", "limits", multiple=True, metavar="NAME=NUMBER",
    help="A limit of its own, such as jobs=10: docs/service.md has the names.",
)  # fmt: skip


@tenants.command("list")
@json_option
@pass_tenants
def list_(service: Tenants, as_json: bool) -> None:
    """Show all tenants and their tokens, which are named and not shown."""
    rows = [{**row_of(tenant), "tokens": [dict(token) for token in service.tokens(tenant.name)]}
            for tenant in service.all()]  # fmt: skip
    if as_json:
        print_json({"tenants": rows})
        return
    print_table([
        {"tenant": row["name"], "weight": f"{row['weight']:g}",
         "tokens": ", ".join(shown(token) for token in row["tokens"]) or "none"}
        for row in rows
    ])  # fmt: skip


@tenants.command()
@click.argument("name")
@click.option("--weight", default=1.0, help="Share of the workers beside others'; default: 1.")
@limit_option
@pass_tenants
def add(service: Tenants, name: str, weight: float, limits: tuple[str, ...]) -> None:
    """Add a tenant, and issue its first token."""
    service.add(name, weight=weight, limits=parsed(limits))
    issue(service, name, None)


@tenants.command()
@click.argument("name")
@click.option("--weight", type=float, help="Share of the workers beside others'.")
@limit_option
@pass_tenants
def change(service: Tenants, name: str, weight: float | None, limits: tuple[str, ...]) -> None:
    """Change the weight or limits of a tenant."""
    service.change(name, weight=weight, limits=parsed(limits))


@tenants.command()
@click.argument("name")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), help="Its life; default: no end."
)
@pass_tenants
def token(service: Tenants, name: str, days: float | None) -> None:
    """Issue one more token. Old ones stay, until they are revoked."""
    issue(service, name, days)


@tenants.command()
@click.argument("identity")
@pass_tenants
def revoke(service: Tenants, identity: str) -> None:
    """Revoke a token by its identity, or all tokens of a tenant by its name."""
    try:
        service.revoke(identity)
    except UsageError:
        click.echo(f"{service.revoke_all(identity)} tokens of {identity} are revoked")
        return
    click.echo(f"token {identity} is revoked")


def issue(service: Tenants, name: str, days: float | None) -> None:
    """Issue a token and print it alone, so that it can be read by a script."""
    issued = service.issue(name, seconds=None if days is None else days * DAY)
    click.echo(f"token {issued.id} of {name}, which is not shown again:", err=True)
    click.echo(issued.text)


def parsed(limits: tuple[str, ...]) -> Json:
    """Limits from words such as ``jobs=10``."""
    numbers = {}
    for words in limits:
        name, sign, value = words.partition("=")
        if not sign:
            raise UsageError(f"the limit {words!r}, expected NAME=NUMBER")
        numbers[name] = value
    return numbers


def row_of(tenant: Tenant) -> Json:
    """A tenant as data for JSON."""
    return {"name": tenant.name, "weight": tenant.weight, "limits": tenant.limits.model_dump()}


def shown(token: Json) -> str:
    """A token in a table."""
    if token["expires"] is None:
        return str(token["id"])
    end = datetime.fromtimestamp(token["expires"], timezone.utc)
    return f"{token['id']} until {end:%Y-%m-%d}"
