"""Queries and answers as tensors: the Open Inference Protocol in plain values.

A ciphertext is a tensor of the type BYTES with one element. In binary form an element is its length
in 4 bytes, the least first, and then its bytes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palladion.service.assembly import Parts
from palladion.service.front.bodies import Received
from palladion.service.front.job_routes import answer_path
from palladion.service.front.views import TensorView
from palladion.service.jobs.job import Job, State
from palladion.service.problems import BusyError, RequestError, TooLargeError
from palladion.support.records import Json
from palladion.support.text import size

PREFIX: Final = struct.Struct("<I")
"""Length of an element of a binary BYTES tensor."""


def check_inputs(inputs: Sequence[TensorView]) -> None:
    """Refuse inputs that are not one query.

    Raises
    ------
    RequestError
        If there is not one input of one element of BYTES.
    """
    if len(inputs) != 1:
        raise RequestError(f"{len(inputs)} inputs, expected one: the query")
    (tensor,) = inputs
    if tensor.datatype != "BYTES" or tensor.shape not in ([1], [1, 1]):
        raise RequestError(f"an input {tensor.datatype} of shape {tensor.shape}, expected BYTES of "
                           "shape [1]: the bytes of a query")  # fmt: skip


def wait_of(parameter: Any, longest: float) -> float:
    """The seconds of the parameter ``wait``, or ``longest`` without one.

    Raises
    ------
    RequestError
        If it is no number from 0 to 3600.
    """
    if parameter is None:
        return longest
    if not isinstance(parameter, int | float) or not 0 <= parameter <= 3600:
        raise RequestError(f"the parameter wait is {parameter!r}, expected 0 to 3600 seconds")
    return float(parameter)


def element_of(tensor: bytes) -> bytes:
    """The element of a binary tensor.

    Raises
    ------
    RequestError
        If there is not one element, or its length is not the stated one.
    """
    if len(tensor) < PREFIX.size or PREFIX.unpack_from(tensor)[0] != len(tensor) - PREFIX.size:
        raise RequestError("the tensor is not one element of BYTES: 4 bytes of its length, the "
                           "least first, and then the query")  # fmt: skip
    return tensor[PREFIX.size :]


def to_tensor(element: bytes) -> bytes:
    """A binary tensor of one element."""
    return PREFIX.pack(len(element)) + element


def write_query(query: bytes, to: Path, most: int) -> Received:
    """Write a query to a file.

    Raises
    ------
    TooLargeError
        If it has more than ``most`` bytes.
    """
    if len(query) > most:
        raise TooLargeError(f"a query of {size(len(query))}, expected at most {size(most)}")
    to.write_bytes(query)
    return Received(to, hashlib.sha256(query).hexdigest(), len(query))


@dataclass(frozen=True)
class Answer:
    """The answer of a job that has ended."""

    job: Job
    data: bytes

    @property
    def parameters(self) -> Json:
        """Identities of what gave the answer, and the seconds of the run."""
        job = self.job
        return {"job": job.id, "program_id": job.program_id, "query_id": job.query_id,
                "key_id": job.key_id, "seconds": job.seconds}  # fmt: skip


def answer_of(parts: Parts, job: Job) -> Answer:
    """The answer of a job.

    Raises
    ------
    BusyError
        If its run failed, and another one may not.
    ConflictError, GoneError
        As :func:`palladion.service.front.job_routes.answer_path`.
    """
    if job.state == State.FAILED.value and job.error_retry:
        raise BusyError(job.error_detail or "the run failed", 5.0)
    return Answer(job, answer_path(parts, job).read_bytes())
