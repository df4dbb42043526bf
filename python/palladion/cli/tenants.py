"""``palladion tenants``: who may use a service."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from palladion.cli.common import FILE, FOLDER, json_option, print_json, print_rows
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.service.assembly import Parts
from palladion.service.sessions.budgets import BOUND, log2_distance
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
    context.obj = open_service(config, data=data)


pass_service = click.make_pass_decorator(Parts)

limit_option = click.option(
    "--limit", "limits", multiple=True, metavar="NAME=NUMBER",
    help="A limit of its own, such as jobs=10: docs/service.md has the names.",
)  # fmt: skip


@tenants.command("list")
@json_option
@pass_service
def list_(parts: Parts, as_json: bool) -> None:
    """Show all tenants and their tokens, which are named and not shown."""
    known = parts.tenants
    rows = [{**row_of(tenant), "tokens": [dict(token) for token in known.tokens(tenant.name)]}
            for tenant in known.all()]  # fmt: skip
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
@pass_service
def add(parts: Parts, name: str, weight: float, limits: tuple[str, ...]) -> None:
    """Add a tenant, and issue its first token."""
    parts.tenants.add(name, weight=weight, limits=parsed(limits))
    issue(parts.tenants, name, None)


@tenants.command()
@click.argument("name")
@click.option("--weight", type=float, help="Share of the workers beside others'.")
@limit_option
@pass_service
def change(parts: Parts, name: str, weight: float | None, limits: tuple[str, ...]) -> None:
    """Change the weight or limits of a tenant."""
    parts.tenants.change(name, weight=weight, limits=parsed(limits))


@tenants.command()
@click.argument("name")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), help="Its life; default: no end."
)
@pass_service
def token(parts: Parts, name: str, days: float | None) -> None:
    """Issue one more token. Old ones stay, until they are revoked."""
    issue(parts.tenants, name, days)


@tenants.command()
@click.argument("identity")
@pass_service
def revoke(parts: Parts, identity: str) -> None:
    """Revoke a token by its identity, or all tokens of a tenant by its name."""
    try:
        parts.tenants.revoke(identity)
    except UsageError:
        click.echo(f"{parts.tenants.revoke_all(identity)} tokens of {identity} are revoked")
        return
    click.echo(f"token {identity} is revoked")


@tenants.command()
@click.argument("name")
@json_option
@pass_service
def inputs(parts: Parts, name: str, as_json: bool) -> None:
    """Show the inputs of programs for two parties that a tenant has used, and may use.

    A program is here once the tenant has used it, or was granted inputs of it.
    """
    tenant = parts.tenants.named(name)
    rows = [budget_row(parts, tenant, program_hash)
            for program_hash in parts.budgets.used_by(tenant)]  # fmt: skip
    if as_json:
        print_json({"tenant": name, "programs": rows})
        return
    print_table([
        {"program": row["program_hash"], "model": row["network"], "used": str(row["used"]),
         "allowed": str(row["allowed"]), "distance": f"2^{row['log2_distance']:.1f}"}
        for row in rows
    ])  # fmt: skip


@tenants.command()
@click.argument("name")
@click.argument("inputs", type=int)
@click.option("--program", required=True, help="Hash of the program: `tenants inputs` shows it.")
@json_option
@pass_service
def grant(parts: Parts, name: str, inputs: int, program: str, as_json: bool) -> None:
    """Allow a tenant INPUTS more inputs of a program for two parties.

    It prints the distance that floods leave for all inputs: above 2^-40 they give away weights.
    """
    tenant = parts.tenants.named(name)
    parts.budgets.grant(tenant, parts.models.two_party_facts(program), inputs)
    row = budget_row(parts, tenant, program)
    if as_json:
        print_json({"tenant": name, **row})
    else:
        print_rows({"used": f"{row['used']} inputs", "allowed": f"{row['allowed']} inputs",
                    "distance": f"2^{row['log2_distance']:.1f} for all of them"})  # fmt: skip
    if row["log2_distance"] > BOUND:
        click.echo(f"warning: this is more than 2^{BOUND:.0f}: floods do not hide the weights over "
                   "so many inputs; compile with --inputs-per-client", err=True)  # fmt: skip


def budget_row(parts: Parts, tenant: Tenant, program_hash: str) -> Json:
    """A tenant's budget of a program as data for JSON."""
    facts = parts.models.two_party_facts(program_hash)
    budget = parts.budgets.of(tenant, facts)
    return {"program_hash": program_hash, "network": facts.network, "used": budget.used,
            "allowed": budget.allowed,
            "log2_distance": log2_distance(facts, budget.allowed)}  # fmt: skip


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
