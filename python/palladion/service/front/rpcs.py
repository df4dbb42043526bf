"""The server of remote procedure calls, which starts and stops with the application."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from palladion.errors import UsageError
from palladion.service.front.rpc_calls import Calls, Front
from palladion.service.open_inference import grpc

LOG: Final = logging.getLogger("palladion.service.front")

HEAD: Final = 1 << 16
"""Bytes of a message beside the query, at most."""

MOST_CALLS: Final = 1000
"""Calls at once, as HTTP has them."""

OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # otherwise a second service would take half of the calls
    # Without compression: ciphertexts do not shrink, and a bomb would grow.
    ("grpc.compression_enabled_algorithms_bitset", 1),
    ("grpc.max_concurrent_streams", 100),
    ("grpc.server_handshake_timeout_ms", 15_000),
    ("grpc.max_connection_idle_ms", 300_000),
)

STOPPING: Final = 2.0
"""Seconds before the end of a stop in which calls that wait are told of it."""


class Rpcs:
    """Listens for calls on an address, ``HOST:PORT``. Calls may end for ``grace`` seconds when it
    stops."""

    def __init__(self, front: Front, address: str, grace: float) -> None:
        self._calls = Calls(front)
        self._address = address
        self._grace = grace
        self._largest = front.parts.settings.largest_query_bytes + HEAD
        self._server: Any = None
        self._ending: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen.

        Raises
        ------
        UsageError
            If the address cannot be had.
        """
        options = [*OPTIONS, ("grpc.max_receive_message_length", self._largest),
                   ("grpc.max_send_message_length", -1)]  # fmt: skip
        server = grpc.aio.server(
            handlers=[self._calls], options=options, maximum_concurrent_rpcs=MOST_CALLS
        )
        try:
            port = server.add_insecure_port(self._address)
        except RuntimeError as error:
            raise UsageError(
                f"cannot listen on {self._address} for gRPC: another program may have the port"
            ) from error
        await server.start()
        self._server = server
        host = self._address.rpartition(":")[0]
        LOG.info("listening for gRPC", extra={"address": f"{host}:{port}"})

    def stop(self) -> None:
        """Take no new calls. Those that wait for an answer are told before the time is over."""
        if self._server is not None and self._ending is None:
            loop = asyncio.get_running_loop()
            loop.call_later(max(0.0, self._grace - STOPPING), self._calls.stop)
            self._ending = loop.create_task(self._server.stop(self._grace))

    async def end(self) -> None:
        """Stop, and wait until all calls have ended."""
        self.stop()
        if self._ending is not None:
            await self._ending
