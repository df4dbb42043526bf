"""The start of a service: its parts, its first token, its socket, its server."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from palladion.errors import Termination, UsageError
from palladion.service.assembly import Parts, assemble
from palladion.service.capacity import check_folder, check_grpc
from palladion.service.settings import Settings
from palladion.service.tracing import start_tracing


def open_service(config: Path | None = None, **options: Any) -> Parts:
    """The parts of a service, from a file of settings and from options.

    Raises
    ------
    DatabaseError, StoreError
        If one cannot be reached.
    DataError, UsageError
        If settings are wrong.
    """
    return assemble(Settings.read(config, **options))


def first_token(parts: Parts) -> str | None:
    """The token of a first tenant, if there is none yet."""
    if parts.tenants.all():
        return None
    parts.tenants.add("default")
    return parts.tenants.issue("default").text


def serve_until_stopped(parts: Parts) -> None:
    """Serve until SIGTERM or Ctrl-C. Requests under way end, and runs are saved.

    Raises
    ------
    UsageError
        If a port cannot be had, if there is no folder of programs, or if the environment asks for
        traces or the settings for gRPC and the packages for them are not installed.
    """
    import uvicorn

    from palladion.service.front.app import GRACE, create
    from palladion.service.front.head_timeout import HeadTimeout
    from palladion.service.front.relay import LARGEST_MESSAGE
    from palladion.service.front.websocket import SessionSocket
    from palladion.service.logs import log_to

    check_folder(parts)
    check_grpc(parts)
    start_tracing("front")
    settings = parts.settings
    listening = listen(settings.host, settings.port)
    if settings.grpc_port is not None:
        try:
            # gRPC takes no socket, and listens when the rest runs. Here it would be too late.
            listen(settings.host, settings.grpc_port).close()
        except UsageError:
            listening.close()
            raise
    log_to(sys.stderr)
    host, port = listening.getsockname()[:2]
    print(f"http://{host}:{port}", file=sys.stderr, flush=True)
    app = create(parts)

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.sessions.stop()
            if app.state.rpcs is not None:
                app.state.rpcs.stop()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http=HeadTimeout,
        ws=SessionSocket,
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # ciphertexts do not shrink, and a bomb would grow
        log_config=None,
        access_log=False,
        limit_concurrency=1000,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=1 << 16,
        server_header=False,
    )
    with suppress(Termination, KeyboardInterrupt):  # it passes them on at its end
        Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises
    ------
    UsageError
        If the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small responses at once. Otherwise each waits 40 ms for
    # an acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listening
