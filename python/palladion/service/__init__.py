"""The service: programs run for clients that are elsewhere. ``palladion serve`` starts it.

A front answers requests and computes nothing. Workers run programs, each in a process of its own.
They share a database, in which the queue stands, and a store of blobs. Neither front nor workers
keep anything that they cannot lose: docs/service.md.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from palladion.support.extras import missing

NEEDED: Final = (
    *("alembic", "fastapi", "limits", "prometheus_client", "pydantic_settings", "sqlalchemy"),
    *("cryptography", "uvicorn", "websockets"),
)
"""Packages that only a service needs."""

for name in NEEDED:
    if find_spec(name) is None:
        raise missing(ImportError(name=name), "a service", "serve")
