"""Inference by the Open Inference Protocol v2, for clients that speak it.

A ciphertext is a tensor of the type BYTES. The protocol, with its extension for binary tensors:
<https://github.com/kserve/open-inference-protocol>.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from palladion.service.front.access import Caller, Service
from palladion.service.front.bodies import in_file
from palladion.service.front.job_routes import Idempotency, ended, wake
from palladion.service.front.submission import submit
from palladion.service.front.tensors import (
    answer_of,
    check_inputs,
    element_of,
    to_tensor,
    wait_of,
    write_query,
)
from palladion.service.front.views import JobView, TensorView
from palladion.service.jobs.job import Job
from palladion.service.problems import RequestError
from palladion.service.settings import faults
from palladion.support.records import Json

ROUTER = APIRouter(prefix="/v2", tags=["inference"])

LENGTH: Final = "Inference-Header-Content-Length"
"""The header with the length of the JSON before binary tensors."""

LARGEST_HEADER: Final = 1 << 16


class InputTensor(TensorView):
    """The query: one element of BYTES, as binary data or in base64."""

    parameters: Json = Field(default_factory=dict)
    data: list[Any] | None = None


class OutputChoice(BaseModel):
    """An output that is asked for."""

    name: str
    parameters: Json = {}


class InferenceRequest(BaseModel):
    """The JSON of a request."""

    id: str | None = None
    parameters: Json = {}
    inputs: list[InputTensor]
    outputs: list[OutputChoice] | None = None


@ROUTER.post("/models/{model}/infer", response_class=Response)
@ROUTER.post("/models/{model}/versions/{version}/infer", response_class=Response)
async def infer(
    request: Request,
    parts: Service,
    tenant: Caller,
    model: str,
    version: str | None = None,
    idempotency_key: Idempotency = None,
) -> Response:
    """Run a query and wait for its answer. 202 with the job if it takes longer than a request may
    wait."""
    chosen = parts.models.catalogue.version(model, version)
    await run_in_threadpool(parts.queue.refuse_early, tenant, chosen, idempotency_key)
    most = parts.settings.largest_query_bytes
    # Base64 is a third longer than bytes.
    async with in_file(request, parts, most * 4 // 3 + LARGEST_HEADER) as body:
        length = request.headers.get(LENGTH)
        asked = await run_in_threadpool(header_of, body.file, length)
        wait = wait_of(asked.parameters.get("wait"), parts.settings.longest_wait_seconds)
        with parts.store.incoming() as file:
            data = await run_in_threadpool(extract, body.file, asked, length)
            query = await run_in_threadpool(write_query, data, file, most)
            job = await run_in_threadpool(submit, parts, tenant, chosen, query, idempotency_key)
    wake(request)
    job = await ended(request, parts, job, wait)
    if job.active:
        view = await run_in_threadpool(JobView.of, job, parts)
        return JSONResponse(view.model_dump(mode="json"), status_code=202)
    return await run_in_threadpool(reply, parts, job, asked, binary=wants_binary(asked, length))


def header_of(file: Path, length: str | None) -> InferenceRequest:
    """The JSON of a request that lies in a file.

    Raises
    ------
    RequestError
        If it is no JSON of an inference, or its stated length is wrong.
    """
    if length is not None and not (length.isdecimal() and 0 < int(length) <= LARGEST_HEADER):
        raise RequestError(f"the header {LENGTH} is {length!r}, expected 1 to {LARGEST_HEADER}")
    with file.open("rb") as opened:
        data = opened.read() if length is None else opened.read(int(length))
    try:
        return InferenceRequest.model_validate(json.loads(data))
    except ValidationError as error:
        raise RequestError("; ".join(faults(error))) from error
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the body is no JSON: {error}") from error


def extract(file: Path, asked: InferenceRequest, length: str | None) -> bytes:
    """The query of a request.

    Raises
    ------
    RequestError
        If there is not one input of one element of BYTES.
    """
    check_inputs(asked.inputs)
    (tensor,) = asked.inputs
    size = tensor.parameters.get("binary_data_size")
    begin = int(length or 0)
    return from_base64(tensor.data) if size is None else from_binary(file, size, begin)


def from_base64(data: list[Any] | None) -> bytes:
    """The query in the JSON of a request. Raises as :func:`extract`."""
    match data:
        case [str(text)]:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError as error:
                raise RequestError(f"the query is no base64: {error}") from error
    raise RequestError("the input has no element in base64, and no parameter binary_data_size")


def from_binary(file: Path, size: Any, begin: int) -> bytes:
    """The query after the JSON of a request. Raises as :func:`extract`."""
    with file.open("rb") as opened:
        opened.seek(begin)
        tensor = opened.read()
    if not isinstance(size, int) or size != len(tensor):
        raise RequestError(f"binary_data_size is {size!r}, and {len(tensor)} bytes follow the JSON")
    return element_of(tensor)


def wants_binary(asked: InferenceRequest, length: str | None) -> bool:
    """Whether the answer shall be binary: by default as the query was."""
    for output in asked.outputs or []:
        if "binary_data" in output.parameters:
            return bool(output.parameters["binary_data"])
    default = length is not None
    return bool(asked.parameters.get("binary_data_output", default))


def reply(parts: Service, job: Job, asked: InferenceRequest, *, binary: bool) -> Response:
    """The answer of a job that has ended."""
    answer = answer_of(parts, job)
    output: Json = {"name": "answer", "datatype": "BYTES", "shape": [1]}
    tensor = to_tensor(answer.data)
    if binary:
        output["parameters"] = {"binary_data_size": len(tensor)}
    else:
        output["data"] = [base64.b64encode(answer.data).decode()]
    data_of_reply = {
        "model_name": job.model,
        "model_version": job.version,
        "id": asked.id or job.id,
        "parameters": answer.parameters,
        "outputs": [output],
    }
    header = json.dumps(data_of_reply).encode()
    if not binary:
        return Response(header, media_type="application/json")
    headers = {LENGTH: str(len(header))}
    return Response(header + tensor, media_type="application/octet-stream", headers=headers)
