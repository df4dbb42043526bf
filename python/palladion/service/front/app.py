"""The application: an ASGI callable, for uvicorn, behind a proxy, or mounted elsewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection

from palladion._native import __version__
from palladion.errors import PalladionError
from palladion.service.assembly import Parts
from palladion.service.front import about, inference, job_routes, key_routes, session_routes
from palladion.service.front.access import Rates
from palladion.service.front.metrics import Metrics
from palladion.service.front.middleware import Middleware
from palladion.service.front.refusals import refusal_of
from palladion.service.front.views import Problem
from palladion.service.front.watcher import Watcher
from palladion.service.jobs.queue import Reaper
from palladion.service.jobs.sweeper import Sweeper
from palladion.service.sessions.host import Sessions
from palladion.service.tracing import end_tracing, trace_requests
from palladion.service.worker.supervisor import Supervisor
from palladion.support.records import Json

if TYPE_CHECKING:
    from palladion.service.front.rpcs import Rpcs  # an extra

LOG: Final = logging.getLogger("palladion.service.front")

PAGE: Final = Path(__file__).parent.parent / "page"

LOOK_AT_MODELS: Final = 5.0
"""Seconds between two looks at the folder of programs."""

GRACE: Final = 10
"""Seconds in which requests may end when the service stops."""

SWEEP: Final = 60.0
"""Seconds between two sweeps."""

ERRORS: Final[dict[int | str, Json]] = {
    code: {"model": Problem, "content": {"application/problem+json": {}}}
    for code in (400, 401, 403, 404, 409, 410, 413, 422, 426, 429, 503, 507)
}


class Workers(Protocol):
    """The workers of a service, wherever they are."""

    def start(self) -> None:
        """Start them."""

    def wake(self) -> None:
        """Tell them that there is work."""

    async def end(self) -> None:
        """Ask them to end, and wait."""


def workers_of(parts: Parts, watcher: Watcher) -> Workers:
    """The workers of the settings: processes of this machine, or actors of Ray."""
    if not parts.settings.ray:
        return Supervisor(parts.settings, parts.queue, watcher.look)
    from palladion.service.worker.on_ray import RayWorkers

    return RayWorkers(parts.settings, parts.settings.ray)


def create(parts: Parts) -> FastAPI:
    """The application over the parts of a service. It starts and ends the workers."""
    watcher = Watcher(parts.queue)
    workers = workers_of(parts, watcher)
    sessions = Sessions(parts.settings, parts.store, parts.budgets)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(parts.models.refresh)
        workers.start()
        rpcs: Rpcs | None = app.state.rpcs
        tasks = [asyncio.create_task(watcher.run()), *(
            asyncio.create_task(every(seconds, act)) for seconds, act in chores(parts)
        )]  # fmt: skip
        try:
            if rpcs is not None:
                await rpcs.start()
            yield
        finally:
            if rpcs is not None:
                await rpcs.end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await sessions.end()
            await workers.end()
            await run_in_threadpool(end_tracing)

    app = FastAPI(
        title="Palladion",
        version=__version__,
        summary="Neural networks on encrypted data.",
        lifespan=lifespan,
        responses=ERRORS,
        docs_url=None,  # its page takes scripts from elsewhere
        redoc_url=None,
    )
    app.state.parts = parts
    app.state.rates = Rates()
    app.state.watcher = watcher
    app.state.workers = workers
    app.state.sessions = sessions
    for routes in (about, key_routes, job_routes, inference, session_routes):
        app.include_router(routes.ROUTER)
    app.add_exception_handler(Exception, problem)
    app.add_exception_handler(PalladionError, problem)
    app.add_exception_handler(HTTPException, problem)
    app.add_exception_handler(RequestValidationError, problem)
    app.add_exception_handler(WebSocketRequestValidationError, problem)
    app.add_exception_handler(ClientDisconnect, problem)
    metrics = Metrics(parts, sessions)
    show_figures(app, metrics)
    app.add_middleware(Middleware, metrics=metrics)
    app.state.rpcs = None
    if parts.settings.grpc_address is not None:
        from palladion.service.front.rpc_calls import Front  # an extra
        from palladion.service.front.rpcs import Rpcs

        front = Front(parts, app.state.rates, watcher, sessions, metrics, workers.wake)
        app.state.rpcs = Rpcs(front, parts.settings.grpc_address, GRACE)
    trace_requests(app)
    if PAGE.is_dir():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    return app


def chores(parts: Parts) -> list[tuple[float, Callable[[], object]]]:
    """Tasks of the front, with the seconds between two times."""
    reaper = Reaper(parts.queue, parts.settings.lease_seconds)
    sweeper = Sweeper(parts.queue, parts.keys, parts.uploads, parts.store)
    return [
        (LOOK_AT_MODELS, parts.models.refresh),
        (parts.settings.lease_seconds / 5, reaper.reap),
        (SWEEP, sweeper.sweep),
    ]


async def every(seconds: float, act: Callable[[], object]) -> None:
    """Do something from time to time, whatever happens."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await run_in_threadpool(act)
        except PalladionError as error:
            LOG.warning("%s", error)
        except Exception:
            LOG.exception("a chore failed")


def show_figures(app: FastAPI, metrics: Metrics) -> None:
    """Show the figures at ``/metrics``."""

    @app.get("/metrics", include_in_schema=False)
    def show() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def problem(_request: HTTPConnection, error: Exception) -> JSONResponse:
    """The response to an error."""
    headers = {}
    if isinstance(error, (RequestValidationError, WebSocketRequestValidationError)):
        places = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        status, detail, kind, retry = 422, places, "usage", False
    elif isinstance(error, HTTPException):
        status, detail, kind, retry = error.status_code, str(error.detail), "usage", False
        headers = dict(error.headers or {})
    elif isinstance(error, ClientDisconnect):  # nobody reads this
        status, detail, kind, retry = 400, "the client left in the middle", "io", True
    else:
        refusal = refusal_of(error)
        status, detail, kind, retry = refusal.status, refusal.detail, refusal.kind, refusal.retry
        if refusal.after is not None:
            headers["retry-after"] = str(refusal.after)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 426:
        headers["upgrade"] = "websocket"
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, kind=kind,
                   retry=retry, error=detail)  # fmt: skip
    return JSONResponse(body.model_dump(), status, headers, media_type="application/problem+json")
