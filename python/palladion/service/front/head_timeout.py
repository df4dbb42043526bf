"""A limit for the time in which a request's head must come."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 15.0
"""Seconds for the head of a request, from the first byte of a connection or the end of the last
response. Connections without a request may wait for ``timeout_keep_alive`` of the server."""


class HeadTimeout(H11Protocol):
    """Closes connections whose heads come too slowly: each holds one of the places of the server,
    and a thousand of them would leave none."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._late is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()  # the first bytes of a further request
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()  # the head is whole

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop()  # another protocol has the connection from here on
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        self._stop()
        super().on_response_complete()

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self._drop)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _drop(self) -> None:
        transport: Any = self.transport
        if not transport.is_closing():
            transport.close()
