"""The JSON objects of the service, as OpenAPI describes them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from palladion.service.assembly import Parts
from palladion.service.jobs.job import Job, State
from palladion.service.keys.stored import StoredKey
from palladion.service.keys.uploads import Upload
from palladion.service.models.catalogue import TwoPartyVersion, Version
from palladion.service.sessions.budgets import Budget
from palladion.service.state.database import now
from palladion.support.records import Json


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """The fault, the expectation, and the way out."""
    kind: str
    """The kind of the error, one of the words of docs/cli.md."""
    retry: bool
    """Whether the same request may succeed later."""
    error: str
    """``detail`` once more, where the Open Inference Protocol looks for it."""


class TensorView(BaseModel):
    """A tensor of the Open Inference Protocol."""

    name: str
    datatype: str
    shape: list[int]


class ModelParameters(BaseModel):
    """Facts of a version that runs on encrypted queries, for clients."""

    protocol: Literal["fhe"] = "fhe"
    version: str
    program_id: str
    profile_id: str
    layout_id: str
    client_digest: str
    """SHA-256 of the client's file."""
    batch: int
    """Inputs in one query, at most."""
    predicted_seconds: float
    """Of a run on a worker of this service."""
    predicted_memory_bytes: int
    key_bytes: int
    """Length of a file of all evaluation keys."""
    query_bytes: int
    log2_failure: float
    """log2 of a bound on the probability that a run is wrong."""
    security: str


class TwoPartyParameters(BaseModel):
    """Facts of a version for two parties, for clients. Figures are of one input, keys and material
    of its session included."""

    protocol: Literal["hybrid"] = "hybrid"
    version: str
    program_hash: str
    """Hash of the program's public part, which sessions show."""
    certificate_hash: str
    """Hash of the certificate of sessions, which clients trust."""
    inputs_allowed: int
    """Inputs of this program that the tenant may have in all."""
    inputs_left: int
    """Inputs that it has not used."""
    log2_distance: float
    """log2 of the distance to which floods hide the weights from one input."""
    reveals_accumulators: bool
    boundary: Json
    """``input``, ``interface`` and ``classes``: conversion between arrays and integers."""
    predicted_seconds: float
    """Of both parties' computation, on one core."""
    bytes_to_server: int
    bytes_to_client: int
    rounds: int


class ModelView(BaseModel):
    """A version of a model: the metadata of the Open Inference Protocol."""

    name: str
    versions: list[str]
    platform: str = "palladion"
    inputs: list[TensorView]
    outputs: list[TensorView]
    parameters: ModelParameters | TwoPartyParameters = Field(discriminator="protocol")

    @classmethod
    def of(cls, version: Version, versions: list[str]) -> ModelView:
        """The view of a version."""
        facts = version.facts
        return cls(
            name=version.model,
            versions=versions,
            inputs=[TensorView(name="query", datatype="BYTES", shape=[1])],
            outputs=[TensorView(name="answer", datatype="BYTES", shape=[1])],
            parameters=ModelParameters(
                version=version.version,
                program_id=facts.program_id,
                profile_id=facts.profile_id,
                layout_id=facts.layout_id,
                client_digest=facts.client_digest,
                batch=facts.batch,
                predicted_seconds=version.seconds,
                predicted_memory_bytes=facts.memory_bytes,
                key_bytes=facts.key_bytes,
                query_bytes=facts.query_bytes,
                log2_failure=facts.log2_failure,
                security=facts.security,
            ),
        )

    @classmethod
    def of_two_parties(
        cls, version: TwoPartyVersion, versions: list[str], budget: Budget, certificate_hash: str
    ) -> ModelView:
        """The view of a version for two parties, for a tenant. It has no tensors: inputs and
        outputs travel in sessions."""
        facts = version.facts
        return cls(
            name=version.model,
            versions=versions,
            inputs=[],
            outputs=[],
            parameters=TwoPartyParameters(
                version=version.version,
                program_hash=facts.program_hash,
                certificate_hash=certificate_hash,
                inputs_allowed=budget.allowed,
                inputs_left=budget.left,
                log2_distance=facts.log2_distance,
                reveals_accumulators=facts.reveals_accumulators,
                boundary=facts.boundary,
                predicted_seconds=facts.seconds,
                bytes_to_server=facts.bytes_to_server,
                bytes_to_client=facts.bytes_to_client,
                rounds=facts.rounds,
            ),
        )


class ModelName(BaseModel):
    """A model in the list of all."""

    name: str
    versions: list[str]


class ModelList(BaseModel):
    """All models."""

    models: list[ModelName]


class ServerView(BaseModel):
    """The server: metadata of the Open Inference Protocol."""

    name: str = "palladion"
    version: str
    receipt_key: str
    """The public key of Ed25519 that signs receipts, in base64."""
    extensions: list[str] = [
        "binary_tensor_data", "palladion_jobs", "palladion_keys", "palladion_sessions",
    ]  # fmt: skip


class Ready(BaseModel):
    """Whether models can be run."""

    ready: bool


class Live(BaseModel):
    """That the front answers."""

    live: bool = True


class NewUpload(BaseModel):
    """A file of keys that is to be uploaded."""

    digest: str = Field(examples=["ab" * 32])
    """SHA-256 of the file, in hexadecimal."""
    bytes: int = Field(examples=[233_000_000])
    """Its length."""


class UploadView(BaseModel):
    """An upload. Parts are numbered from 0; all but the last have ``part_bytes``."""

    complete: bool = False
    """Whether the file is there already. Then there is no upload."""
    upload: str | None = None
    digest: str
    bytes: int
    part_bytes: int | None = None
    parts: int | None = None
    missing: list[int] = []

    @classmethod
    def of(cls, upload: Upload | StoredKey) -> UploadView:
        """The view of an upload, or of a file that is there already."""
        if isinstance(upload, StoredKey):
            return cls(complete=True, digest=upload.digest, bytes=upload.bytes)
        return cls(
            upload=upload.id,
            digest=upload.digest,
            bytes=upload.bytes,
            part_bytes=upload.part_bytes,
            parts=upload.parts,
            missing=[*upload.missing],
        )


class KeyView(BaseModel):
    """A file of evaluation keys."""

    digest: str
    key_id: str
    profile_id: str
    bytes: int
    created: float
    expires: float | None

    @classmethod
    def of(cls, key: StoredKey) -> KeyView:
        """The view of a file."""
        return cls(**{name: getattr(key, name) for name in cls.model_fields})


class KeyList(BaseModel):
    """All files of a tenant."""

    keys: list[KeyView]


class Held(BaseModel):
    """A file of keys that a program can use, with its profile as JSON in a string."""

    digest: str
    profile: str


class CoverView(BaseModel):
    """The keys of a secret that are here for a program. Without missing ones its queries run."""

    missing_keys: int
    missing_bytes: int
    held: list[Held]


class JobError(BaseModel):
    """Why a job has no answer."""

    kind: str
    detail: str
    retry: bool


class JobView(BaseModel):
    """A job. Times are seconds since 1970."""

    id: str
    model: str
    version: str
    state: State
    step: str | None
    """The current step of the run."""
    done: float
    """Share of the work, from 0 to 1."""
    seconds_left: float | None
    """Predicted seconds until the answer, with those of waiting."""
    seconds: float | None
    """Seconds that the run took."""
    program_id: str
    query_id: str
    key_id: str
    answer_bytes: int | None
    error: JobError | None
    created: float
    started: float | None
    finished: float | None
    expires: float | None
    """When the answer will be gone."""

    @classmethod
    def of(cls, job: Job, parts: Parts) -> JobView:
        """The view of a job."""
        kept = parts.settings.answer_seconds
        return cls(
            **{name: getattr(job, name) for name in SAME},
            state=State(job.state),
            seconds_left=seconds_left(job, parts),
            error=error_of(job),
            expires=None if job.finished is None else job.finished + kept,
        )


SAME = ("id", "model", "version", "step", "done", "seconds", "program_id", "query_id", "key_id",
        "answer_bytes", "created", "started", "finished")  # fmt: skip
"""Fields that a view has of its job."""


class JobList(BaseModel):
    """The last jobs of a tenant, the newest first."""

    jobs: list[JobView]


class ReceiptView(BaseModel):
    """The service's signed word on an answer. The signature, of Ed25519, is of the bytes of the
    statement, which is JSON."""

    statement: str
    signature: str
    public_key: str


def error_of(job: Job) -> JobError | None:
    """Why a job has no answer."""
    if job.error_kind is None:
        return None
    return JobError(kind=job.error_kind, detail=job.error_detail or "", retry=bool(job.error_retry))


def seconds_left(job: Job, parts: Parts) -> float | None:
    """Predicted seconds until the answer. A run that is slower than predicted corrects it."""
    if job.state == State.QUEUED.value:
        return parts.queue.ahead(job) + job.predicted_seconds * (1 - job.done)
    if job.state != State.RUNNING.value:
        return None
    predicted = job.predicted_seconds
    if job.started is not None and job.done > 0.05:
        predicted = max(0.0, now() - job.started) / job.done
    return predicted * (1 - job.done)
