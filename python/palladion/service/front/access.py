"""Who asks: tokens, and rates of requests."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.requests import HTTPConnection

from palladion.service.assembly import Parts
from palladion.service.problems import QuotaError, UnauthorisedError
from palladion.service.state.database import now
from palladion.service.tenants import Tenant

SCHEME = "bearer "


class Rates:
    """Counts the requests of tenants, in the memory of this process."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def count(self, tenant: Tenant) -> None:
        """Count a request.

        Raises
        ------
        QuotaError
            If the tenant has made as many as it may in a minute.
        """
        allowed = RateLimitItemPerMinute(tenant.limits.requests_per_minute)
        if not self._limiter.hit(allowed, tenant.id):
            reset = self._limiter.get_window_stats(allowed, tenant.id).reset_time
            words = (
                f"{tenant.name} has made {allowed.amount} requests in a minute, and may not more"
            )
            raise QuotaError(words, max(1.0, reset - now()))


def parts_of(request: HTTPConnection) -> Parts:
    """The parts of the service that the request came to."""
    parts = request.app.state.parts
    assert isinstance(parts, Parts), "the application is made with its parts"
    return parts


def tenant_of(request: HTTPConnection) -> Tenant:
    """The tenant whose token a request has. Raises as :func:`admit`."""
    rates = request.app.state.rates
    assert isinstance(rates, Rates), "the application is made with them"
    return admit(parts_of(request), rates, request.headers.get("authorization", ""))


def admit(parts: Parts, rates: Rates, header: str) -> Tenant:
    """The tenant whose token the header ``authorization`` has. Its request is counted.

    Raises
    ------
    QuotaError
        If it has made too many requests.
    UnauthorisedError
        If there is no valid token.
    """
    if not header.lower().startswith(SCHEME):
        raise UnauthorisedError(
            "the request has no token: send the header `Authorization: Bearer TOKEN`"
        )
    tenant = parts.tenants.of_token(header[len(SCHEME) :].strip())
    rates.count(tenant)
    return tenant


Service = Annotated[Parts, Depends(parts_of)]
Caller = Annotated[Tenant, Depends(tenant_of)]
