"""Routes of sessions for two parties: a WebSocket carries the TLS of client and process."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Query, WebSocket
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocketDisconnect

from palladion.errors import IO, RESOURCES, USAGE, Kind
from palladion.hybrid import MOST_INPUTS
from palladion.service.front.access import Caller, Service
from palladion.service.front.relay import TextError, relay
from palladion.service.front.views import Problem
from palladion.service.problems import STATUS, UpgradeError
from palladion.service.sessions.host import (
    DIED,
    FAILED,
    STOPPED,
    UNUSED,
    Session,
    Sessions,
    Wish,
)

ROUTER = APIRouter(prefix="/v2", tags=["sessions"])

Inputs = Annotated[int, Query(ge=1, le=MOST_INPUTS)]
Client = Annotated[str, Query(pattern="^[0-9a-f]{64}$")]

WELL, FAULT = 1000, 1011
"""Codes with which WebSockets are closed: RFC 6455."""


def sessions_of(connection: HTTPConnection) -> Sessions:
    """The sessions of the application."""
    sessions = connection.app.state.sessions
    assert isinstance(sessions, Sessions), "the application is made with them"
    return sessions


@ROUTER.get("/models/{model}/session", status_code=426)
@ROUTER.get("/models/{model}/versions/{version}/session", status_code=426)
def explain(parts: Service, _tenant: Caller, model: str, version: str | None = None) -> None:
    """A session of a model for two parties: a WebSocket at this address, with the same token and
    ``?inputs=N&client=HASH``. N is the largest number of inputs, and HASH that of the certificate
    that the client shows. Binary messages carry the TLS of the two parties.
    """
    parts.models.catalogue.two_party(model, version)
    raise UpgradeError("this address is for WebSockets: send `Upgrade: websocket`, as "
                       "`palladion.connect(...).predict` does")  # fmt: skip


@ROUTER.websocket("/models/{model}/session")
@ROUTER.websocket("/models/{model}/versions/{version}/session")
async def session(
    websocket: WebSocket,
    parts: Service,
    tenant: Caller,
    model: str,
    inputs: Inputs,
    client: Client,
    version: str | None = None,
) -> None:
    """Serve a session. Whatever is refused, is refused before the WebSocket is accepted."""
    chosen = parts.models.catalogue.two_party(model, version)
    problem = None
    async with sessions_of(websocket).open(tenant, chosen, Wish(inputs, client)) as opened:
        await websocket.accept()
        try:
            await relay(websocket, opened)
        except TextError:
            problem = fault(USAGE, "a text message, expected binary ones with the bytes of TLS "
                           "between `palladion remote predict` and the service")  # fmt: skip
    problem = problem or problem_of(opened)
    # The client is told when its inputs are settled, and its place is free.
    with suppress(WebSocketDisconnect, RuntimeError):
        if problem is not None:
            await websocket.send_text(problem.model_dump_json())
        await websocket.close(WELL if problem is None else FAULT)


def problem_of(session: Session) -> Problem | None:
    """Words for the client of a session that has ended. None if it ended well."""
    outcome, counted = session.outcome, session.wish.inputs - session.unused
    stay = f"its {counted} inputs stay counted" if counted else "none of its inputs is counted"
    if outcome == UNUSED:
        reason = session.reason or "its process ended"
        return fault(IO, f"the session ended before the client's first byte: {reason}; {stay}. Ask "
                     "again")  # fmt: skip
    if outcome == FAILED:
        return fault(IO, f"the session failed at the service: {session.reason}; {stay}. Ask again, "
                     "and if it happens again tell the operator")  # fmt: skip
    if outcome == DIED:
        return fault(RESOURCES, f"the process of the session died; {stay}. Ask again, and if it "
                     "happens again tell the operator: it may lack memory")  # fmt: skip
    if outcome == STOPPED:
        return fault(RESOURCES, f"the service stopped during the session; {stay}. Ask again when "
                     "it has started again")  # fmt: skip
    return None


def fault(kind: Kind, detail: str) -> Problem:
    """A problem of a session, as requests have them. Asking again may help, and costs inputs: that
    is for the caller to decide."""
    status: Final = STATUS[kind]
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, kind=kind.name,
                   retry=False, error=detail)  # fmt: skip
