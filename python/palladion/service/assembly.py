"""The parts of a service, put together from its settings."""

from __future__ import annotations

from dataclasses import dataclass

from palladion.errors import DataError
from palladion.service.blobs.folder import Folder
from palladion.service.blobs.store import MissingBlobError, Store, StoreError
from palladion.service.jobs.queue import Queue
from palladion.service.keys.stored import Keys
from palladion.service.keys.uploads import Uploads
from palladion.service.models.catalogue import Models
from palladion.service.receipts import Signer
from palladion.service.sessions.budgets import Budgets
from palladion.service.settings import Settings
from palladion.service.state.database import Database
from palladion.service.tenants import Tenants


@dataclass(frozen=True)
class Parts:
    """The parts of a service, which fronts, workers and commands share."""

    settings: Settings
    database: Database
    store: Store
    tenants: Tenants
    models: Models
    keys: Keys
    uploads: Uploads
    queue: Queue
    signer: Signer
    budgets: Budgets


def assemble(settings: Settings) -> Parts:
    """Connect to database and store, and bring the tables to this version.

    Raises
    ------
    DatabaseError, StoreError
        If one cannot be reached.
    DataError
        If the folder of data cannot be made.
    """
    try:
        settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise DataError(f"cannot make {settings.data}: {error.strerror}") from error
    database = Database(settings.database_url)
    try:
        database.migrate()
        store = open_store(settings)
        check_pair(database, store)
    except BaseException:
        database.close()
        raise
    keys = Keys(database, store)
    return Parts(
        settings=settings,
        database=database,
        store=store,
        tenants=Tenants(database, settings.limits),
        models=Models(settings, database, store),
        keys=keys,
        uploads=Uploads(settings, database, store),
        queue=Queue(settings, database),
        signer=Signer(settings.receipt_key or settings.data / "receipt.key"),
        budgets=Budgets(database),
    )


def check_pair(database: Database, store: Store) -> None:
    """Refuse a store that belongs to another database. With a new database beside it, all its keys
    would be taken for what a crash left.

    Raises
    ------
    StoreError
        With both identities.
    """
    own = database.identity()
    try:
        stated = store.read("identity").decode("ascii", "replace")
    except MissingBlobError:
        store.put("identity", own.encode())
        return
    if stated != own:
        raise StoreError(f"the store belongs to the database {stated[:12]}, and this one is "
                         f"{own[:12]}: restore that database, or give an empty store")  # fmt: skip


def open_store(settings: Settings) -> Store:
    """The store of the settings.

    Raises
    ------
    StoreError
        If it cannot be reached.
    UsageError
        If it is in S3, and the package for it is not installed.
    """
    if not settings.store:
        return Folder(settings.data / "blobs")
    from palladion.service.blobs.s3 import S3  # an extra

    store = S3(settings.store, settings.data / "cache", settings.cache_bytes)
    store.check()
    return store
