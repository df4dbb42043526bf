"""Keys that are stored: which of them a query needs, and how they leave."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import RowMapping, delete, func, select, update

from palladion import _native
from palladion.errors import FormatError
from palladion.service.blobs.store import Store
from palladion.service.problems import NotThereError
from palladion.service.state import audit
from palladion.service.state.database import Database, now
from palladion.service.state.schema import keys
from palladion.service.tenants import Tenant


@dataclass(frozen=True)
class StoredKey:
    """A file of evaluation keys of a tenant."""

    digest: str
    """SHA-256 of the file."""
    key_id: str
    """Identity of the secret."""
    profile_id: str
    profile: str
    """Parameters and list of the keys, as JSON."""
    bytes: int
    created: float
    expires: float | None


@dataclass(frozen=True)
class Cover:
    """The keys that a tenant has of a secret for a program."""

    files: tuple[StoredKey, ...]
    """Files with parameters of the program."""
    missing_keys: int
    """Keys that no file has."""
    missing_bytes: int


class Keys:
    """The stored keys of all tenants."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store

    def all(self, tenant: Tenant) -> list[StoredKey]:
        """The files of a tenant, the oldest first."""
        owned = select(keys).where(keys.c.tenant == tenant.id).order_by(keys.c.created)
        with self._database.read() as connection:
            return [of_row(row) for row in connection.execute(owned).mappings()]

    def get(self, tenant: Tenant, digest: str) -> StoredKey:
        """A file of a tenant.

        Raises
        ------
        NotThereError
            If there is none.
        """
        same = select(keys).where(keys.c.tenant == tenant.id, keys.c.digest == digest)
        with self._database.read() as connection:
            row = connection.execute(same).mappings().first()
        if row is None:
            raise NotThereError(f"there are no keys {digest[:12]!r}: upload them")
        return of_row(row)

    def cover(self, tenant_id: str, key_id: str, terms: _native.Terms) -> Cover:
        """The keys of a secret that are there for a program, and what is missing."""
        owned = select(keys).where(keys.c.tenant == tenant_id, keys.c.key_id == key_id)
        alive = (keys.c.expires.is_(None)) | (keys.c.expires > now())
        with self._database.read() as connection:
            rows = connection.execute(owned.where(alive).order_by(keys.c.created)).mappings().all()
        return cover([of_row(row) for row in rows], terms)

    def mark_used(self, tenant_id: str, digests: list[str]) -> None:
        """Remember that keys were used now."""
        owned = (keys.c.tenant == tenant_id, keys.c.digest.in_(digests))
        with self._database.write() as connection:
            connection.execute(update(keys).where(*owned).values(used=now()))

    def delete(self, tenant: Tenant, digest: str) -> None:
        """Delete a file. Raises as :meth:`get`."""
        self.get(tenant, digest)
        same = (keys.c.tenant == tenant.id, keys.c.digest == digest)
        with self._database.write() as connection:
            connection.execute(delete(keys).where(*same))
            audit.write(connection, tenant.name, "keys deleted", digest)
        self._store.delete(key_blob(tenant.id, digest))

    def expire(self) -> None:
        """Forget keys whose life is over. Their blobs go with the next sweeps."""
        with self._database.write() as connection:
            connection.execute(delete(keys).where(keys.c.expires <= now()))

    def total_bytes(self) -> int:
        """Bytes of all files."""
        with self._database.read() as connection:
            total = connection.execute(select(func.sum(keys.c.bytes))).scalar_one()
        return int(total or 0)

    def blobs(self) -> set[str]:
        """The names of all keys in the store."""
        with self._database.read() as connection:
            rows = connection.execute(select(keys.c.tenant, keys.c.digest)).all()
        return {key_blob(row.tenant, row.digest) for row in rows}


def cover(files: list[StoredKey], terms: _native.Terms) -> Cover:
    """Choose the files that serve a program."""
    fitting: list[StoredKey] = []
    for file in files:
        try:
            missing, _ = terms.missing_keys(file.profile)
        except FormatError:  # keys for other parameters
            continue
        if not missing:
            return Cover((file,), 0, 0)
        fitting.append(file)
    return Cover(tuple(fitting), *terms.missing_keys(*(file.profile for file in fitting)))


def of_row(row: RowMapping) -> StoredKey:
    """A file, from its row."""
    names = ("digest", "key_id", "profile_id", "profile", "bytes", "created", "expires")
    return StoredKey(**{name: row[name] for name in names})


def key_blob(tenant_id: str, digest: str) -> str:
    """The name of a file of keys in the store."""
    return f"keys/{tenant_id}/{digest}"
