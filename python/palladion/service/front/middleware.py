"""The way of every request: a limit for bodies, headers of the response, and counts."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from fastapi import HTTPException
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from palladion.service.front.metrics import Metrics

MOST: Final = 1 << 16
"""Bytes of a body of JSON, which is read whole."""

LARGE: Final = ("/jobs", "/infer")
"""Ends of addresses whose routes have limits of their own."""

POLICY: Final = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
"""The content security policy: the page has nothing inline, and nothing from elsewhere."""

HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


class Middleware:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "websocket":
            await self._session(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, length, began = scope["path"], 0, perf_counter()
        if "\0" in path or b"%00" in scope["query_string"]:  # PostgreSQL has no such text
            path, query = path.replace("\0", "\ufffd"), scope["query_string"]
            scope = {**scope, "path": path, "query_string": query.replace(b"%00", b"%EF%BF%BD")}
        is_large = path.endswith(LARGE) or "/parts/" in path

        async def limited() -> Message:
            nonlocal length
            message = await receive()
            length += len(message.get("body", b""))
            if length > MOST and not is_large:
                raise HTTPException(413, f"a body of more than {MOST} bytes")
            return message

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
                route = getattr(scope.get("route"), "path", "other")
                self._metrics.count(route, message["status"], perf_counter() - began)
            await send(message)

        await self._app(scope, limited, counted)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a WebSocket. It counts as a request until it is accepted or refused."""
        began = perf_counter()

        async def counted(message: Message) -> None:
            kind = message["type"]
            if kind == "websocket.http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            if kind in ("websocket.accept", "websocket.http.response.start"):
                route = getattr(scope.get("route"), "path", "other")
                self._metrics.count(route, message.get("status", 101), perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counted)
