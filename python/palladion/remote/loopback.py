"""An address of this machine whose one connection a WebSocket carries on to a service."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final

from palladion.remote.session import ServiceError, error_of

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

CHUNK: Final = 1 << 16
"""Bytes of a message to the service, at most."""

LOOK: Final = 0.2
"""Seconds between two looks whether the listener is closed."""

CLOSE_SECONDS: Final = 10.0
"""Seconds to wait until the service has settled a session."""


class Loopback:
    """Listens for one connection at an address of this machine alone, and moves its bytes over a
    WebSocket. A stranger of this machine that is faster keeps the caller out, and can do nothing
    else: it has no certificate that the service answers."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(LOOK)  # a close does not wake `accept` on every system
        host, port = self._listener.getsockname()
        self.address = f"{host}:{port}"
        """HOST:PORT."""
        self._local: socket.socket | None = None
        self._problem: ServiceError | None = None
        self._has_ended = threading.Event()
        self._threads = [threading.Thread(target=self._move, name="loopback", daemon=True)]
        self._threads[0].start()

    @property
    def problem(self) -> ServiceError | None:
        """The reason that the service gave for the end of the session, if it gave one."""
        return self._problem

    @property
    def has_ended(self) -> bool:
        """Whether the service has ended the connection."""
        return self._has_ended.is_set()

    def wait(self) -> None:
        """Wait until the service has settled the session, and ends the connection."""
        self._has_ended.wait(CLOSE_SECONDS)

    def close(self) -> None:
        """End both connections."""
        end(self._listener)
        if not self.has_ended:  # a closing handshake would wait behind a message on its way
            with suppress(OSError):
                self._connection.socket.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        if self._local is not None:
            end(self._local)
        for thread in [*self._threads]:
            thread.join()

    def __enter__(self) -> Loopback:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def _move(self) -> None:
        while self._local is None:
            try:
                self._local, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return  # closed before anyone came
        end(self._listener)
        downward = threading.Thread(target=self._move_down, args=(self._local,), daemon=True)
        self._threads.append(downward)
        downward.start()
        from websockets.exceptions import ConnectionClosed

        with suppress(OSError, ConnectionClosed):
            while data := self._local.recv(CHUNK):
                self._connection.send(data)

    def _move_down(self, local: socket.socket) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, str):
                    self._problem = error_of(message, None)
                    continue
                with suppress(OSError):  # the caller has gone, and the service may still speak
                    local.sendall(message)
        except ConnectionClosed:
            pass
        finally:
            self._has_ended.set()
            end(local)


def end(connection: socket.socket) -> None:
    """End a connection, also for a thread that waits in it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
