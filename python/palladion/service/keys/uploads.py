"""Uploads of key files, in parts that come in any order and more than once.

A file is named by its digest. An upload goes on where it was left, and a file that is there already
is not sent again.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select

from palladion.errors import PalladionError
from palladion.key_files import KeyFile
from palladion.service.blobs.store import Store
from palladion.service.keys.stored import StoredKey, key_blob, of_row
from palladion.service.problems import (
    ConflictError,
    NotThereError,
    QuotaError,
    RequestError,
    UnfitError,
)
from palladion.service.settings import Settings
from palladion.service.state import audit
from palladion.service.state.database import Database, now
from palladion.service.state.schema import keys, upload_parts, uploads
from palladion.service.tenants import Tenant
from palladion.support.text import size

DIGEST: Final = re.compile(r"[0-9a-f]{64}")

LARGEST: Final = 8_000_000_000
"""Largest file of keys, in bytes."""

CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Upload:
    """A file of keys on its way."""

    id: str
    digest: str
    """SHA-256 of the whole file."""
    bytes: int
    part_bytes: int
    missing: tuple[int, ...]
    """Numbers of the parts that are not there yet, from 0."""

    @property
    def parts(self) -> int:
        """The number of parts."""
        return -(-self.bytes // self.part_bytes)

    def length(self, number: int) -> int:
        """Length of a part."""
        return min(self.part_bytes, self.bytes - number * self.part_bytes)


class Uploads:
    """The uploads of all tenants."""

    def __init__(self, settings: Settings, database: Database, store: Store) -> None:
        self._settings = settings
        self._database = database
        self._store = store

    def open(self, tenant: Tenant, digest: str, length: int) -> Upload | StoredKey:
        """Begin an upload, or find the one of this digest, or the file if it is there already.

        Raises
        ------
        RequestError
            If digest or length are none of a file of keys, if the quota or the disk is full, or if
            the same digest was begun with another length.
        """
        if not DIGEST.fullmatch(digest):
            raise RequestError(f"the digest {digest[:80]!r}, expected 64 hexadecimal digits in "
                               "lower case: the SHA-256 of the file")  # fmt: skip
        if not 0 < length <= LARGEST:
            raise UnfitError(f"a file of {length} bytes, expected 1 to {LARGEST}")
        with self._database.write(tenant.id) as connection:
            here = select(keys).where(keys.c.tenant == tenant.id, keys.c.digest == digest)
            if (row := connection.execute(here).mappings().first()) is not None:
                return of_row(row)
            begun = select(uploads).where(uploads.c.tenant == tenant.id, uploads.c.digest == digest)
            row = connection.execute(begun).mappings().first()
            if row is not None:
                if row["bytes"] != length:
                    words = f"the file {digest[:12]} was begun with {row['bytes']} bytes"
                    raise ConflictError(f"{words}, and now has {length}: delete the upload first")
                return self._upload(connection, row["id"])
            used = held_bytes(connection, tenant)
            if used + length > tenant.limits.key_bytes:
                raise QuotaError(f"keys of {size(length)} beside {size(used)} are more than the "
                                 f"{size(tenant.limits.key_bytes)} of {tenant.name}: delete keys "
                                 "that are not used any more")  # fmt: skip
            upload = secrets.token_hex(16)
            connection.execute(insert(uploads).values(
                id=upload, tenant=tenant.id, digest=digest, bytes=length,
                part_bytes=self._settings.part_bytes, created=now(),
            ))  # fmt: skip
            return self._upload(connection, upload)

    def get(self, tenant: Tenant, upload: str) -> Upload:
        """An upload.

        Raises
        ------
        NotThereError
            If the tenant has none of this identity.
        """
        with self._database.read() as connection:
            return self._of(connection, tenant, upload)

    def add(self, tenant: Tenant, upload: str, number: int, data: bytes, digest: bytes) -> None:
        """Store a part.

        Raises
        ------
        NotThereError
            If there is no such upload, or no part of this number.
        RequestError
            If the length or the digest of the part is wrong.
        """
        begun = self.get(tenant, upload)
        if not 0 <= number < begun.parts:
            raise NotThereError(f"there is no part {number}, expected 0 to {begun.parts - 1}")
        if len(data) != begun.length(number):
            raise RequestError(
                f"part {number} has {len(data)} bytes, expected {begun.length(number)}"
            )
        if (own := hashlib.sha256(data).digest()) != digest:
            raise RequestError(f"part {number} has the SHA-256 {own.hex()[:12]}, and its header "
                               f"says {digest.hex()[:12]}: send it again")  # fmt: skip
        self._store.put(part_blob(upload, number), data)
        with self._database.write(tenant.id) as connection:
            self._of(connection, tenant, upload)
            known = select(upload_parts.c.number).where(
                upload_parts.c.upload == upload, upload_parts.c.number == number
            )
            if connection.execute(known).first() is None:
                connection.execute(insert(upload_parts).values(upload=upload, number=number))

    def complete(self, tenant: Tenant, upload: str) -> StoredKey:
        """Check the file and keep it.

        Raises
        ------
        ConflictError
            If parts are missing. The upload stays.
        RequestError
            If the file has another digest, or is no file of keys. The upload is gone.
        """
        begun = self.get(tenant, upload)
        if begun.missing:
            raise ConflictError(f"{len(begun.missing)} of {begun.parts} parts are missing, the "
                                f"first is part {begun.missing[0]}")  # fmt: skip
        with self._store.incoming() as file:
            digest = self._join(begun, file)
            try:
                if digest != begun.digest:
                    words = f"the file has the SHA-256 {digest[:12]}"
                    raise UnfitError(f"{words}, expected {begun.digest[:12]}: upload it again")
                held = checked(file)
            except PalladionError:
                self.abort(tenant, upload)
                raise
            self._store.move_in(key_blob(tenant.id, begun.digest), file)
        at = now()
        with self._database.write(tenant.id) as connection:
            same = (keys.c.tenant == tenant.id, keys.c.digest == begun.digest)
            if connection.execute(select(keys.c.digest).where(*same)).first() is None:
                connection.execute(insert(keys).values(
                    tenant=tenant.id, digest=begun.digest, key_id=held.key_id, bytes=held.bytes,
                    profile_id=held.profile_id, profile=held.profile, created=at, used=at,
                    expires=None if held.expires is None else held.expires.timestamp(),
                ))  # fmt: skip
                audit.write(connection, tenant.name, "keys stored", begun.digest)
            connection.execute(delete(uploads).where(uploads.c.id == upload))
            row = connection.execute(select(keys).where(*same)).mappings().one()
        self._remove_parts(begun)
        return of_row(row)

    def abort(self, tenant: Tenant, upload: str) -> None:
        """Forget an upload. Raises as :meth:`get`."""
        begun = self.get(tenant, upload)
        with self._database.write(tenant.id) as connection:
            connection.execute(delete(uploads).where(uploads.c.id == upload))
        self._remove_parts(begun)

    def expire(self) -> None:
        """Forget uploads whose time is over. Their parts go with the next sweeps."""
        old = now() - self._settings.upload_seconds
        with self._database.write() as connection:
            connection.execute(delete(uploads).where(uploads.c.created < old))

    def ids(self) -> set[str]:
        """The identities of all uploads."""
        with self._database.read() as connection:
            return {*connection.execute(select(uploads.c.id)).scalars()}

    def _of(self, connection: Connection, tenant: Tenant, upload: str) -> Upload:
        owned = select(uploads.c.id).where(uploads.c.id == upload, uploads.c.tenant == tenant.id)
        if connection.execute(owned).first() is None:
            raise NotThereError(f"there is no upload {upload[:40]!r}: it is complete, or too old")
        return self._upload(connection, upload)

    def _upload(self, connection: Connection, upload: str) -> Upload:
        row = connection.execute(select(uploads).where(uploads.c.id == upload)).mappings().one()
        parts = select(upload_parts.c.number).where(upload_parts.c.upload == upload)
        have = {*connection.execute(parts).scalars()}
        count = -(-row["bytes"] // row["part_bytes"])
        missing = tuple(number for number in range(count) if number not in have)
        return Upload(row["id"], row["digest"], row["bytes"], row["part_bytes"], missing)

    def _join(self, begun: Upload, file: Path) -> str:
        whole = hashlib.sha256()
        with file.open("wb") as joined:
            for number in range(begun.parts):
                part = self._store.read(part_blob(begun.id, number))
                whole.update(part)
                joined.write(part)
        return whole.hexdigest()

    def _remove_parts(self, begun: Upload) -> None:
        for number in range(begun.parts):
            self._store.delete(part_blob(begun.id, number))


def part_blob(upload: str, number: int) -> str:
    """The name of a part in the store."""
    return f"uploads/{upload}/{number}"


def held_bytes(connection: Connection, tenant: Tenant) -> int:
    """Bytes of a tenant's keys, unfinished uploads included."""
    stored = select(func.coalesce(func.sum(keys.c.bytes), 0)).where(keys.c.tenant == tenant.id)
    begun = select(func.coalesce(func.sum(uploads.c.bytes), 0)).where(uploads.c.tenant == tenant.id)
    return int(connection.execute(stored).scalar_one()) + int(
        connection.execute(begun).scalar_one()
    )


def checked(file: Path) -> KeyFile:
    """The statements of a file of keys.

    Raises
    ------
    FormatError
        If it has no evaluation keys.
    UnfitError
        If their life is over, or they do not say whose they are.
    """
    held = KeyFile.read(file)
    if held.expires is not None and held.expires.timestamp() <= now():
        raise UnfitError(f"the life of key {held.key_id[:12]} ended on {held.expires:%Y-%m-%d}: "
                         "make new keys, with `palladion keys rotate`")  # fmt: skip
    return held
