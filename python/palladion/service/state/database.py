"""The database of a service: SQLite in a file, or PostgreSQL."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, TimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from palladion.errors import IO, PalladionError
from palladion.service.state.schema import identity
from palladion.support.records import Json

MIGRATIONS: Final = Path(__file__).parent / "migrations"

PATIENCE: Final = 10.0
"""Seconds for which a transaction waits for another one."""


START: Final = time.time() - time.monotonic()
"""When this machine's steady clock was 0, in seconds since 1970."""


TAKE_A_TURN: Final = text("SELECT pg_advisory_xact_lock(:turn)")
"""Wait for the transactions that took the same turn before."""


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
            options["connect_args"] = {
                "connect_timeout": int(PATIENCE),
                "tcp_user_timeout": int(2000 * PATIENCE),
                "options": f"-c lock_timeout={int(1000 * PATIENCE)}",
            }
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
                connection.execute(text("SET LOCAL lock_timeout = 0"))
                connection.execute(text("SELECT pg_advisory_xact_lock(7225166)"))
            settings.attributes["connection"] = connection
            try:
                command.upgrade(settings, "head")
            except CommandError as error:
                words = "the tables of the database are those of a later version of Palladion"
                raise DatabaseError(f"{words}: install that one ({error})") from error

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
    def write(self, turn: str | None = None) -> Iterator[Connection]:
        """A transaction. What it reads stays true until its end in SQLite, where one transaction
        writes at a time. Elsewhere this holds among the transactions that name the same ``turn``,
        such as the identity of a tenant; the others state their conditions in an ``UPDATE``.

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
            if turn is not None and not self.is_sqlite:
                connection.execute(TAKE_A_TURN, {"turn": number_of(turn)})
            yield connection

    def identity(self) -> str:
        """The identity of this database, which it has from its first use on.

        Raises
        ------
        DatabaseError
            If it cannot be reached.
        """
        with self.write("identity") as connection:
            known = connection.execute(select(identity.c.id)).scalar_one_or_none()
            if known is None:
                known = secrets.token_hex(16)
                connection.execute(insert(identity), {"id": known})
        return str(known)

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


def number_of(turn: str) -> int:
    """The number of a lock of PostgreSQL. Two names of one number would only wait for each
    other."""
    return int.from_bytes(hashlib.sha256(turn.encode()).digest()[:8], "big", signed=True)


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of a database that is away or busy into one of this package."""
    try:
        yield
    except IntegrityError as error:
        # Who writes has looked before. A row that came, or that went, since then is of another one.
        raise DatabaseError("rows of the database changed at the same moment") from error
    except DBAPIError as error:
        away = error.connection_invalidated or type(error).__name__ == "OperationalError"
        if not away:
            raise
        reason = str(error.orig).strip().partition("\n")[0]
        raise DatabaseError(f"the database does not answer: {reason}") from error
    except TimeoutError as error:
        raise DatabaseError("all connections to the database are in use") from error


def now() -> float:
    """Seconds since 1970, by the clock as it was when the process began: a clock that jumps while
    the service runs ends nothing early."""
    return START + time.monotonic()
