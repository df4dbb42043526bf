"""The parts of a service, put together from its settings."""

from __future__ import annotations

from dataclasses import dataclass

from palladion.errors import DataError
from palladion.service.blobs.folder import Folder
from palladion.service.blobs.store import Store
from palladion.service.jobs.queue import Queue
from palladion.service.keys.stored import Keys
from palladion.service.keys.uploads import Uploads
from palladion.service.models.catalogue import Models
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
    database.migrate()
    store = open_store(settings)
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
    )


def open_store(settings: Settings) -> Store:
    """The store of the settings."""
    return Folder(settings.data / "blobs")
