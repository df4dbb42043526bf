"""Errors of requests, and their status in HTTP: one place for all of them."""

from __future__ import annotations

from typing import Final

from palladion.errors import (
    DATA,
    INTERNAL,
    INTERRUPTED,
    IO,
    MISMATCH,
    NOISE,
    RESOURCES,
    SECURITY,
    TERMINATED,
    USAGE,
    Kind,
    PalladionError,
    kind_of,
)
from palladion.service.blobs.store import FullError

STATUS: Final[dict[Kind, int]] = {
    USAGE: 400,
    DATA: 400,
    MISMATCH: 409,
    RESOURCES: 503,
    IO: 503,
    NOISE: 500,
    SECURITY: 400,
    INTERRUPTED: 503,
    TERMINATED: 503,
    INTERNAL: 500,
}
"""The status of an error that names none of its own."""

RPC_CODES: Final[dict[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "FAILED_PRECONDITION",
    410: "NOT_FOUND",
    413: "RESOURCE_EXHAUSTED",  # as gRPC itself refuses messages that are too large
    422: "FAILED_PRECONDITION",
    426: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    507: "RESOURCE_EXHAUSTED",
}
"""The code in gRPC of each status."""

SOON: Final = 5
"""Seconds after which a request may be tried again, if nothing better is known."""


class RequestError(PalladionError):
    """A request that cannot be served."""

    kind = USAGE
    status: int = 400
    retry_after: float | None = None
    """Seconds after which the same request may succeed."""

    def __init__(self, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class UnauthorisedError(RequestError):
    """The request has no token, or one that is not valid."""

    status = 401


class ForbiddenError(RequestError):
    """The tenant may not have it, and waiting does not help."""

    kind = SECURITY
    status = 403


class NotThereError(RequestError):
    """There is no such model, key, upload or job, or it belongs to another tenant."""

    kind = DATA
    status = 404


class ConflictError(RequestError):
    """The request contradicts an earlier one, or the state of a job."""

    kind = MISMATCH
    status = 409


class GoneError(RequestError):
    """It was there, and its time is over."""

    kind = DATA
    status = 410


class TooLargeError(RequestError):
    """The body is larger than any that is taken."""

    kind = DATA
    status = 413


class UnfitError(RequestError):
    """The request is well formed, and can never be served."""

    kind = MISMATCH
    status = 422


class UpgradeError(RequestError):
    """The address is one for WebSockets."""

    status = 426


class QuotaError(RequestError):
    """The tenant has used up a limit."""

    kind = RESOURCES
    status = 429


class BusyError(RequestError):
    """The service has too much to do."""

    kind = RESOURCES
    status = 503


class NoSpaceError(RequestError):
    """The service has no space left on its disk."""

    kind = RESOURCES
    status = 507


def status_of(error: BaseException) -> int:
    """The status of an error in HTTP."""
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, FullError):
        return NoSpaceError.status
    return STATUS[kind_of(error)]


def retry_after(error: BaseException) -> float | None:
    """Seconds after which the same request may succeed; ``None`` if it will not."""
    if isinstance(error, RequestError):
        return error.retry_after
    return SOON if status_of(error) in (503, 507) else None
