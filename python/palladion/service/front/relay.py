"""Moves the bytes of a session between a WebSocket and its process. They are TLS of the client and
the process: nothing is read here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from palladion.service.sessions.host import Session

CHUNK: Final = 1 << 16
"""Bytes of a message to the client, at most."""

LARGEST_MESSAGE: Final = 1 << 20
"""Bytes of a message from a client, at most."""


class TextError(Exception):
    """A client sent a text message."""


async def relay(websocket: WebSocket, session: Session) -> None:
    """Move bytes in both directions, until the process or the client ends the session.

    Raises
    ------
    TextError
        If the client sent a text message.
    """
    upward = asyncio.create_task(move_to_process(websocket, session))
    downward = asyncio.create_task(move_to_client(websocket, session))
    try:
        await asyncio.wait({upward, downward}, return_when=asyncio.FIRST_COMPLETED)
        if upward.done():
            upward.result()
    finally:
        for task in (upward, downward):
            task.cancel()
        await asyncio.gather(upward, downward, return_exceptions=True)


async def move_to_process(websocket: WebSocket, session: Session) -> None:
    """Move bytes of the client, until it leaves. Raises as :func:`relay`."""
    with suppress(ConnectionError, WebSocketDisconnect):
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("bytes")
            if data is None:
                raise TextError
            await session.send(data)


async def move_to_client(websocket: WebSocket, session: Session) -> None:
    """Move bytes of the process, until it ends the connection."""
    with suppress(WebSocketDisconnect):
        while data := await session.receive(CHUNK):
            await websocket.send_bytes(data)
