"""Budgets of inputs: floods hide the weights of a program over some inputs of one client, not more.

Inputs are counted before a session begins. What the service does not know to be unused stays
counted, whatever happens to a session, to a process or to the machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, RowMapping, insert, select, update

from palladion.errors import UsageError
from palladion.service.models.two_parties import TwoPartyFacts
from palladion.service.problems import ForbiddenError
from palladion.service.settings import MOST_INPUTS
from palladion.service.state import audit
from palladion.service.state.database import Database
from palladion.service.state.schema import hybrid_inputs
from palladion.service.tenants import Tenant

BOUND: Final = -40.0
"""log2 of the distance within which floods hide the weights."""


@dataclass(frozen=True)
class Budget:
    """A tenant's inputs of a program."""

    used: int
    """Inputs that sessions had or have."""
    allowed: int

    @property
    def left(self) -> int:
        """Inputs that sessions may still have."""
        return max(0, self.allowed - self.used)


class Budgets:
    """Counts the inputs of each tenant and program."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, tenant: Tenant, facts: TwoPartyFacts) -> Budget:
        """A tenant's budget for a program."""
        with self._database.read() as connection:
            return budget_of(row_of(connection, tenant, facts.program_hash), tenant, facts)

    def used_by(self, tenant: Tenant) -> dict[str, int]:
        """The inputs that a tenant has used, or has been granted, by hash of the program."""
        chosen = select(hybrid_inputs.c.program_hash, hybrid_inputs.c.used)
        with self._database.read() as connection:
            rows = connection.execute(chosen.where(hybrid_inputs.c.tenant == tenant.id)).all()
        return {row.program_hash: row.used for row in rows}

    def reserve(self, tenant: Tenant, facts: TwoPartyFacts, inputs: int) -> None:
        """Count the inputs of a session that is to begin.

        Raises
        ------
        ForbiddenError
            If fewer are left.
        """
        with self._database.write(turn_of(tenant)) as connection:
            row = row_of(connection, tenant, facts.program_hash)
            budget = budget_of(row, tenant, facts)
            if inputs > budget.left:
                raise ForbiddenError(exhausted(tenant, facts, budget, inputs))
            change(connection, tenant, facts.program_hash, row, used=inputs)
            audit.write(connection, tenant.name, "inputs reserved",
                        f"{inputs} of {facts.program_hash}")  # fmt: skip

    def settle(
        self, tenant: Tenant, facts: TwoPartyFacts, inputs: int, unused: int, outcome: str
    ) -> None:
        """Write down how a session ended that had reserved ``inputs``, of which ``unused`` are
        given back."""
        with self._database.write(turn_of(tenant)) as connection:
            row = row_of(connection, tenant, facts.program_hash)
            if unused:
                change(connection, tenant, facts.program_hash, row, used=-unused)
            subject = f"{inputs - unused} of {inputs} inputs of {facts.program_hash}"
            audit.write(connection, tenant.name, f"session {outcome}", subject)

    def grant(self, tenant: Tenant, facts: TwoPartyFacts, inputs: int) -> Budget:
        """Allow a tenant more inputs of a program, and return its budget.

        Raises
        ------
        UsageError
            If they are less than 1 or too many.
        """
        with self._database.write(turn_of(tenant)) as connection:
            row = row_of(connection, tenant, facts.program_hash)
            most = MOST_INPUTS - budget_of(row, tenant, facts).allowed
            if not 1 <= inputs <= most:
                raise UsageError(f"{inputs} more inputs, expected 1 to {most}")
            change(connection, tenant, facts.program_hash, row, granted=inputs)
            audit.write(connection, tenant.name, "inputs granted",
                        f"{inputs} of {facts.program_hash}")  # fmt: skip
        return self.of(tenant, facts)


def turn_of(tenant: Tenant) -> str:
    """The turn of transactions that count a tenant's inputs."""
    return f"inputs of {tenant.id}"


def row_of(connection: Connection, tenant: Tenant, program_hash: str) -> RowMapping | None:
    """The row of a tenant and a program."""
    table = hybrid_inputs
    same = (table.c.tenant == tenant.id) & (table.c.program_hash == program_hash)
    return connection.execute(select(table).where(same)).mappings().first()


def budget_of(row: RowMapping | None, tenant: Tenant, facts: TwoPartyFacts) -> Budget:
    """The budget in a row: the operator's limit, else the inputs that floods hide, and grants."""
    allowed = tenant.limits.hybrid_inputs or facts.hidden_inputs
    if row is None:
        return Budget(0, allowed)
    return Budget(row["used"], allowed + row["granted"])


def change(
    connection: Connection,
    tenant: Tenant,
    program_hash: str,
    row: RowMapping | None,
    *,
    used: int = 0,
    granted: int = 0,
) -> None:
    """Add to the numbers of a row, or make it."""
    table = hybrid_inputs
    if row is None:
        values = {"tenant": tenant.id, "program_hash": program_hash}
        connection.execute(insert(table).values(used=used, granted=granted, **values))
        return
    same = (table.c.tenant == tenant.id) & (table.c.program_hash == program_hash)
    more = {"used": table.c.used + used, "granted": table.c.granted + granted}
    connection.execute(update(table).where(same).values(**more))


def exhausted(tenant: Tenant, facts: TwoPartyFacts, budget: Budget, inputs: int) -> str:
    """Words for a tenant that asks for more inputs than are left."""
    return (
        f"{tenant.name} has used {budget.used} of {budget.allowed} inputs of this model, and asks "
        f"for {inputs} more: more inputs would give away its weights. Ask the operator, who can "
        f"allow more with `palladion tenants grant {tenant.name} INPUTS --program "
        f"{facts.program_hash}`, or compile it for more with --inputs-per-client"
    )


def log2_distance(facts: TwoPartyFacts, inputs: int) -> float:
    """log2 of the distance that the floods leave for some inputs of one client."""
    return facts.log2_distance + math.log2(max(1, inputs))
