"""The database of a service: SQLite in a file, or PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from palladion.errors import IO, PalladionError
from palladion.support.records import Json

MIGRATIONS: Final = Path(__file__).parent / "migrations"

PATIENCE: Final = 10.0
"""Seconds for which a transaction waits for another one."""


START: Final = time.time() - time.monotonic()
"""When this machine's steady clock was 0, in seconds since 1970."""


class DatabaseError(PalladionError):
    """The database cannot be reached, or does not accept a transaction now."""

    kind = IO


class Database:
    """Connections to a database whose tables are those of this version."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        options: Json = {"pool_pre_ping": not self.is_sqlite, "pool_size": 8, "max_overflow": 24}
        if self.is_sqlite:
            options["connect_args"] = {"timeout": PATIENCE, "check_same_thread": False}
        else:
            options["connect_args"] = {"connect_timeout": int(PATIENCE)}
        self.engine: Engine = create_engine(url, **options)
        if self.is_sqlite:
            event.listen(self.engine, "connect", prepare_sqlite)
            event.listen(self.engine, "begin", begin_sqlite)

    def migrate(self) -> None:
        """Bring the tables to this version. Two processes may do it at once.

        Raises
        ------
        DatabaseError
            If the database cannot be reached, or has tables of a later version.
        """
        settings = Config()
        settings.set_main_option("script_location", str(MIGRATIONS))
        settings.attributes["log"] = False
        with self.write() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(7225166)"))
            settings.attributes["connection"] = connection
            command.upgrade(settings, "head")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for statements that change nothing.

        Raises
        ------
        DatabaseError
            If the database cannot be reached.
        """
        with translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction. What it reads stays true until its end in SQLite alone, where one
        transaction writes at a time: elsewhere an ``UPDATE`` states its own condition.

        Raises
        ------
        DatabaseError
            If the database cannot be reached, or another transaction lasts too long.
        """
        with (
            translated(),
            self.engine.connect() as connection,
            connection.execution_options(writes=True).begin(),
        ):
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def prepare_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    """Transactions survive a loss of power, and readers do not wait for a writer."""
    connection.isolation_level = None  # the event `begin` says how a transaction begins
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. One that writes takes its turn at once: a reader that turned into a
    writer could fail in the middle."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of a database that is away or busy into one of this package."""
    try:
        yield
    except DBAPIError as error:
        away = error.connection_invalidated or type(error).__name__ == "OperationalError"
        if not away:
            raise
        raise DatabaseError(f"the database does not answer: {error.orig}") from error


def now() -> float:
    """Seconds since 1970, by the clock as it was when the process began: a clock that jumps while
    the service runs ends nothing early."""
    return START + time.monotonic()
