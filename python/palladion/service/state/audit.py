"""The audit log: who did what. It has names and identities, and no data."""

from __future__ import annotations

from sqlalchemy import Connection, insert

from palladion.service.state.database import now
from palladion.service.state.schema import audit


def write(connection: Connection, tenant: str, action: str, subject: str) -> None:
    """Add a line, in the transaction of what it is about."""
    connection.execute(
        insert(audit).values(at=now(), tenant=tenant, action=action, subject=subject)
    )
