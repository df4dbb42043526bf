"""From a body to a job: a query is checked before any work."""

from __future__ import annotations

from palladion import _native
from palladion.errors import FormatError, MismatchError
from palladion.service.assembly import Parts
from palladion.service.front.bodies import Received
from palladion.service.jobs.job import Job, query_blob
from palladion.service.jobs.queue import Request, new_identity
from palladion.service.models.catalogue import Version
from palladion.service.problems import UnfitError
from palladion.service.tenants import Tenant
from palladion.service.tracing import context_of_request
from palladion.support import files
from palladion.support.memory import installed
from palladion.support.text import size


def submit(
    parts: Parts, tenant: Tenant, version: Version, body: Received, idempotency: str | None
) -> Job:
    """Make a job of a query that lies in a file, or find that of an earlier request.

    Raises
    ------
    BusyError, QuotaError
        If service or tenant have too much to do.
    ConflictError
        If the Idempotency-Key was used for another query.
    FormatError
        If the body is no query, damaged, or for another input layout.
    UnfitError
        If keys are missing, or the run needs more memory than the machine has.
    """
    query = read_query(version, body)
    check_memory(version, parts.settings.memory_bytes)
    cover = parts.keys.cover(tenant.id, query.key, version.terms)
    if cover.missing_keys:
        have = "no evaluation keys" if not cover.files else "not all evaluation keys"
        raise UnfitError(f"the service has {have} of key {query.key[:12]} for {version.model}: "
                         f"{cover.missing_keys} are missing, {size(cover.missing_bytes)}: upload "
                         "them")  # fmt: skip
    request = Request(
        id=new_identity(),
        tenant=tenant,
        version=version,
        idempotency=idempotency or new_identity(),
        key_id=query.key,
        query_id=body.digest,
        query_bytes=body.bytes,
        traceparent=context_of_request(),
    )
    parts.store.move_in(query_blob(request.id), body.file)
    try:
        job = parts.queue.submit(request)
    except BaseException:
        parts.store.delete(query_blob(request.id))
        raise
    if job.id != request.id:  # the same request came twice at once
        parts.store.delete(query_blob(request.id))
    return job


def read_query(version: Version, body: Received) -> _native.Query:
    """A query, checked against the terms of a version. Raises as :func:`submit`."""
    data = files.read(body.file)
    try:
        return _native.Query.from_bytes(version.terms, data)
    except MismatchError as error:
        raise type(error)(f"{error}; the client's file of {version.model} version "
                          f"{version.version} says what it takes") from error  # fmt: skip
    except FormatError as error:
        foreign = None if data.startswith(files.MAGIC) else "no Palladion file"
        content, (expected, _) = files.kind(data) or foreign, files.OURS[b"ENCI"]
        if content not in (None, expected):
            raise FormatError(f"the body is {content}, expected {expected}") from error
        raise


def check_memory(version: Version, stated: int) -> None:
    """Refuse a run that can never fit. Raises as :func:`submit`."""
    needed, most = version.facts.memory_bytes, stated or installed()
    if needed > most:
        raise UnfitError(f"a run of {version.model} needs {size(needed)} of memory, and the "
                         f"machine has {size(most)}")  # fmt: skip
