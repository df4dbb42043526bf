"""Health, and the metadata of the server and of its models: the Open Inference Protocol v2."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from palladion._native import __version__
from palladion.service.assembly import Parts
from palladion.service.front.access import Caller, Service
from palladion.service.front.session_routes import sessions_of
from palladion.service.front.views import (
    CoverView,
    Held,
    Live,
    ModelList,
    ModelName,
    ModelView,
    Ready,
    ServerView,
)
from palladion.service.keys.stored import Cover
from palladion.service.models.catalogue import Version
from palladion.service.problems import BusyError
from palladion.service.sessions.host import Sessions
from palladion.service.tenants import Tenant
from palladion.support.records import Json

ROUTER = APIRouter(prefix="/v2")

BYTES: Final[dict[int | str, Json]] = {200: {"content": {"application/octet-stream": {}}}}


@ROUTER.get("", tags=["server"])
def server(parts: Service) -> ServerView:
    """Name, version and extensions of the server, and the key of its receipts."""
    return ServerView(version=__version__, receipt_key=parts.signer.public_key)


@ROUTER.get("/health/live", tags=["server"])
def live() -> Live:
    """Whether the front answers."""
    return Live()


@ROUTER.get("/health/ready", tags=["server"])
def ready(parts: Service) -> Ready:
    """Whether database and store can be reached, and models are loaded. 503 if not."""
    parts.queue.counts()
    parts.store.check()
    if not parts.models.catalogue.versions:
        raise BusyError("no model is ready yet", 5.0)
    return Ready(ready=True)


@ROUTER.get("/models", tags=["models"])
def models(parts: Service, _tenant: Caller) -> ModelList:
    """All models."""
    models = parts.models.catalogue.versions
    return ModelList(
        models=[ModelName(name=name, versions=[*versions]) for name, versions in models.items()]
    )


@ROUTER.get("/models/{model}", tags=["models"])
@ROUTER.get("/models/{model}/versions/{version}", tags=["models"])
def metadata(
    request: Request, parts: Service, tenant: Caller, model: str, version: str | None = None
) -> ModelView:
    """The metadata of a version of a model."""
    return view_of(parts, sessions_of(request), tenant, model, version)


def view_of(
    parts: Parts, sessions: Sessions, tenant: Tenant, model: str, version: str | None
) -> ModelView:
    """The metadata of a version of a model, for a tenant.

    Raises
    ------
    NotThereError
        If there is no such model or version.
    """
    catalogue = parts.models.catalogue
    served, versions = catalogue.served(model, version), [*catalogue.model(model)]
    if isinstance(served, Version):
        return ModelView.of(served, versions)
    budget = parts.budgets.of(tenant, served.facts)
    return ModelView.of_two_parties(served, versions, budget, sessions.certificate.hash)


@ROUTER.get("/models/{model}/ready", tags=["models"])
@ROUTER.get("/models/{model}/versions/{version}/ready", tags=["models"])
def model_ready(parts: Service, _tenant: Caller, model: str, version: str | None = None) -> Ready:
    """Whether a version of a model can be run."""
    parts.models.catalogue.served(model, version)
    return Ready(ready=True)


@ROUTER.get("/models/{model}/client", tags=["models"], response_class=Response, responses=BYTES)
@ROUTER.get(
    "/models/{model}/versions/{version}/client",
    tags=["models"],
    response_class=Response,
    responses=BYTES,
)
def client(parts: Service, _tenant: Caller, model: str, version: str | None = None) -> Response:
    """The client's file: what a client must know of a program, without a weight."""
    facts = parts.models.catalogue.version(model, version).facts
    headers = {"etag": f'"{facts.client_digest}"'}
    return Response(facts.client_file, media_type="application/octet-stream", headers=headers)


@ROUTER.get("/models/{model}/keys/{key_id}", tags=["keys"])
@ROUTER.get("/models/{model}/versions/{version}/keys/{key_id}", tags=["keys"])
def cover(
    parts: Service, tenant: Caller, model: str, key_id: str, version: str | None = None
) -> CoverView:
    """The keys of a secret that are here for a program, and how many are missing."""
    covered = keys_for(parts, tenant, parts.models.catalogue.version(model, version), key_id)
    held = [Held(digest=file.digest, profile=file.profile) for file in covered.files]
    return CoverView(
        missing_keys=covered.missing_keys, missing_bytes=covered.missing_bytes, held=held
    )


def keys_for(parts: Service, tenant: Caller, version: Version, key_id: str) -> Cover:
    """The keys of a secret that a tenant has for a version."""
    return parts.keys.cover(tenant.id, key_id, version.terms)
