"""Requests to a service, tried again where that may help."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from palladion.errors import INTERNAL, IO, KINDS, Kind, PalladionError
from palladion.support.extras import missing
from palladion.support.records import Json

if TYPE_CHECKING:
    import httpx

LOG: Final = logging.getLogger("palladion.remote")

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 10.0

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
        end, pause = monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                response = self._http.request(method, path, **options)
            except self._errors as error:
                failed = ServiceError(f"{self.url} cannot be reached: "
                                      f"{error or type(error).__name__}",
                                      status=None, kind=IO, retry=True)  # fmt: skip
                failed.__cause__ = error
                wait = pause
            else:
                if response.is_success:
                    return response
                failed = refusal(response)
                wait = seconds_of(response.headers, pause)
            # Patience is not spent on a wait that is longer than it.
            if not failed.retry or monotonic() + wait > end:
                raise failed
            LOG.info("trying again in %.1f s: %s", wait, failed)
            time.sleep(wait * random.uniform(0.8, 1.2))
            pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def refusal(response: httpx.Response) -> ServiceError:
    """The error of a response."""
    status = response.status_code
    try:
        problem = response.json()
        detail, word, retry = str(problem["detail"]), problem["kind"], bool(problem["retry"])
    except (ValueError, KeyError, TypeError):
        # Of a proxy, or no service of ours.
        detail, word = f"{response.url} answers {status} {response.reason_phrase}", "io"
        retry = status in AGAIN
    kind = next((kind for kind in KINDS if kind.name == word), INTERNAL)
    return ServiceError(detail, status=status, kind=kind, retry=retry)


def seconds_of(headers: Mapping[str, str], default: float) -> float:
    """Seconds that a response asks to wait."""
    try:
        return max(default, float(headers.get("retry-after", "")))
    except ValueError:
        return default
