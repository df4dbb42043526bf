"""Requests to a service, tried again where that may help."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode

from palladion.errors import INTERNAL, IO, KINDS, Kind, PalladionError
from palladion.support.extras import missing
from palladion.support.records import Json

if TYPE_CHECKING:
    import httpx
    from websockets.http11 import Response
    from websockets.sync.client import ClientConnection

Result = TypeVar("Result")

LOG: Final = logging.getLogger("palladion.remote")

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 10.0

OPEN_SECONDS: Final = 90.0
"""Seconds in which a WebSocket must open: the service starts a process before."""

LARGEST_MESSAGE: Final = 1 << 20
"""Bytes of a message of a WebSocket, at most."""

AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 507})
"""Statuses after which a request is sent again, unless the service says that it is no use."""


class ServiceError(PalladionError):
    """A service refused a request, or cannot be reached."""

    kind = IO

    def __init__(self, detail: str, *, status: int | None, kind: Kind, retry: bool) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status = status
        """Status in HTTP; ``None`` if there was no response."""
        self.retry = retry
        """Whether the same request may succeed later."""
        self.retry_after = 0.0
        """Seconds that the service asks to wait before."""


class Session:
    """A connection to a service.

    Parameters
    ----------
    url
        Address of the service, such as ``https://fhe.example.org``.
    token
        A token, which the operator issued.
    patience
        Seconds for which a request is sent again while the service is away or busy.
    """

    def __init__(self, url: str, token: str, *, patience: float = 120.0, **options: Any) -> None:
        try:
            import httpx  # slow, and only clients of a service need it
        except ImportError as error:
            raise missing(error, "a client of a service", "remote") from error
        self._errors = httpx.HTTPError
        self.url = url.rstrip("/")
        self._patience = patience
        timeout = httpx.Timeout(60.0, connect=10.0)
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, **options)

    def json(self, method: str, path: str, **options: Any) -> Json:
        """The JSON of a response. Options are those of ``httpx``.

        Raises
        ------
        ServiceError
            If the service refuses, or stays away.
        """
        response = self.send(method, path, **options)
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            words = f"{self.url}{path} gives no object of JSON, expected a service of Palladion"
            raise ServiceError(words, status=response.status_code, kind=IO, retry=False)
        return body

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request until it succeeds. Every request may be sent twice: those that make
        something name it. Raises as :meth:`json`."""
        return self._insist(lambda: self._send_once(method, path, options))

    def _send_once(self, method: str, path: str, options: Json) -> httpx.Response:
        try:
            response = self._http.request(method, path, **options)
        except self._errors as error:
            raise self._unreachable(error) from error
        if not response.is_success:
            raise refusal(response)
        return response

    @contextmanager
    def websocket(self, path: str, parameters: Mapping[str, str]) -> Iterator[ClientConnection]:
        """Open a WebSocket, and try again where that may help. Nothing has happened at the service
        when it refuses. Raises as :meth:`json`.

        Raises
        ------
        UsageError
            If the package for WebSockets is missing.
        """
        try:
            from websockets import exceptions
            from websockets.sync import client
        except ImportError as error:
            raise missing(error, "a session of two parties", "remote") from error
        # `http` becomes `ws`, and `https` becomes `wss`.
        url = f"{self.url.replace('http', 'ws', 1)}{path}?{urlencode(parameters)}"
        headers = {"authorization": self._http.headers["authorization"]}

        def open_once() -> ClientConnection:
            connecting = client.connect(
                url,
                additional_headers=headers,
                compression=None,
                open_timeout=OPEN_SECONDS,
                max_size=LARGEST_MESSAGE,
            )
            return stack.enter_context(connecting)

        def open_or_say_why() -> ClientConnection:
            try:
                return open_once()
            except exceptions.InvalidStatus as error:
                raise refusal_of_websocket(url, error.response) from error
            except (OSError, exceptions.WebSocketException) as error:
                raise self._unreachable(error) from error

        with ExitStack() as stack:
            yield self._insist(open_or_say_why)

    def _unreachable(self, error: Exception) -> ServiceError:
        words = f"{self.url} cannot be reached: {error or type(error).__name__}"
        return ServiceError(words, status=None, kind=IO, retry=True)

    def _insist(self, act: Callable[[], Result]) -> Result:
        """Do something until it succeeds, or trying again does not help."""
        end, pause = monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                return act()
            except ServiceError as failed:
                wait = max(pause, failed.retry_after)
                # Patience is not spent on a wait that is longer than it.
                if not failed.retry or monotonic() + wait > end:
                    raise
                LOG.info("trying again in %.1f s: %s", wait, failed)
            time.sleep(wait * random.uniform(0.8, 1.2))
            pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def refusal(response: httpx.Response) -> ServiceError:
    """The error of a response."""
    status = response.status_code
    failed = error_of(response.content, status)
    if failed is None:
        words = f"{response.url} answers {status} {response.reason_phrase}"
        failed = ServiceError(words, status=status, kind=IO, retry=status in AGAIN)
    failed.retry_after = seconds_of(response.headers)
    return failed


def refusal_of_websocket(url: str, response: Response) -> ServiceError:
    """The error of a response to a WebSocket."""
    status = response.status_code
    failed = error_of(response.body or b"", status)
    if failed is None:
        words = f"{url} answers {status} {response.reason_phrase}, expected a WebSocket: a proxy " \
                "before the service must pass on the headers Upgrade and Connection"  # fmt: skip
        failed = ServiceError(words, status=status, kind=IO, retry=status in AGAIN)
    failed.retry_after = seconds_of(response.headers)
    return failed


def error_of(body: str | bytes | bytearray, status: int | None) -> ServiceError | None:
    """The error that a problem of the service tells. None if it is none: then it is of a proxy, or
    of no service of ours."""
    try:
        problem = json.loads(body)
        detail, word, retry = str(problem["detail"]), problem["kind"], bool(problem["retry"])
    except (ValueError, KeyError, TypeError):
        return None
    kind = next((kind for kind in KINDS if kind.name == word), INTERNAL)
    return ServiceError(detail, status=status, kind=kind, retry=retry)


def seconds_of(headers: Mapping[str, str]) -> float:
    """Seconds that a response asks to wait, or 0."""
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return 0.0
