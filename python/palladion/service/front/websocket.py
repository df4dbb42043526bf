"""WebSockets of uvicorn that outlive the begin of its end, so that sessions can."""

from __future__ import annotations

import logging
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LOG: Final = logging.getLogger("palladion.service.websocket")
LOG.setLevel(logging.WARNING)  # below, it names addresses of clients


class SessionSocket(WebSocketsSansIOProtocol):
    """A WebSocket that is not closed when the server begins to stop. Its session ends in the time
    that :mod:`palladion.service.sessions.host` gives it, and closes it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = self.conn.logger = LOG

    async def send(self, message: Any) -> None:
        """Send a message of the application."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # by a refusal, which uvicorn takes for a fault

    def shutdown(self) -> None:
        """The server stops."""
        if self.close_sent:
            super().shutdown()
