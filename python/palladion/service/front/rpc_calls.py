"""The calls of the Open Inference Protocol over gRPC. Each gives what its route in HTTP gives.

All calls are taken as streams of messages, whose bytes look the same. So a token is checked before
a message is read, and only so many messages are in memory at once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool

from palladion.errors import PalladionError
from palladion.service.assembly import Parts
from palladion.service.front import about
from palladion.service.front.access import Rates, admit
from palladion.service.front.bodies import check_space
from palladion.service.front.metrics import Metrics
from palladion.service.front.refusals import refusal_of
from palladion.service.front.submission import submit
from palladion.service.front.tensors import (
    answer_of,
    check_inputs,
    element_of,
    to_tensor,
    wait_of,
    write_query,
)
from palladion.service.front.views import TensorView
from palladion.service.front.watcher import Watcher
from palladion.service.jobs.job import Job
from palladion.service.models.catalogue import Version
from palladion.service.open_inference import DecodeError, grpc, messages
from palladion.service.problems import RPC_CODES, BusyError, RequestError
from palladion.service.sessions.host import Sessions
from palladion.service.tenants import Tenant

PROTOCOL: Final = "/inference.GRPCInferenceService/"
"""Begin of the names of calls."""

NAME: Final = re.compile("[!-~]{1,200}")
"""An idempotency key, as HTTP has it."""

READERS: Final = 16
"""Messages that are read at once."""

READERS_OF_TENANT: Final = 4
"""Messages of a tenant that are read at once."""

READ_SECONDS: Final = 120.0
"""Time in which a message must have come."""
CANCELLED_SECONDS: Final = 0.1
"""The wait after a message that did not come. If the client cancelled the call, its task is
cancelled meanwhile, and the call is not counted as one without a message."""

MARGIN: Final = 1.0
"""Seconds before a client's own deadline in which a call that waits is answered."""

LONGEST_DETAIL: Final = 2000
"""Signs of an error's words. Clients refuse longer heads."""

Context: TypeAlias = Any
"""A call, as gRPC has it."""

Message: TypeAlias = Any
"""A message of the protocol."""


@dataclass(frozen=True)
class Front:
    """The parts of a front that calls and routes share."""

    parts: Parts
    rates: Rates
    watcher: Watcher
    sessions: Sessions
    metrics: Metrics
    wake: Callable[[], None]
    """Tells the workers that there is work."""


class CallError(RequestError):
    """The end of a call with a code that no status of HTTP stands for. It may name a job, which
    goes on."""

    def __init__(self, code: str, detail: str, job: Job | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.job = job


@dataclass(frozen=True)
class Ending:
    """How a call ends that gives no message."""

    code: str
    detail: str
    trailing: tuple[tuple[str, str], ...] = ()
    """Metadata for the client."""

    @classmethod
    def of(cls, error: Exception) -> Ending:
        """The end by an error."""
        if isinstance(error, CallError):
            job = () if error.job is None else (("palladion-job", error.job.id),)
            return cls(error.code, str(error)[:LONGEST_DETAIL], job)
        refusal = refusal_of(error)
        after = () if refusal.after is None else (("retry-after", str(refusal.after)),)
        return cls(RPC_CODES[refusal.status], refusal.detail[:LONGEST_DETAIL], after)


class Turns:
    """Turns for reading messages, which lie in memory."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(READERS)
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, tenant: Tenant) -> AsyncIterator[None]:
        """A turn of a tenant, when it comes."""
        own = self._own.get(tenant.id)
        if own is None:
            own = self._own[tenant.id] = asyncio.Semaphore(READERS_OF_TENANT)
        async with own, self._all:
            yield


class Calls:
    """Answers calls."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._turns = Turns()
        self._stopping = asyncio.Event()
        self._calls: dict[str, Callable[[Context], Awaitable[Message]]] = {
            "ServerLive": self.server_live,
            "ServerReady": self.server_ready,
            "ServerMetadata": self.server_metadata,
            "ModelReady": self.model_ready,
            "ModelMetadata": self.model_metadata,
            "ModelInfer": self.model_infer,
        }

    def service(self, details: Any) -> Any:
        """The handler of a call, by its name. Calls that there are not have one, too."""
        name = details.method.removeprefix(PROTOCOL)
        call = self._calls.get(name)
        if call is None:

            async def refuse(_messages: Any, context: Context) -> None:
                await self._serve("other", self._refuse(name), context)

            return grpc.stream_stream_rpc_method_handler(refuse)

        async def serve(_messages: Any, context: Context) -> bytes:
            return await self._serve(details.method, call, context)

        return grpc.stream_unary_rpc_method_handler(serve)

    def stop(self) -> None:
        """Let no call wait any longer."""
        self._stopping.set()

    async def _serve(
        self, route: str, call: Callable[[Context], Awaitable[Message]], context: Context
    ) -> bytes:
        """Answer a call, with its message or with a code and words, and count it."""
        began, code = perf_counter(), "CANCELLED"
        try:
            try:
                reply = await call(context)
                data: bytes = await run_in_threadpool(reply.SerializeToString)
            except Exception as error:
                ending = Ending.of(error)
                code = ending.code
                await context.abort(
                    getattr(grpc.StatusCode, ending.code), ending.detail, ending.trailing
                )
            code = "OK"
            return data
        finally:
            self._front.metrics.count(route, code, perf_counter() - began)

    def _refuse(self, name: str) -> Callable[[Context], Awaitable[Message]]:
        async def refuse(_context: Context) -> Message:
            known = ", ".join(self._calls)
            raise CallError("UNIMPLEMENTED", f"there is no call {name}; the calls are: {known}")

        return refuse

    async def server_live(self, _context: Context) -> Message:
        """Whether the front answers."""
        return messages.ServerLiveResponse(live=about.live().live)

    async def server_ready(self, _context: Context) -> Message:
        """Whether database and store can be reached, and models are loaded."""
        try:
            view = await run_in_threadpool(about.ready, self._front.parts)
        except PalladionError as error:
            if refusal_of(error).status != BusyError.status:
                raise
            return messages.ServerReadyResponse(ready=False)
        return messages.ServerReadyResponse(ready=view.ready)

    async def server_metadata(self, _context: Context) -> Message:
        """Name, version and extensions of the server."""
        view = await run_in_threadpool(about.server, self._front.parts)
        return messages.ServerMetadataResponse(
            name=view.name, version=view.version, extensions=view.extensions
        )

    async def model_ready(self, context: Context) -> Message:
        """Whether a version of a model can be run."""
        tenant = await self._tenant(context)
        async with self._turns.of(tenant):
            asked = await read(context, messages.ModelReadyRequest)
        view = about.model_ready(self._front.parts, tenant, asked.name, asked.version or None)
        return messages.ModelReadyResponse(ready=view.ready)

    async def model_metadata(self, context: Context) -> Message:
        """The metadata of a version of a model."""
        tenant = await self._tenant(context)
        async with self._turns.of(tenant):
            asked = await read(context, messages.ModelMetadataRequest)
        front, version = self._front, asked.version or None
        view = await run_in_threadpool(
            about.view_of, front.parts, front.sessions, tenant, asked.name, version
        )
        return messages.ModelMetadataResponse(
            name=view.name,
            versions=view.versions,
            platform=view.platform,
            inputs=[tensor.model_dump() for tensor in view.inputs],
            outputs=[tensor.model_dump() for tensor in view.outputs],
        )

    async def model_infer(self, context: Context) -> Message:
        """Run a query and wait for its answer, which comes back as the query came."""
        tenant, parts = await self._tenant(context), self._front.parts
        name = idempotency_of(context)
        async with self._turns.of(tenant):
            asked = await read(context, messages.ModelInferRequest)
            is_raw, identity = bool(asked.raw_input_contents), asked.id
            chosen = parts.models.catalogue.version(asked.model_name, asked.model_version or None)
            wait = wait_of(value_of(asked, "wait"), parts.settings.longest_wait_seconds)
            await run_in_threadpool(parts.queue.refuse_early, tenant, chosen, name)
            job = await run_in_threadpool(submit_message, parts, tenant, chosen, asked, name)
            del asked  # it has the query
        self._front.wake()
        job = await self._ended(context, job, wait)
        return await run_in_threadpool(reply, parts, job, identity, is_raw=is_raw)

    async def _tenant(self, context: Context) -> Tenant:
        header = metadata_of(context).get("authorization", "")
        return await run_in_threadpool(admit, self._front.parts, self._front.rates, header)

    async def _ended(self, context: Context, job: Job, wait: float) -> Job:
        """A job that has ended.

        Raises
        ------
        CallError
            If it has not after ``wait`` seconds, or when the client's deadline or the end of the
            service is near.
        """
        seconds = min(wait, self._front.parts.settings.longest_wait_seconds)
        left = context.time_remaining()
        if left is not None:
            seconds = min(seconds, max(0.0, left - MARGIN))
        ended = asyncio.ensure_future(self._front.watcher.ended(job, seconds))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                job = ended.result()
        finally:
            for task in (ended, stopping):
                task.cancel()
            await asyncio.gather(ended, stopping, return_exceptions=True)
        if not job.active:
            return job
        again = (f"job {job.id} goes on: ask again with the same idempotency-key, or for the job "
                 f"at /v2/jobs/{job.id}")  # fmt: skip
        if ended.cancelled():
            raise CallError("UNAVAILABLE", f"the service stops, and {again}", job)
        words = f"no answer after {seconds:.0f} seconds, and {again}"
        raise CallError("DEADLINE_EXCEEDED", words, job)


async def read(context: Context, kind: Any) -> Message:
    """The message of a call.

    Raises
    ------
    RequestError
        If none comes in time, or it is not of this kind.
    """
    try:
        data = await asyncio.wait_for(context.read(), READ_SECONDS)
    except asyncio.TimeoutError as error:
        raise RequestError(f"no whole message came in {READ_SECONDS:.0f} seconds") from error
    name = kind.DESCRIPTOR.name
    if data is grpc.aio.EOF:
        await asyncio.sleep(CANCELLED_SECONDS)
        raise RequestError(f"the call has no message, expected a {name}")
    try:
        return await run_in_threadpool(kind.FromString, data)
    except DecodeError as error:
        raise RequestError(f"the message is no {name}") from error


def metadata_of(context: Context) -> dict[str, str]:
    """The metadata of a call that are text."""
    pairs = context.invocation_metadata() or ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def idempotency_of(context: Context) -> str | None:
    """The idempotency key of a call.

    Raises
    ------
    RequestError
        If it is empty, too long, or has other signs.
    """
    name = metadata_of(context).get("idempotency-key")
    if name is not None and not NAME.fullmatch(name):
        raise RequestError(f"an idempotency-key of {len(name)} signs, expected 1 to 200 of ASCII "
                           "without spaces")  # fmt: skip
    return name


def value_of(asked: Message, name: str) -> Any:
    """The value of a parameter of a request; ``None`` without one."""
    if name not in asked.parameters:
        return None
    parameter = asked.parameters[name]
    choice = parameter.WhichOneof("parameter_choice")
    return None if choice is None else getattr(parameter, choice)


def query_of(asked: Message) -> bytes:
    """The query of a request.

    Raises
    ------
    RequestError
        If there is not one input of one element of BYTES.
    """
    check_inputs([TensorView(name=tensor.name, datatype=tensor.datatype, shape=[*tensor.shape])
                  for tensor in asked.inputs])  # fmt: skip
    raw, contents = [*asked.raw_input_contents], [*asked.inputs[0].contents.bytes_contents]
    match raw, contents:
        case [bytes(tensor)], []:
            return element_of(tensor)
        case [], [bytes(query)]:
            return query
    raise RequestError(f"{len(raw)} tensors in raw_input_contents and {len(contents)} elements in "
                       "bytes_contents, expected the query in one of the two")  # fmt: skip


def submit_message(
    parts: Parts, tenant: Tenant, version: Version, asked: Message, name: str | None
) -> Job:
    """Make a job of the query of a request. Raises as :func:`query_of` and
    :func:`palladion.service.front.submission.submit`."""
    query = query_of(asked)
    check_space(parts)
    with parts.store.incoming() as file:
        received = write_query(query, file, parts.settings.largest_query_bytes)
        return submit(parts, tenant, version, received, name)


def reply(parts: Parts, job: Job, identity: str, *, is_raw: bool) -> Message:
    """The answer of a job that has ended, as raw bytes or as contents. Raises as
    :func:`palladion.service.front.tensors.answer_of`."""
    answer = answer_of(parts, job)
    response = messages.ModelInferResponse(
        model_name=job.model, model_version=job.version, id=identity or job.id
    )
    for name, value in answer.parameters.items():
        if isinstance(value, str):
            response.parameters[name].string_param = value
        elif value is not None:
            response.parameters[name].double_param = value
    output = response.outputs.add(name="answer", datatype="BYTES", shape=[1])
    if is_raw:
        response.raw_output_contents.append(to_tensor(answer.data))
    else:
        output.contents.bytes_contents.append(answer.data)
    return response
