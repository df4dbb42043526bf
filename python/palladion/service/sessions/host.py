"""Starts a process for each session, moves its bytes, and settles its inputs."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from starlette.concurrency import run_in_threadpool

from palladion.service.blobs.store import Store
from palladion.service.models.catalogue import TwoPartyVersion
from palladion.service.problems import BusyError, QuotaError
from palladion.service.sessions.budgets import Budgets
from palladion.service.sessions.certificate import Certificate
from palladion.service.sessions.process import Orders
from palladion.service.settings import Settings
from palladion.service.state.database import DatabaseError
from palladion.service.tenants import Tenant
from palladion.support.records import Json

LOG: Final = logging.getLogger("palladion.service.sessions")

START_SECONDS: Final = 60.0
"""Seconds in which a process must have its program ready."""

GRACE: Final = 8.0
"""Seconds in which sessions may end when the service stops: less than the server waits."""

END_SECONDS: Final = 5.0
"""Seconds to wait for the end of a process whose connection has ended."""

RETRY: Final = 5.0
"""Seconds after which a place may be free."""

SERVED, FAILED, DIED, STOPPED, UNUSED = "served", "failed", "died", "stopped", "unused"

OUTCOMES: Final = (SERVED, FAILED, DIED, STOPPED, UNUSED)
"""Ends of sessions. One that is unused ended before the client's first byte."""


@dataclass(frozen=True)
class Wish:
    """A client's wish for a session."""

    inputs: int
    """Inputs, at most."""
    client: str
    """Hash of the certificate that the client shows in the session, and nobody else has."""


@dataclass
class Figures:
    """Counts of sessions since the front began."""

    ended: Counter[str] = field(default_factory=Counter)
    """By outcome."""
    inputs: int = 0
    """Inputs that were answered."""
    to_server: int = 0
    """Bytes of clients."""
    to_client: int = 0


class Session:
    """A session under way, and its process."""

    def __init__(self, tenant: Tenant, version: TwoPartyVersion, wish: Wish) -> None:
        self.id = secrets.token_hex(16)
        self.tenant = tenant
        self.version = version
        self.wish = wish
        self.to_server = 0
        """Bytes of the client that its process has."""
        self.to_client = 0
        self.answered = 0
        self.reason: str | None = None
        """Why the core ended the session."""
        self.stopped = False
        self.outcome = UNUSED
        """How it ended, one of :data:`OUTCOMES`."""
        self._process: Process | None = None
        self._writer: StreamWriter | None = None
        self._reader: StreamReader | None = None
        self._events: asyncio.Task[None] | None = None
        self._served = False

    @property
    def process_id(self) -> int | None:
        """Number of the process."""
        return None if self._process is None else self._process.pid

    async def start(self, orders: Orders) -> None:
        """Start the process, and connect to it.

        Raises
        ------
        BusyError
            If it does not serve in time.
        """
        words = ("-m", "palladion.service.sessions.process")
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdin=PIPE, stdout=PIPE
        )
        assert process.stdin is not None, "it is a pipe"
        if self.stopped:
            self._kill()
        with suppress(ConnectionError):
            process.stdin.write(orders.to_line())
            await process.stdin.drain()
        try:
            first = await asyncio.wait_for(self._next_event(), START_SECONDS)
            if first is None or first["event"] != "listening":
                if first is not None:  # its words have paths of this machine
                    LOG.error("a session's process refused: %s", first.get("reason"),
                              extra=names_of(self))  # fmt: skip
                raise BusyError("the session's process ended before it served: try again, and if "
                                "it happens again tell the operator", RETRY)  # fmt: skip
            host, _, port = str(first["address"]).rpartition(":")
            self._reader, self._writer = await asyncio.open_connection(host, int(port))
        except (asyncio.TimeoutError, OSError) as error:
            raise BusyError("the session's process did not serve in time: try again", RETRY) from (
                error
            )
        host, port = self._writer.get_extra_info("sockname")[:2]
        self._events = asyncio.create_task(self._listen(f"{host}:{port}"))

    async def send(self, data: bytes) -> None:
        """Pass bytes of the client on.

        Raises
        ------
        ConnectionError
            If the process is gone.
        """
        assert self._writer is not None, "the session has started"
        self.to_server += len(data)
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self, most: int) -> bytes:
        """Bytes for the client, at most ``most``; empty when the process has ended the
        connection."""
        assert self._reader is not None, "the session has started"
        try:
            data = await self._reader.read(most)
        except ConnectionError:
            return b""
        self.to_client += len(data)
        return data

    def finish(self) -> None:
        """Tell the process that the client is gone."""
        if self._writer is not None and self._writer.can_write_eof():
            with suppress(OSError):
                self._writer.write_eof()

    def stop(self) -> None:
        """End the process at once."""
        self.stopped = True
        self._kill()

    async def end(self) -> None:
        """Wait a moment for the last words of the process, end it, and note the outcome."""
        if self._events is not None:
            self.finish()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._events, END_SECONDS)
        if self._process is not None:
            self._kill()
            await self._process.wait()
        if self._writer is not None:
            self._writer.close()
        if self._served:
            self.outcome = SERVED
        elif self.stopped:
            self.outcome = STOPPED
        elif self.to_server:
            self.outcome = DIED if self.reason is None else FAILED

    @property
    def unused(self) -> int:
        """Inputs that are given back: of a session that ended well, those it did not have; of one
        whose process got no byte of the client, all; else none."""
        if self._served or not self.to_server:
            return max(0, self.wish.inputs - self.answered)
        return 0

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _next_event(self) -> Json | None:
        assert self._process is not None, "it was started"
        assert self._process.stdout is not None, "it is a pipe"
        line = await self._process.stdout.readline()
        return dict(json.loads(line)) if line else None

    async def _listen(self, address: str) -> None:
        """Hear the events of our own connection, until it has ended. Others are strangers, whom the
        process does not answer."""
        while (event := await self._next_event()) is not None:
            if event.get("address") != address:
                continue
            if event["event"] == "served":
                self._served, self.answered = True, int(event["inputs"])
                return
            if event["event"] == "failed":
                self.reason = str(event["reason"])
                return


class Sessions:
    """The sessions of a front."""

    def __init__(self, settings: Settings, store: Store, budgets: Budgets) -> None:
        self._settings = settings
        self._store = store
        self._budgets = budgets
        self._running: dict[str, Session] = {}
        self._stopping = False
        self.figures = Figures()
        self.certificate = Certificate(settings.session_identity or settings.data / "sessions.pem")

    @property
    def running(self) -> int:
        """The number of sessions."""
        return len(self._running)

    @asynccontextmanager
    async def open(
        self, tenant: Tenant, version: TwoPartyVersion, wish: Wish
    ) -> AsyncIterator[Session]:
        """A session whose process waits for the client. Its inputs are counted before, and settled
        at its end.

        Raises
        ------
        BusyError, QuotaError
            If there are too many sessions, or the service stops.
        ForbiddenError
            If the tenant has used its inputs.
        """
        self._admit(tenant)
        session = Session(tenant, version, wish)
        self._running[session.id] = session
        try:
            await run_in_threadpool(self._budgets.reserve, tenant, version.facts, wish.inputs)
            try:
                await session.start(await run_in_threadpool(self._orders, session))
                LOG.info("session started", extra=names_of(session))
                yield session
            finally:
                await self._settle(session)
        finally:
            del self._running[session.id]

    def stop(self) -> None:
        """Take no more sessions, and end those that run after :data:`GRACE` seconds."""
        self._stopping = True
        asyncio.get_running_loop().call_later(GRACE, self._stop_all)

    async def end(self) -> None:
        """End all sessions, and wait until they are settled."""
        self._stopping = True
        self._stop_all()
        while self._running:
            await asyncio.sleep(0.02)

    def _stop_all(self) -> None:
        for session in self._running.values():
            session.stop()

    def _admit(self, tenant: Tenant) -> None:
        if self._stopping:
            raise BusyError("the service stops: ask again when it has started again", RETRY)
        own = sum(session.tenant.id == tenant.id for session in self._running.values())
        if own >= tenant.limits.sessions:
            raise QuotaError(f"{own} sessions of {tenant.name} are open, which is all that it may "
                             "have at once: ask again when one has ended", RETRY)  # fmt: skip
        if self.running >= self._settings.sessions:
            raise BusyError(f"{self.running} sessions are open, which is all that the service "
                            "takes at once: ask again when one has ended", RETRY)  # fmt: skip

    def _orders(self, session: Session) -> Orders:
        path = self._store.file(f"programs/{session.version.digest}")
        return Orders(str(path), str(self.certificate.path), session.wish.client,
                      session.wish.inputs, self._settings.worker_threads)  # fmt: skip

    async def _settle(self, session: Session) -> None:
        """End a session, and give back what it did not use. If the database is away, all its inputs
        stay counted."""
        await session.end()
        outcome, inputs = session.outcome, session.wish.inputs
        facts, figures = session.version.facts, self.figures
        figures.ended[outcome] += 1
        figures.inputs += session.answered
        figures.to_server += session.to_server
        figures.to_client += session.to_client
        LOG.info("session ended", extra={**names_of(session), "outcome": outcome,
                 "answered": session.answered, "to_server": session.to_server,
                 "to_client": session.to_client})  # fmt: skip
        try:
            await run_in_threadpool(
                self._budgets.settle, session.tenant, facts, inputs, session.unused, outcome
            )
        except DatabaseError as error:
            LOG.warning("inputs stay counted: %s", error, extra=names_of(session))


def names_of(session: Session) -> Json:
    """Names and numbers of a session, for the log."""
    return {"session": session.id, "model": session.version.model,
            "version": session.version.version, "program": session.version.facts.program_hash,
            "reserved": session.wish.inputs, "child": session.process_id}  # fmt: skip
