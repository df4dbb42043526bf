"""Routes of keys: uploads in parts, and what is stored."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from palladion.service.front.access import Caller, Service
from palladion.service.front.bodies import check_space, in_memory, stated_digest
from palladion.service.front.views import KeyList, KeyView, NewUpload, UploadView
from palladion.service.keys.stored import StoredKey

ROUTER = APIRouter(prefix="/v2", tags=["keys"])

BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": {
    "schema": {"type": "string", "format": "binary"}}}}}  # fmt: skip
"""A body of bytes, for OpenAPI."""


@ROUTER.post("/uploads", status_code=201, responses={200: {"model": UploadView}})
def begin(parts: Service, tenant: Caller, new: NewUpload, response: Response) -> UploadView:
    """Begin an upload, or go on with the one of this digest. 200 if the file is there already."""
    check_space(parts)
    begun = parts.uploads.open(tenant, new.digest, new.bytes)
    if isinstance(begun, StoredKey):
        response.status_code = 200
    return UploadView.of(begun)


@ROUTER.get("/uploads/{upload}")
def upload(parts: Service, tenant: Caller, upload: str) -> UploadView:
    """An upload, with the parts that are missing."""
    return UploadView.of(parts.uploads.get(tenant, upload))


@ROUTER.put("/uploads/{upload}/parts/{number}", status_code=204, openapi_extra=BODY)
async def add(
    request: Request,
    parts: Service,
    tenant: Caller,
    upload: str,
    number: Annotated[int, Path(ge=0, le=1 << 31)],
) -> None:
    """Store a part. Parts come in any order, and more than once."""
    digest = stated_digest(request)
    check_space(parts)
    data = await in_memory(request, parts.settings.part_bytes)
    await run_in_threadpool(parts.uploads.add, tenant, upload, number, data, digest)


@ROUTER.post("/uploads/{upload}/complete", status_code=201)
def complete(parts: Service, tenant: Caller, upload: str) -> KeyView:
    """Check the whole file and keep it."""
    return KeyView.of(parts.uploads.complete(tenant, upload))


@ROUTER.delete("/uploads/{upload}", status_code=204)
def abort(parts: Service, tenant: Caller, upload: str) -> None:
    """Forget an upload."""
    parts.uploads.abort(tenant, upload)


@ROUTER.get("/keys")
def keys(parts: Service, tenant: Caller) -> KeyList:
    """The tenant's files of keys."""
    return KeyList(keys=[KeyView.of(key) for key in parts.keys.all(tenant)])


@ROUTER.api_route("/keys/{digest}", methods=["GET", "HEAD"], operation_id="key")
def key(parts: Service, tenant: Caller, digest: str) -> KeyView:
    """A file of keys: is it here?"""
    return KeyView.of(parts.keys.get(tenant, digest))


@ROUTER.delete("/keys/{digest}", status_code=204)
def delete(parts: Service, tenant: Caller, digest: str) -> None:
    """Delete a file of keys. Jobs that wait for them will fail."""
    parts.keys.delete(tenant, digest)
