"""Errors of requests as clients see them, whichever protocol they speak."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from palladion.errors import PalladionError, can_retry, kind_of
from palladion.service.problems import retry_after, status_of

LOG: Final = logging.getLogger("palladion.service.front")


@dataclass(frozen=True)
class Refusal:
    """Why a request is not served."""

    status: int
    """The status in HTTP."""
    detail: str
    """The fault, the expectation, and the way out."""
    kind: str
    """The kind of the error."""
    retry: bool
    """Whether the same request may succeed later."""
    after: int | None
    """Whole seconds after which it may, if they are known."""


def refusal_of(error: Exception) -> Refusal:
    """The refusal of an error, which goes to the log if the service is at fault. The words of an
    unknown error are not for clients."""
    if not isinstance(error, PalladionError):
        LOG.error("request failed", exc_info=error)
        return Refusal(500, "a fault of the service: its log has more", "internal", False, None)
    status, after = status_of(error), retry_after(error)
    if status >= 500:
        LOG.warning("%s: %s", status, error)
    return Refusal(
        status=status,
        detail=str(error),
        kind=kind_of(error).name,
        retry=after is not None or can_retry(error),
        after=None if after is None else round(after + 0.5),
    )
