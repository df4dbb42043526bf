"""Tenants and their tokens. A token is a random number: the database has its hash alone."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from sqlalchemy import RowMapping, delete, insert, select, update

from palladion.errors import UsageError
from palladion.service.problems import UnauthorisedError
from palladion.service.settings import Limits, faults
from palladion.service.state import audit
from palladion.service.state.database import Database, now
from palladion.service.state.schema import tenants, tokens
from palladion.support.records import Json

MARK: Final = "palladion_"
"""How tokens begin, so that scanners for leaked secrets know them."""


@dataclass(frozen=True)
class Tenant:
    """One who uses the service, with limits of its own."""

    id: str
    name: str
    weight: float
    """Share of the workers while others want them too, relative to their weights."""
    limits: Limits


@dataclass(frozen=True)
class Token:
    """A token as it is issued. Its text cannot be shown again."""

    id: str
    """Names the token in lists."""
    text: str


class Tenants:
    """The tenants of a service."""

    def __init__(self, database: Database, limits: Limits) -> None:
        self._database = database
        self._limits = limits

    def add(self, name: str, *, weight: float = 1.0, limits: Json | None = None) -> Tenant:
        """Add a tenant.

        Raises
        ------
        UsageError
            If there is one of this name, or the weight or a limit is out of range.
        """
        if not 0 < weight < 1e6:
            raise UsageError(f"a weight of {weight}, expected one above 0 and below 1,000,000")
        if not name or len(name) > 100 or not name.isprintable():
            raise UsageError(f"the name {name!r}, expected 1 to 100 signs that can be printed")
        own = dict(limits or {})
        self._limits_of(own)
        with self._database.write("tenants") as connection:
            if connection.execute(select(tenants.c.id).where(tenants.c.name == name)).first():
                raise UsageError(f"there is a tenant {name!r} already")
            values = {"id": secrets.token_hex(16), "name": name, "weight": weight, "limits": own}
            connection.execute(insert(tenants).values(used=0.0, created=now(), **values))
            audit.write(connection, name, "tenant added", name)
        return self.named(name)

    def named(self, name: str) -> Tenant:
        """A tenant by its name.

        Raises
        ------
        UsageError
            If there is none.
        """
        with self._database.read() as connection:
            row = (
                connection.execute(select(tenants).where(tenants.c.name == name)).mappings().first()
            )
        if row is None:
            raise UsageError(f"there is no tenant {name!r}: `palladion tenants list` shows them")
        return self._tenant(row)

    def all(self) -> list[Tenant]:
        """All tenants, by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(tenants).order_by(tenants.c.name)).mappings().all()
        return [self._tenant(row) for row in rows]

    def issue(self, name: str, *, seconds: float | None = None) -> Token:
        """Issue a token, for some seconds or for ever.

        Raises
        ------
        UsageError
            If there is no such tenant, or the time is not above 0.
        """
        if seconds is not None and not seconds > 0:
            raise UsageError(f"a token for {seconds} seconds, expected more than 0")
        tenant = self.named(name)
        token = Token(secrets.token_hex(4), MARK + secrets.token_urlsafe(32))
        begin = now()
        with self._database.write() as connection:
            connection.execute(insert(tokens).values(
                hash=hashed(token.text), id=token.id, tenant=tenant.id, created=begin,
                expires=None if seconds is None else begin + seconds,
            ))  # fmt: skip
            audit.write(connection, name, "token issued", token.id)
        return token

    def revoke(self, token: str) -> None:
        """Revoke a token, by its identity.

        Raises
        ------
        UsageError
            If there is none.
        """
        with self._database.write() as connection:
            if not connection.execute(delete(tokens).where(tokens.c.id == token)).rowcount:
                raise UsageError(
                    f"there is no token {token!r}: `palladion tenants list` shows them"
                )
            audit.write(connection, "", "token revoked", token)

    def revoke_all(self, name: str) -> int:
        """Revoke all tokens of a tenant, and return their number. Raises as :meth:`named`."""
        tenant = self.named(name)
        with self._database.write() as connection:
            count = connection.execute(delete(tokens).where(tokens.c.tenant == tenant.id)).rowcount
            audit.write(connection, name, "tokens revoked", str(count))
        return count

    def tokens(self, name: str) -> list[RowMapping]:
        """The tokens of a tenant: ``id``, ``created`` and ``expires``. Raises as :meth:`named`."""
        tenant = self.named(name)
        columns = select(tokens.c.id, tokens.c.created, tokens.c.expires)
        with self._database.read() as connection:
            chosen = columns.where(tokens.c.tenant == tenant.id).order_by(tokens.c.created)
            return [*connection.execute(chosen).mappings().all()]

    def change(self, name: str, *, weight: float | None = None, limits: Json) -> Tenant:
        """Change the weight or some limits of a tenant. Raises as :meth:`add`."""
        tenant = self.named(name)
        with self._database.write() as connection:
            own = connection.execute(
                select(tenants.c.limits).where(tenants.c.id == tenant.id)
            ).scalar_one()
            merged = {**own, **limits}
            self._limits_of(merged)
            if weight is not None and not 0 < weight < 1e6:
                raise UsageError(f"a weight of {weight}, expected one above 0 and below 1,000,000")
            values = {"limits": merged, **({} if weight is None else {"weight": weight})}
            connection.execute(update(tenants).where(tenants.c.id == tenant.id).values(**values))
            audit.write(connection, name, "tenant changed", name)
        return self.named(name)

    def of_token(self, text: str) -> Tenant:
        """The tenant to whom a token belongs.

        Raises
        ------
        UnauthorisedError
            If it is not valid, or its time is over.
        """
        joined = select(tenants, tokens.c.expires).join(tokens, tokens.c.tenant == tenants.c.id)
        with self._database.read() as connection:
            row = connection.execute(
                joined.where(tokens.c.hash == hashed(text))
            ).mappings().first()  # fmt: skip
        if row is None:
            raise UnauthorisedError("the token is not valid: ask the operator for one, who issues "
                                    "it with `palladion tenants token NAME`")  # fmt: skip
        if row["expires"] is not None and row["expires"] <= now():
            raise UnauthorisedError("the time of the token is over: ask the operator for a new one")
        return self._tenant(row)

    def _tenant(self, row: RowMapping) -> Tenant:
        return Tenant(row["id"], row["name"], row["weight"], self._limits_of(row["limits"]))

    def _limits_of(self, own: Json) -> Limits:
        try:
            return Limits(**{**self._limits.model_dump(), **own})
        except ValidationError as error:
            raise UsageError("; ".join(faults(error))) from error


def hashed(token: str) -> str:
    """The hash of a token. Tokens have 256 random bits, so nothing is gained by a slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()
