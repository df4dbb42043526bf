"""Routes of jobs."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import FileResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from palladion.service.assembly import Parts
from palladion.service.front.about import BYTES
from palladion.service.front.access import Caller, Service
from palladion.service.front.bodies import in_file
from palladion.service.front.key_routes import BODY
from palladion.service.front.submission import submit
from palladion.service.front.views import JobList, JobView, ReceiptView
from palladion.service.front.watcher import Watcher
from palladion.service.jobs.job import Job, State
from palladion.service.problems import ConflictError, GoneError
from palladion.support import files

ROUTER = APIRouter(prefix="/v2", tags=["jobs"])

Idempotency = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern="^[!-~]+$"),
]
Wait = Annotated[float, Query(ge=0, le=3600)]


@ROUTER.post(
    "/models/{model}/jobs",
    status_code=202,
    responses={200: {"model": JobView}},
    openapi_extra=BODY,
)
@ROUTER.post(
    "/models/{model}/versions/{version}/jobs",
    status_code=202,
    responses={200: {"model": JobView}},
    openapi_extra=BODY,
)
async def create(
    request: Request,
    response: Response,
    parts: Service,
    tenant: Caller,
    model: str,
    version: str | None = None,
    idempotency_key: Idempotency = None,
    wait: Wait = 0.0,
) -> JobView:
    """Submit a query. The same Idempotency-Key and query give the same job.

    With ``wait`` the answer is awaited for some seconds. 200 if the job has ended, else 202.
    """
    chosen = parts.models.catalogue.version(model, version)
    # The rest of a refused body is passed over.
    await run_in_threadpool(parts.queue.refuse_early, tenant, chosen, idempotency_key)
    async with in_file(request, parts, parts.settings.largest_query_bytes) as body:
        job = await run_in_threadpool(submit, parts, tenant, chosen, body, idempotency_key)
    wake(request)
    job = await ended(request, parts, job, wait)
    response.status_code = 202 if job.active else 200
    return await run_in_threadpool(JobView.of, job, parts)


def wake(request: Request) -> None:
    """Tell the workers that there is work."""
    request.app.state.workers.wake()


async def ended(request: Request, parts: Parts, job: Job, wait: float) -> Job:
    """A job when it has ended, or after some seconds."""
    watcher = request.app.state.watcher
    assert isinstance(watcher, Watcher), "the application is made with it"
    return await watcher.ended(job, min(wait, parts.settings.longest_wait_seconds))


@ROUTER.get("/jobs")
def jobs(
    parts: Service, tenant: Caller, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> JobList:
    """The last jobs of the tenant, the newest first."""
    return JobList(jobs=[JobView.of(job, parts) for job in parts.queue.all(tenant, limit)])


def owned_job(parts: Service, tenant: Caller, job: str) -> Job:
    """A job of the tenant. It is looked for before a response begins."""
    return parts.queue.get(tenant, job)


Owned = Annotated[Job, Depends(owned_job)]


@ROUTER.get("/jobs/{job}")
async def job(request: Request, parts: Service, owned: Owned, wait: Wait = 0.0) -> JobView:
    """A job. With ``wait`` its end is awaited for some seconds."""
    now = await ended(request, parts, owned, wait)
    return await run_in_threadpool(JobView.of, now, parts)


@ROUTER.get("/jobs/{job}/events", response_class=EventSourceResponse)
async def events(request: Request, parts: Service, owned: Owned) -> AsyncIterable[ServerSentEvent]:
    """The job each time it changes, until it has ended: server-sent events named ``job``."""
    watcher = request.app.state.watcher
    assert isinstance(watcher, Watcher), "the application is made with it"
    count = 0
    async for state in watcher.changes(owned):
        count += 1
        view = await run_in_threadpool(JobView.of, state, parts)
        yield ServerSentEvent(data=view, event="job", id=str(count), retry=1000)


@ROUTER.get("/jobs/{job}/answer", response_class=FileResponse, responses=BYTES)
def answer(parts: Service, owned: Owned) -> FileResponse:
    """The answer, which only the client can decrypt."""
    return answer_file(parts, owned)


@ROUTER.get("/jobs/{job}/receipt")
def receipt(parts: Service, owned: Owned) -> ReceiptView:
    """The service's signed word on which program gave the answer to which query."""
    answer = answer_path(parts, owned)
    facts = {name: getattr(owned, name) for name in (
        "id", "model", "version", "program_id", "query_id", "key_id", "created", "finished",
    )}  # fmt: skip
    return ReceiptView(**parts.signer.sign({**facts, "answer_digest": files.digest_of(answer)}))


@ROUTER.delete("/jobs/{job}")
def cancel(parts: Service, tenant: Caller, job: str) -> JobView:
    """Cancel a job. One that has ended stays as it is."""
    return JobView.of(parts.queue.cancel(tenant, job), parts)


class AnswerResponse(FileResponse):
    """A response that is read in large pieces: each takes a turn of a thread."""

    chunk_size = 1 << 20


def answer_file(parts: Parts, job: Job) -> FileResponse:
    """The answer of a job as a response. Raises as :func:`answer_path`."""
    headers = {"palladion-program-id": job.program_id, "palladion-query-id": job.query_id,
               "palladion-key-id": job.key_id, "palladion-model-version": job.version}  # fmt: skip
    path = answer_path(parts, job)
    return AnswerResponse(path, media_type="application/octet-stream", headers=headers)


def answer_path(parts: Parts, job: Job) -> Path:
    """The file of the answer of a job.

    Raises
    ------
    ConflictError
        If there is none, with the reason.
    GoneError
        If its time is over.
    """
    if job.state == State.EXPIRED.value:
        raise GoneError(
            f"the answer of job {job.id} was kept for its time, and is gone: submit the query again"
        )
    if job.answer is None:
        reason = f": {job.error_detail}" if job.error_detail else ""
        raise ConflictError(f"job {job.id} has no answer, it is {job.state}{reason}")
    return parts.store.file(job.answer)
